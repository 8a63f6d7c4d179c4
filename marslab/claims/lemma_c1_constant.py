r"""Lemma C.1 holds with 1 in place of its 2, and the 1 is attained.

The lemma bounds every entry of |sqrt v' - sqrt v| by sqrt(2 (1 - beta_2)), given |c| <= 1 and hence 0 <= v <= 1. Since (a -
b)^2 <= |a^2 - b^2| for a, b >= 0, (sqrt v' - sqrt v)^2 <= |v' - v| = (1 - beta_2) |c^2 - v| <= 1 - beta_2, with equality at
v = 0, |c| = 1. So the largest ratio to the printed bound is 1 / sqrt 2. It hangs on the clip: unclipped c has no such
bound, while lemma C.2 follows the unclipped recursion. Measured on MARS-AdamW's own update of v, over a grid of v in [0, 1]
and of gradients up to 3 with the clip at 1, for three beta_2.
"""

import torch

from marslab import optimizers
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.verdicts import Measurement

BETAS = (0.9, 0.99, 0.999)


def measure(data, rule, hyper):
    """The largest ratio of |sqrt v' - sqrt v| to the bound."""
    rule = optimizers.find_rule(rule)
    v, g = torch.meshgrid(*(torch.linspace(0, top, 301, dtype=torch.float64) for top in (1.0, 3.0)), indexing="ij")
    ratios = [largest(rule, v.unsqueeze(-1), g.unsqueeze(-1), beta, hyper) for beta in BETAS]
    note = ", ".join(f"beta_2 = {beta}: {ratio:.4f}" for beta, ratio in zip(BETAS, ratios, strict=True))
    return Finding(Measurement(max(ratios), kind="exact"), note=note)


def largest(rule, v, g, beta2: float, hyper) -> float:
    """The largest ratio over the grid, each point a lane of one coordinate."""
    state = {"m": torch.zeros_like(v), "v": v, "beta1_product": 0.0, "beta2_product": 0.0}
    new = rule(torch.zeros_like(v), state, g, g, axes=(-1,), beta2=beta2, **hyper)[1]["v"]
    return float((new.sqrt() - v.sqrt()).abs().max()) / (2 * (1 - beta2)) ** 0.5


lemma_c1_constant = Claim(
    name="lemma_c1_constant",
    statement="Lemma C.1 holds with √(1 − β₂) in place of √(2(1 − β₂)), and no smaller constant does.",
    source="arXiv 2411.10438, lemma C.1; the constant is derived here",
    kind="exact",
    unit="largest ratio to the printed bound",
    margin=1e-9,
    predict=lambda: 0.5**0.5,
    measure=measure,
    settings={"rule": mars_adamw, "hyper": {}},
    plants={
        "the clip is off": Plant({"hyper": {"clip_radius": float("inf")}}),
        "v averages the raw gradient": Plant({"hyper": {"second_moment": "raw"}}),
    },
)
