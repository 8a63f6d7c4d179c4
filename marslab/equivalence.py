r"""Two one-sided tests with a margin: 'no effect' is a claim that needs evidence too.

With estimate d, standard error s and margin [l, u], `p_inside` = max(P(T >= (d - l)/s), P(T <= (d - u)/s)) is small
when the effect is shown to lie inside the margin (Schuirmann 1987), and `p_outside` = P(T >= (|d - c| - m)/s) +
P(T >= (|d - c| + m)/s), with centre c and half-width m, is small when it is shown to lie outside. Both large: the data
cannot tell. T is Student's t, Welch's for two independent samples. The interval at 1 - 2 alpha lies inside the margin
exactly when p_inside <= alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marslab.errors import UsageError, unknown
from marslab.intervals import Estimate

__all__ = ["Equivalence", "equivalence"]

SCALES = ("difference", "ratio")
METHODS = ("t", "bootstrap")


@dataclass(frozen=True)
class Equivalence:
    """Result of `equivalence`; numbers are differences, or factors where scale is 'ratio'.

    `interval` is at 1 - 2 alpha, `interval_99` at 99 %; `detectable` is the smallest true effect told from none with
    80 % power at 99 %; `samples` are the numbers of pairs or of values on each side; `diverged` counts infinite ones
    (then the mean is infinite, both p values are 1 and the intervals are unbounded).
    """

    estimate: float
    interval: tuple[float, float]
    interval_99: tuple[float, float]
    p_inside: float
    p_outside: float
    detectable: float
    margin: tuple[float, float]
    alpha: float
    scale: str
    method: str
    samples: tuple[int, ...]
    diverged: int

    @property
    def outcome(self) -> str:
        """What is shown at level alpha: 'inside', 'outside' or 'cannot tell'."""
        if self.p_inside <= self.alpha:
            return "inside"
        return "outside" if self.p_outside <= self.alpha else "cannot tell"


def equivalence(
    a, b=None, *, margin, paired=True, scale="difference", alpha=0.01, method="t", resamples=10_000, seed=0
) -> Equivalence:
    """Test whether the mean of a - b (or, on the scale 'ratio', the geometric mean of a / b) lies inside a margin.

    `a`, `b`: values over seeds, shape (n,); without `b`, `a` holds the differences (or ratios) themselves. Paired by
    default (common random numbers); `paired=False` compares independent samples. `margin`: a positive number m for
    [-m, m], on the ratio scale a factor m > 1 for [1/m, m], or a pair (low, high). `method`: 't', or 'bootstrap' (t and
    studentised bootstrap together, see marslab.intervals; for skewed samples, from 5 seeds on). Raises UsageError on
    NaN, unequal pairs, non-positive ratios or a bad margin.
    """
    if scale not in SCALES or method not in METHODS:
        raise unknown("scale", scale, SCALES) if scale not in SCALES else unknown("method", method, METHODS)
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha lies between 0 and 0.5, for example 0.01, not {alpha}")
    low, high = _margin(margin, scale)
    groups = _groups(a, b, paired, scale)
    estimate = Estimate.of_means(groups, resamples if method == "bootstrap" else 0, seed)
    back = math.exp if scale == "ratio" else float
    return Equivalence(
        estimate=_safe(back, estimate.value),
        interval=tuple(_safe(back, end) for end in estimate.interval(1 - 2 * alpha)),
        interval_99=tuple(_safe(back, end) for end in estimate.interval(0.99)),
        p_inside=estimate.inside(low, high),
        p_outside=estimate.outside(low, high),
        detectable=_safe(back, estimate.detectable()),
        margin=(_safe(back, low), _safe(back, high)),
        alpha=alpha,
        scale=scale,
        method=method,
        samples=tuple(len(group) for group in groups),
        diverged=sum(int(np.isinf(group).sum()) for group in groups),
    )


def _safe(back, value: float) -> float:
    try:
        return back(value)
    except OverflowError:
        return math.inf


def _margin(margin, scale) -> tuple[float, float]:
    ratio = scale == "ratio"
    pair = tuple(margin) if np.ndim(margin) else ((1 / margin if margin else 0, margin) if ratio else (-margin, margin))
    least = 0 if ratio else -math.inf
    if len(pair) != 2 or not least < pair[0] < pair[1] < math.inf:
        example = "a factor above 1, as 1.05, or a pair as (0.9, 1.1)" if ratio else "a positive number or a pair low < high"
        raise UsageError(f"margin {margin!r} does not fit the scale {scale!r}: give {example}")
    return (math.log(pair[0]), math.log(pair[1])) if ratio else (float(pair[0]), float(pair[1]))


def _groups(a, b, paired, scale) -> list[np.ndarray]:
    samples = [_sample(name, values, scale) for name, values in (("a", a), ("b", b)) if values is not None]
    if len(samples) == 1 or not paired:
        return samples
    if len(samples[0]) != len(samples[1]):
        raise UsageError(f"a has {len(samples[0])} values and b {len(samples[1])}, which cannot be paired; pass paired=False")
    with np.errstate(invalid="ignore"):
        difference = samples[0] - samples[1]
    return [np.where(np.isnan(difference), np.inf, difference)]  # both lanes of the pair diverged


def _sample(name, values, scale) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) == 0:
        raise UsageError(f"{name} must hold one value a seed, shape (n,), not {values.shape}")
    if np.isnan(values).any():
        raise UsageError(f"{name} holds NaN; record +inf from a divergence on, never NaN")
    if scale == "ratio" and (values <= 0).any():
        raise UsageError(f"{name} holds {values.min():g}, and ratios need positive values; use scale='difference'")
    return np.log(values) if scale == "ratio" else values
