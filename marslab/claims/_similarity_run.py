"""Runs of the follow-up's algorithm at its own step size, from exact moments, for theorem 2 and lemma 4.

The follow-up's update is exact MARS with a plain step; its beta is 1 - beta1. All expectations are exact: the
quadratic's moments are propagated, not sampled. E|g - grad F|^2 along the run is sigma^2 + s^2 E|grad F(x_t)|^2
(additive noise, curvature noise of level s); the proofs use the variance only in expectation at the points of the run,
so its maximum over the run stands for their bound.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from marslab import moments
from marslab.noise import additive, curvature
from marslab.optimizers import mars
from marslab.problems import quadratic

GAMMAS, SIGMA = (0.0, 0.25, 0.5, 1.0, 1.25), 1.0
PROBLEM = quadratic((1.0, 0.5, 0.2))  # L = 1
NOISES = {"additive": additive(SIGMA), "additive and curvature": additive(SIGMA) + curvature(1.0)}
SETTINGS = {"rule": mars, "noises": NOISES, "exact": True, "fresh": 0.1, "stretch": 1.0}


@dataclass(frozen=True)
class Curves:
    """E of squared gradient, squared error, loss gap and noise at steps 1..T + 1, each (gamma, step); step sizes (gamma,)."""

    gradient: np.ndarray
    error: np.ndarray
    gap: np.ndarray
    rate: np.ndarray
    variance: np.ndarray


def step_size(gamma: float, delta: float, fresh: float, L: float = 1.0) -> float:
    """The largest step size of theorem 2, 1/(L + sqrt a); lemma 1's bound of delta_gamma is attained by these noises."""
    similar = gamma**2 * delta**2 + (1 - gamma) ** 2 * L**2
    a = ((1 - fresh) ** 3 * (1 - gamma) ** 2 * L**2 / fresh + 2 * (1 - fresh) ** 2 * similar) / fresh
    return 1 / (L + a**0.5)


def curves(rule, noise, exact: bool, fresh: float, stretch: float, steps: int) -> Curves:
    """Exact curves for every gamma, each at its own step size times ``stretch`` (1 in the theorem)."""
    delta = noise.constants(PROBLEM)["delta"]
    rates = [stretch * step_size(gamma, delta, fresh) for gamma in GAMMAS]
    data = moments.propagate(
        rule,
        problem=PROBLEM,
        noise=noise,
        exact=exact,
        steps=steps + 1,
        record=list(range(1, steps + 2)),
        gamma=list(GAMMAS),
        lr=rates,
        beta1=1 - fresh,
    )
    own = xr.DataArray(range(len(GAMMAS)), dims="pair")
    data = data.isel(gamma=own, lr=own)
    gradient, error, gap = (data[name].values for name in ("grad_norm_squared", "error_squared", "loss_gap"))
    # a run that overflows has an infinite gradient, which no curvature noise would multiply by zero
    variance = SIGMA**2 + delta**2 * gradient if delta else np.full_like(gradient, SIGMA**2)
    return Curves(gradient, error, gap, np.array(rates), variance)
