r"""The exponent of a recorded curve: a slope with its interval, and a verdict that may be 'cannot tell'.

The curve is the root mean square over seeds at step t, r(t)^2 = mean_seeds |.|^2 (the mean is taken before the log; never
the running mean), and the exponent is the slope of the least squares line through (log t, log r(t)) on a window.

Weighting. Nothing is interpolated. Each recorded step counts for the stretch of log t that it stands for
(``numpy.gradient(log t)``), so the slope approximates the least squares line in log t whatever the recording grid: on
a log-spaced grid it is plain least squares on log-spaced points, and where more than 200 steps lie in the window (a
curve recorded at every step) the recorded steps nearest to 200 log-spaced ones are used.

The log factor. The theorem bounds squares by log T * T^(-2/3), so norms by sqrt(log T) T^(-1/3):
log r = a + p log t + q log log t, with q = 0 (default), q fixed (``log_power=0.5`` for the theorem) or ``"free"``. With q
free, p and q are nearly collinear on two decades and the interval of p is wide: the fixed form is the test of a bound.

Uncertainty. Whole curves are resampled over seeds; the interval is the wider of the percentile interval, expanded for few
seeds, and the t interval (see marslab.intervals, with the measured coverage).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from marslab.errors import UsageError
from marslab.intervals import Estimate, seed_counts

__all__ = ["CANDIDATES", "Exponent", "fit", "local_slopes", "root_mean_square", "verdict"]

CANDIDATES = (Fraction(-1, 2), Fraction(-1, 3), Fraction(-1, 4), Fraction(-1, 6))
FLAT = 0.05  # an end slope nearer to zero than this is a floor, if also shown to be flatter than the slowest candidate
STEEP = float(max(CANDIDATES))
MOST_POINTS, LEAST_POINTS = 200, 8


@dataclass(frozen=True)
class Exponent:
    """The exponent `slope` of a curve on `window` (first, last step) with its interval [low, high] at `level`.

    `drift` is the change of the local slope from the window's first to its last step (from a parabola in log t, the log
    factor divided out), `end_slope` the slope over the last third of the window in log t (the factor left in), both with
    intervals at the same level. `local_slopes` belong to the steps `local_steps` (see `local_slopes`). `floor`: the curve
    levels off at a constant. `diverged` seeds make every slope +inf. `log_power` is q, given or fitted. One curve of shape
    (K,) is exact: its intervals have no width; one seed of shape (1, K) has intervals without end.
    """

    slope: float
    low: float
    high: float
    level: float
    window: tuple[float, float]
    log_power: float
    drift: float
    drift_low: float
    drift_high: float
    end_slope: float
    end_low: float
    end_high: float
    local_steps: tuple[float, ...]
    local_slopes: tuple[float, ...]
    floor: bool
    diverged: int
    seeds: int
    points: int


def fit(steps, values, window, *, log_power=0.0, level=0.99, resamples=10_000, seed=0) -> Exponent:
    """Fit the exponent of `values` (seeds, K) or (K,), norms >= 0 at increasing `steps` (K,), on window = (first, last).

    `log_power`: the power q of the log factor, or 'free'; `level` of the intervals; `resamples` of whole curves drawn
    from `seed`. Zeros of some seeds count in the mean; +inf (a diverged seed) is counted and makes the slope +inf. Raises
    UsageError on NaN, negative values, a window outside the data or with fewer than 8 steps, or an r(t) of exactly zero.
    """
    steps, values, exact = _checked(steps, values)
    _check_options(log_power, level, resamples)
    steps, values = _windowed(steps, values, window, log_power)
    diverged = int(np.isinf(values).any(axis=1).sum())
    described = dict(level=level, window=(float(window[0]), float(window[1])), seeds=len(values), points=len(steps))
    if diverged:
        return _diverged(log_power, diverged, described)
    log_rms = np.log(root_mean_square(values))
    contrasts, constant, power = _contrasts(np.log(steps), log_power)
    at = contrasts @ log_rms + constant
    resampled = None if exact else _resampled(values, resamples, seed) @ contrasts.T + constant
    slope, drift, end = (_ends(at[i], None if exact else resampled[:, i], len(values), level) for i in range(3))
    centres, local = local_slopes(steps, np.exp(log_rms))
    return Exponent(
        *slope,
        **described,
        log_power=float(power @ log_rms) if log_power == "free" else float(log_power),
        **dict(zip(("drift", "drift_low", "drift_high"), drift, strict=True)),
        **dict(zip(("end_slope", "end_low", "end_high"), end, strict=True)),
        local_steps=tuple(centres.tolist()),
        local_slopes=tuple(local.tolist()),
        floor=abs(end[0]) < FLAT and end[1] > STEEP and end[2] < -STEEP,
        diverged=0,
    )


def verdict(exponent: Exponent, candidates: Sequence = CANDIDATES, margin: float = 0.01, drift: float = 0.03) -> str:
    """Name what the fit shows: a candidate such as '-1/3', or why none can be named.

    In this order: 'diverged' (some seed did), 'floor', 'not yet asymptotic' (the local slope changes across the window by
    more than `drift`, and shown not to be constant), the candidate within `margin` of which the whole interval lies, 'none of
    these' (the interval lies apart from every candidate by more than `margin`), 'cannot tell'. A candidate is named wrongly
    with probability at most 1 - level. Margins above half the smallest gap between candidates are refused.
    """
    ordered = sorted(float(candidate) for candidate in candidates)
    gap = min((b - a for a, b in zip(ordered, ordered[1:], strict=False)), default=math.inf)
    if not ordered or not 0 < margin <= gap / 2 or drift <= 0:
        raise UsageError(
            f"margin {margin} must lie above 0 and at most {gap / 2:.4g}, half the gap of candidates, and drift above 0"
        )
    if exponent.diverged:
        return "diverged"
    if exponent.floor:
        return "floor"
    if abs(exponent.drift) > drift and not exponent.drift_low <= 0 <= exponent.drift_high:
        return "not yet asymptotic"
    for candidate in candidates:
        if float(candidate) - margin <= exponent.low and exponent.high <= float(candidate) + margin:
            return str(Fraction(candidate).limit_denominator(1000))
    near = any(exponent.low <= value + margin and value - margin <= exponent.high for value in ordered)
    return "cannot tell" if near else "none of these"


def local_slopes(steps, values, *, width: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Return (centres, slopes): the least squares slope of log r over `width` decades around each recorded step.

    Only steps whose whole stretch lies inside the data, with at least 3 steps in it; more than 200 steps are thinned to
    log-spaced ones. The slope is +inf where a seed of the stretch has diverged.
    """
    steps, values, _ = _checked(steps, values)
    if not width > 0:
        raise UsageError(f"width is a number of decades above 0, for example 0.5, not {width}")
    positive = np.flatnonzero(steps > 0)
    chosen = positive[_thin(np.log(steps[positive]))]
    log_steps, half = np.log(steps[chosen]), width * math.log(10) / 2
    log_rms = np.log(root_mean_square(values[:, chosen]))
    if np.isneginf(log_rms).any():
        raise UsageError("the root mean square is exactly zero at some step, where no slope exists; end the curve before it")
    slack = 1e-9
    centres = [u for u in log_steps if log_steps[0] - slack <= u - half and u + half <= log_steps[-1] + slack]
    stretches = [np.abs(log_steps - u) <= half + slack for u in centres]
    kept = [(u, _slope(log_steps[near], log_rms[near])) for u, near in zip(centres, stretches, strict=True) if near.sum() >= 3]
    return np.exp([u for u, _ in kept]), np.array([slope for _, slope in kept])


