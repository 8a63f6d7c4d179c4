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
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from marslab import slopes
from marslab.errors import UsageError
from marslab.intervals import Estimate, seed_counts

__all__ = ["CANDIDATES", "Exponent", "fit", "local_slopes", "root_mean_square", "verdict"]

CANDIDATES = (Fraction(-1, 2), Fraction(-1, 3), Fraction(-1, 4), Fraction(-1, 6))
FLAT = 0.05  # an end slope nearer to zero than this is a floor, if also shown to be flatter than the slowest candidate
STEEP = float(max(CANDIDATES))
LEAST_POINTS = 8


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
    local_steps: tuple[float, ...] = field(repr=False)
    local_slopes: tuple[float, ...] = field(repr=False)
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
    diverged = int(np.isinf(values[:, steps <= window[1]]).any(axis=1).sum())
    steps, values = _windowed(steps, values, window, log_power)
    described = dict(level=level, window=(float(window[0]), float(window[1])), seeds=len(values), points=len(steps))
    if diverged:
        return _diverged(log_power, diverged, described)
    log_rms = np.log(root_mean_square(values))
    rows, constant, power = slopes.contrasts(np.log(steps), log_power)
    at = rows @ log_rms + constant
    replicates = [None] * 3 if exact else _resampled(rows, values, resamples, seed) + constant[:, None]
    slope, drift, end = (_ends(*pair, len(values), level) for pair in zip(at, replicates, strict=True))
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
    gap = min((b - a for a, b in pairwise(ordered)), default=math.inf)
    if not ordered or not 0 < margin <= gap / 2 + 1e-12 or drift <= 0:
        raise UsageError(f"margin {margin} must lie above 0 and at most {gap / 2:.4g}, half the candidates' gap; drift above 0")
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
    chosen = positive[slopes.thin(np.log(steps[positive]))]
    log_steps, half = np.log(steps[chosen]), width * math.log(10) / 2
    rms = root_mean_square(values[:, chosen])
    if (rms == 0).any():
        raise UsageError(
            f"the root mean square is exactly zero at step {steps[chosen][rms == 0][0]:g}; end the curve before it"
        )
    log_rms = np.log(rms)
    first, last, slack = log_steps[0] + half - 1e-9, log_steps[-1] - half + 1e-9, half + 1e-9
    centres = np.flatnonzero((first <= log_steps) & (log_steps <= last))
    near = {centre: np.abs(log_steps - log_steps[centre]) <= slack for centre in centres}
    kept = [centre for centre in centres if near[centre].sum() >= 3]
    return steps[chosen[kept]], np.array([slopes.slope(log_steps[near[centre]], log_rms[near[centre]]) for centre in kept])


def root_mean_square(values) -> np.ndarray:
    """Root of the mean of squares over the first axis (seeds) without overflow; +inf where any seed is infinite."""
    values = np.asarray(values, dtype=float)
    scale = values.max(axis=0)
    safe = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
    with np.errstate(over="ignore"):  # only where another seed is infinite already
        return np.sqrt(((values / safe) ** 2).mean(axis=0)) * safe


def _resampled(rows, values, resamples, seed) -> np.ndarray:
    """Rows @ log r of resampled seeds, shape (rows, resamples); not finite where a resample holds only zeros."""
    scale = values.max(axis=0)
    squares = seed_counts(len(values), resamples, seed) @ (values / scale) ** 2 / len(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return rows @ (np.log(squares) / 2 + np.log(scale)).T


def _ends(value, replicates, seeds, level) -> tuple[float, float, float]:
    if replicates is None:
        return float(value), float(value), float(value)
    return float(value), *Estimate.of_replicates(value, replicates, seeds).interval(level)


def _diverged(log_power, diverged, described) -> Exponent:
    endless = dict.fromkeys(("drift", "drift_low", "drift_high", "end_slope", "end_low", "end_high"), math.inf)
    power = math.inf if log_power == "free" else float(log_power)
    empty = dict(local_steps=(), local_slopes=(), floor=False)
    return Exponent(math.inf, math.inf, math.inf, **described, log_power=power, **endless, **empty, diverged=diverged)


def _windowed(steps, values, window, log_power) -> tuple[np.ndarray, np.ndarray]:
    first, last = window
    if not steps[0] <= first < last <= steps[-1] or first <= 0:
        raise UsageError(f"the window {first} to {last} must rise inside the recorded steps, {steps[0]:g} to {steps[-1]:g}")
    if first <= 1 and log_power != 0:
        raise UsageError(f"the log factor needs steps above 1, where log log t exists; start the window after {first}")
    inside = np.flatnonzero((first <= steps) & (steps <= last))
    if len(inside) < LEAST_POINTS:
        raise UsageError(f"the window {first} to {last} holds {len(inside)} recorded steps of {LEAST_POINTS} needed; widen it")
    zero = inside[(values[:, inside] == 0).all(axis=0)]
    if len(zero):
        raise UsageError(f"the root mean square is exactly zero at step {steps[zero[0]]:g}; end the window before it")
    chosen = inside[slopes.thin(np.log(steps[inside]))]
    return steps[chosen], values[:, chosen]


def _check_options(log_power, level, resamples):
    if log_power != "free" and not (isinstance(log_power, int | float) and math.isfinite(log_power)):
        raise UsageError(f"log_power is a number, as 0.5, or 'free', not {log_power!r}")
    if not 0 < level < 1 or resamples * (1 - level) < 10 - 1e-9:
        raise UsageError(f"the level {level} must lie in (0, 1), with at least 10 / (1 - level) resamples, not {resamples}")


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
