r"""With weight decay MARS-AdamW stops where grad F + lambda H x = 0, not where grad F = 0.

The update is x_{t+1} = x_t - eta (H_t^-1 m_t + lambda x_t), so m_t = H_t ((x_t - x_{t+1})/eta_t - lambda x_t): small steps
and a small error, the two things that theorem B.6 bounds, give grad F(x) + lambda H x = 0. In the noisy regime H = sqrt(E
c^2), which does not vanish at the minimum. On F = k (x - b)^2/2, one coordinate, with additive noise of variance sigma^2, E
c^2 = sigma^2 + k^2 u^2 at the distance u = b - x, and u solves k u = lambda sqrt(sigma^2 + k^2 u^2) (b - u). At k = sigma =
1, b = 3, lambda = 0.1 this is u = 0.282: 9 % of b. Without noise (and with eps = 1e-8) the shift would vanish with H.

Measured: exact MARS-AdamW at its published betas and gamma, from the minimum, clip off, 256 equal coordinates, the mean of
b - x over the last 1500 of 3000 steps of lr 0.003. The margin, 3 %, is for terms of the order 1 - beta_2: v varies by 10 %
around its mean, and m and v are correlated, which changes E[m/sqrt v] by less than 1 %.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.optimize import brentq

from marslab.claims._audit import walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars_adamw
from marslab.problems import Problem
from marslab.verdicts import Measurement

CENTRE, DECAY, COORDINATES = 3.0, 0.1, 256


@dataclass(frozen=True)
class Shifted(Problem):
    """F(x) = |x - centre|^2 / 2; L = 1, f_min = 0 at the centre, where it starts."""

    centre: float = CENTRE
    shapes: ClassVar = {"x": (COORDINATES,)}
    certainty: ClassVar = {"L": "exact", "f_min": "exact"}
    L: ClassVar = 1.0
    f_min: ClassVar = 0.0

    def start(self):
        """The minimum."""
        return {"x": torch.full((COORDINATES,), self.centre, dtype=torch.float64)}

    def value(self, x, rows=None):
        """Half the squared distance."""
        return (x["x"] - self.centre).square().sum(-1) / 2

    def gradient(self, x, rows=None):
        """The way from the centre."""
        return {"x": x["x"] - self.centre}


def distance(sigma: float = 1.0, decay: float = DECAY) -> float:
    """The root of u = decay sqrt(sigma^2 + u^2) (centre - u)."""
    return brentq(lambda u: u - decay * np.hypot(sigma, u) * (CENTRE - u), 0, CENTRE)


def measure(data, rule, noise, decay, steps, seeds):
    """How far from the minimum the run settles, one number a seed."""
    options = dict(lr=3e-3, weight_decay=decay, clip_radius=float("inf"), exact=True)
    run = walk(rule, problem=Shifted(), noise=noise, steps=steps, seeds=seeds, **options)
    late = [(CENTRE - step.x["x"]).mean(-1).numpy() for step in run if step.t > steps // 2]
    found = Measurement.of(np.mean(late, axis=0), resamples=0)
    note = f"the minimum is at {CENTRE:g}; {found.estimate / CENTRE:.1%} of it is lost to the decay of {decay:g}"
    return Finding(found, steps, 2 * steps - 1, note)


audit_weight_decay_moves_limit = Claim(
    name="audit_weight_decay_moves_limit",
    statement="MARS-AdamW with decay λ settles where ∇F + λHx = 0 with H = √E c², away from the minimum.",
    source="derived here; what theorem B.6 of arXiv 2411.10438 bounds",
    kind="Monte Carlo",
    unit="distance from the minimum",
    predict=distance,
    margin=0.03 * distance(),
    measure=measure,
    settings={
        "rule": mars_adamw,
        "noise": additive(sigma=COORDINATES**0.5),
        "decay": DECAY,
        "steps": Budget(3_000, 12_000),
        "seeds": Budget(16, 32),
    },
    plants={
        "there is no decay": Plant({"decay": 0.0}),
        "the noise is half as strong": Plant({"noise": additive(sigma=COORDINATES**0.5 / 2)}),
    },
)