def root_mean_square(values) -> np.ndarray:
    """Root of the mean of squares over the first axis (seeds) without overflow; +inf where any seed is infinite."""
    values = np.asarray(values, dtype=float)
    scale = values.max(axis=0)
    safe = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
    return np.sqrt(((values / safe) ** 2).mean(axis=0)) * safe


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    return math.inf if np.isinf(y).any() else float(_solve(x, 1)[0][1] @ y)


def _solve(x: np.ndarray, degree: int, extra: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """Rows that map y to the weighted least squares coefficients of 1, x, .., (extra), x centred and scaled to [-1, 1]."""
    half = (x[-1] - x[0]) / 2
    unit = (x - x.mean()) / half
    columns = [unit**power for power in range(degree + 1)] + ([] if extra is None else [extra])
    root = np.sqrt(np.gradient(x))
    rows = np.linalg.pinv(np.stack(columns, axis=1) * root[:, None]) * root
    rows[1] /= half  # the slope, per unit of x
    return rows, half


def _contrasts(log_steps, log_power) -> tuple[np.ndarray, np.ndarray]:
    """Rows and constants: (slope, drift, end slope) = rows @ log r + constants; then the row of the fitted log power."""
    log_log = np.log(log_steps) if log_power != 0 else np.zeros_like(log_steps)
    power = np.zeros_like(log_steps)
    slope = _solve(log_steps, 1)[0][1]
    if log_power == "free":
        rows, _ = _solve(log_steps, 1, log_log)
        slope, power = rows[1], rows[2]
    parabola, half = _solve(log_steps, 2)
    drift = 4 * parabola[2] / half  # the derivative of q u^2 changes by 4 q from u = -1 to u = 1
    end = np.zeros_like(log_steps)
    last = min(int(np.searchsorted(log_steps, log_steps[-1] - 2 * half / 3)), len(log_steps) - 4)
    end[last:] = _solve(log_steps[last:], 1)[0][1]
    if log_power == "free":
        return np.stack([slope, drift - (drift @ log_log) * power, end]), np.zeros(3), power
    return np.stack([slope, drift, end]), -log_power * np.array([slope @ log_log, drift @ log_log, 0.0]), power


def _resampled(values, resamples, seed) -> np.ndarray:
    """Log r of resampled seeds, shape (resamples, K); -inf where a resample holds only zeros."""
    scale = values.max(axis=0)
    squares = seed_counts(len(values), resamples, seed) @ (values / scale) ** 2 / len(values)
    with np.errstate(divide="ignore"):
        return np.log(squares) / 2 + np.log(scale)


def _ends(value, replicates, seeds, level) -> tuple[float, float, float]:
    if replicates is None:
        return float(value), float(value), float(value)
    return float(value), *Estimate.of_replicates(value, replicates, seeds).interval(level)


def _diverged(log_power, diverged, described) -> Exponent:
    endless = dict.fromkeys(("drift", "drift_low", "drift_high", "end_slope", "end_low", "end_high"), math.inf)
    power = math.inf if log_power == "free" else float(log_power)
    empty = dict(local_steps=(), local_slopes=(), floor=False)
    return Exponent(math.inf, math.inf, math.inf, **described, log_power=power, **endless, **empty, diverged=diverged)


def _thin(log_steps) -> np.ndarray:
    """Indices of all steps, or where there are too many of those nearest to log-spaced targets."""
    if len(log_steps) <= MOST_POINTS:
        return np.arange(len(log_steps))
    targets = np.linspace(log_steps[0], log_steps[-1], MOST_POINTS)
    after = np.searchsorted(log_steps, targets).clip(1, len(log_steps) - 1)
    nearer = targets - log_steps[after - 1] < log_steps[after] - targets
    return np.unique(after - nearer)


def _windowed(steps, values, window, log_power) -> tuple[np.ndarray, np.ndarray]:
    first, last = window
    if not steps[0] <= first < last <= steps[-1] or first <= 0:
        raise UsageError(
            f"the window {first} to {last} does not lie in the recorded steps {steps[0]:g} to {steps[-1]:g}, above 0"
        )
    if first <= 1 and log_power != 0:
        raise UsageError(f"the log factor needs steps above 1, where log log t exists; start the window after {first}")
    inside = np.flatnonzero((first <= steps) & (steps <= last))
    if len(inside) < LEAST_POINTS:
        raise UsageError(
            f"the window {first} to {last} holds {len(inside)} recorded steps; it needs {LEAST_POINTS}, so widen it"
        )
    zero = inside[(values[:, inside] == 0).all(axis=0)]
    if len(zero):
        raise UsageError(f"the root mean square is exactly zero at step {steps[zero[0]]:g}; end the window before it")
    chosen = inside[_thin(np.log(steps[inside]))]
    return steps[chosen], values[:, chosen]


def _check_options(log_power, level, resamples):
    if log_power != "free" and not (isinstance(log_power, int | float) and math.isfinite(log_power)):
        raise UsageError(f"log_power is a number, as 0.5, or 'free', not {log_power!r}")
    if not 0 < level < 1:
        raise UsageError(f"the level of an interval lies between 0 and 1, for example 0.99, not {level}")
    if resamples * (1 - level) < 10:
        raise UsageError(f"{resamples} resamples are too few for the level {level}; take {math.ceil(10 / (1 - level))} or more")


def _checked(steps, values) -> tuple[np.ndarray, np.ndarray, bool]:
    """Float arrays (K,) and (seeds, K), and whether the values were one exact curve of shape (K,)."""
    steps, values = np.asarray(steps, dtype=float), np.asarray(values, dtype=float)
    if steps.ndim != 1 or values.ndim not in (1, 2) or values.shape[-1:] != steps.shape or values.size == 0:
        raise UsageError(f"steps (K,) and values (seeds, K) or (K,) do not fit: {steps.shape} and {values.shape}")
    if np.isnan(values).any() or (values < 0).any():
        raise UsageError("the values hold NaN or negative numbers; give norms, and +inf from a divergence on")
    if not np.isfinite(steps).all() or (np.diff(steps) <= 0).any():
        raise UsageError("the steps must be finite and increase; sort the curve and drop repeated steps")
    return steps, np.atleast_2d(values), values.ndim == 1
