"""What the claims about the best stationary gamma share: the stationary gradient norm and the gamma that minimises it."""

import math

import numpy as np
from scipy.optimize import minimize_scalar

from marslab import moments
from marslab.errors import UsageError

COARSE = 41


def power(rule, a: float, gamma: float, **options) -> float:
    """Stationary E F'^2 of one eigenmode at eta lambda = a, from the rule's exact moments; inf where it is unstable."""
    try:
        return moments.stationary(rule, curvature=1.0, lr=a, gamma=gamma, **options).grad_norm_squared
    except UsageError:  # how the library says that there is no stationary law here
        return math.inf


def best(rule, a: float, highest: float = 1.0, **options) -> float:
    """The gamma in [0, highest] that minimises it: the lowest point of a grid, then Brent's method beside it."""
    grid = np.linspace(0.0, highest, COARSE)
    values = [power(rule, a, gamma, **options) for gamma in grid]
    lowest = int(np.argmin(values))
    ends = grid[max(lowest - 1, 0)], grid[min(lowest + 1, COARSE - 1)]
    found = minimize_scalar(lambda gamma: power(rule, a, gamma, **options), bounds=ends, method="bounded")
    return float(found.x if found.fun < values[lowest] else grid[lowest])
