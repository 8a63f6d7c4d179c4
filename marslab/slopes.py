"""Weighted least squares in log t, written as rows to be multiplied with log r: linear, so a bootstrap is one product."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["MOST_POINTS", "coefficients", "contrasts", "slope", "thin"]

MOST_POINTS = 200  # more steps than this are thinned: they cost time and hold no more, being correlated


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Least squares slope of y over x, each point weighing its stretch of x; +inf where some y is infinite."""
    return math.inf if np.isinf(y).any() else float(coefficients(x, 1)[0][1] @ y)


def coefficients(x: np.ndarray, degree: int, extra: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """Rows that map y to the weighted least squares coefficients of 1, x, .., (extra), x centred and scaled to [-1, 1]."""
    half = (x[-1] - x[0]) / 2
    unit = (x - x.mean()) / half
    columns = [unit**power for power in range(degree + 1)] + ([] if extra is None else [extra])
    root = np.sqrt(np.gradient(x))  # square roots of the weights
    rows = np.linalg.pinv(np.stack(columns, axis=1) * root[:, None]) * root
    rows[1] /= half  # the slope, per unit of x
    return rows, half


def contrasts(log_steps, log_power) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and constants: (slope, drift, end slope) = rows @ log r + constants; then the row of the fitted log power."""
    log_log = np.log(log_steps) if log_power != 0 else np.zeros_like(log_steps)
    power = np.zeros_like(log_steps)
    slope = coefficients(log_steps, 1)[0][1]
    if log_power == "free":
        rows, _ = coefficients(log_steps, 1, log_log)
        slope, power = rows[1], rows[2]
    parabola, half = coefficients(log_steps, 2)
    drift = 4 * parabola[2] / half  # the derivative of q u^2 changes by 4 q from u = -1 to u = 1
    end = np.zeros_like(log_steps)
    last = min(int(np.searchsorted(log_steps, log_steps[-1] - 2 * half / 3)), len(log_steps) - 4)
    end[last:] = coefficients(log_steps[last:], 1)[0][1]
    if log_power == "free":
        return np.stack([slope, drift - (drift @ log_log) * power, end]), np.zeros(3), power
    return np.stack([slope, drift, end]), -log_power * np.array([slope @ log_log, drift @ log_log, 0.0]), power


def thin(log_steps) -> np.ndarray:
    """Indices of all steps, or where there are too many of those nearest to log-spaced targets."""
    if len(log_steps) <= MOST_POINTS:
        return np.arange(len(log_steps))
    targets = np.linspace(log_steps[0], log_steps[-1], MOST_POINTS)
    after = np.searchsorted(log_steps, targets).clip(1, len(log_steps) - 1)
    nearer = targets - log_steps[after - 1] < log_steps[after] - targets
    return np.unique(after - nearer)
