r"""With the clip of algorithm 2, |m_t| <= 1 and |v_t|_1 <= 1 at every step, whatever the gradients are.

The clipped c has norm at most 1 and m is a convex combination of 0 and of clipped c's, so |m_t| <= 1; v averages c^2 entry by
entry, whose entries sum to |c|^2 <= 1. The paper's lemma C.1 stands on this (and lemma C.2 on there being no clip). Measured on
MARS-AdamW's own state, as the largest |m_t| and |v_t|_1 over 300 gradients of norms from 1e-3 to 1e3, exact and approximate;
the bound is attained at most up to the average's lag, so that without the clip the number is in the hundreds.
"""

import torch

from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.verdicts import Measurement

STEPS, SIZE = 300, 8


def measure(data, rule, radius):
    """The largest norm of m and sum of v on a stream of gradients of very different norms."""
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn((STEPS, 2, SIZE), generator=generator, dtype=torch.float64)
    stream = directions * 10 ** torch.linspace(-3, 3, STEPS, dtype=torch.float64).roll(97)[:, None, None]
    found = {name: largest(rule, stream, radius, exact) for name, exact in (("exact", True), ("approximate", False))}
    note = ", ".join(f"{name}: |m| up to {m:.4f}, |v|_1 up to {v:.4f}" for name, (m, v) in found.items())
    return Finding(Measurement(max(map(max, found.values())), kind="exact"), STEPS, 3 * STEPS, note)


def largest(rule, stream, radius, exact) -> tuple[float, float]:
    """Over all steps."""
    x, last = torch.zeros(SIZE, dtype=torch.float64), stream[0, 0]
    state, norms = rule.init(x), []
    for t, (g, other) in enumerate(stream, start=1):
        x, state = rule(x, state, g, other if exact else last, t=t, axes=(0,), clip_radius=radius, gamma=0.5)
        norms.append((float(state["m"].norm()), float(state["v"].sum())))
        last = g
    return max(m for m, _ in norms), max(v for _, v in norms)


clip_bounds_the_averages = Claim(
    name="clip_bounds_the_averages",
    statement="With the clip |mₜ| ≤ 1 and |vₜ|₁ ≤ 1 at every step, for gradients of any size.",
    source="arXiv 2411.10438, lemma C.1's first lines",
    kind="exact",
    unit="largest |m| or |v|₁",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars_adamw, "radius": 1.0},
    plants={"the clip is off": Plant({"radius": float("inf")}), "the clip is at norm 2": Plant({"radius": 2.0})},
)
