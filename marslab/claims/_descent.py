"""The bound for orthogonalised and sign updates (derived in polar_descent_bound and sign_descent_bound), and its runs."""

import dataclasses
import functools
import math

import numpy as np

from marslab.noise import additive
from marslab.problems import quadratic
from marslab.simulate import run

SIGMA = 1.0
UNCLIPPED = {"clip_radius": math.inf, "gamma": 1.0}


def problem_of(shape):
    """A quadratic with curvatures from 1 down to 1/2 and F(x_1) = 1/2."""
    spectrum = np.geomspace(1.0, 0.5, math.prod(shape))
    return quadratic(spectrum=tuple(spectrum), shape=shape, start_scale=float(spectrum.sum() ** -0.5))


def bound(*, gap, L, sigma, rank, steps, eta, k):
    r"""The bound on the mean over T steps of the dual norm of grad F.

    Delta / (eta T) + L eta r / 2 + 2 sqrt(r) (sigma / (k T) + sqrt(2 k) sigma + sqrt(2 r / k) L eta).
    """
    error = sigma / (k * steps) + math.sqrt(2 * k) * sigma + math.sqrt(2 * rank / k) * L * eta
    return gap / (eta * steps) + L * eta * rank / 2 + 2 * math.sqrt(rank) * error


def declared(steps: int) -> tuple[float, float]:
    """eta and k at the horizon T, both T^(-2/3)."""
    return steps ** (-2 / 3), steps ** (-2 / 3)


def mean_norms(rule, *, shape, rank, steps, seeds, hyper, rate=declared, noise=None) -> np.ndarray:
    """sqrt(r) times every seed's mean of |grad F| over the steps: at least the mean of the dual norm."""
    eta, k = rate(steps)
    noise = additive(sigma=SIGMA) if noise is None else noise
    options = {**UNCLIPPED, **hyper, "lr": eta, "beta1": 1 - k, "record": [steps]}
    found = run(rule, problem=problem_of(shape), noise=noise, steps=steps, seeds=seeds, exact=True, first="zero", **options)
    return math.sqrt(rank) * found.grad_norm_mean.values[..., -1].reshape(-1)


def ratio(rule, *, shape, rank, steps, **options) -> np.ndarray:
    """Every seed's mean norm over the bound at the declared eta and k, shape (seeds,)."""
    eta, k = declared(steps)
    largest = bound(gap=0.5, L=1.0, sigma=SIGMA, rank=rank, steps=steps, eta=eta, k=k)
    return mean_norms(rule, shape=shape, rank=rank, steps=steps, **options) / largest


def horizon_slopes(rule, horizons, **options) -> np.ndarray:
    """Every seed's slope of the log mean norm against log T over runs of several horizons, shape (seeds,)."""
    t = np.log(horizons)
    t = t - t.mean()
    logs = np.stack([np.log(mean_norms(rule, steps=steps, **options)) for steps in horizons])
    return t @ logs / (t @ t)


def long_step(steps: int) -> tuple[float, float]:
    """A step of 3 that does not shrink with the horizon."""
    return 3.0, declared(steps)[1]


def cube_root(steps: int) -> tuple[float, float]:
    """eta and k both T^(-1/3)."""
    return steps ** (-1 / 3), steps ** (-1 / 3)


def uphill(rule):
    """The rule with its step turned round."""

    @functools.wraps(rule.function)  # which keeps the hyper-parameters' names
    def turned(x, *inputs, **hyper):
        moved, state = rule.function(x, *inputs, **hyper)
        return 2 * x - moved, state

    return dataclasses.replace(rule, function=turned)
