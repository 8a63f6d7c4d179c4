"""What a sample tells about a number: bootstrap over seeds, intervals, one-sided p values, the smallest detectable effect.

Up to three tails are used together: the larger p value and the wider end of an interval count.

* The *t tail*: the standard error with n - 1 degrees of freedom for n seeds (Welch's for two independent samples).
* The *expanded percentile* of bootstrap replicates, for any statistic: a share q of the replicates stands for a p value of
  ``stdtr(n - 1, ndtri(q) * sqrt((n - 1) / n))``, since the plain percentile interval is too short by the factor
  sqrt((n - 1) / n) and by having normal quantiles. Measured on exponents of 8, 16 and 64 seeds, light and heavy tails, 1000
  repeats each at a nominal 1 % of misses: with the t tail 0.8 to 1.9 %, plain percentile and BCa intervals 1.5 to 8 %.
* The *studentised bootstrap*, for means: shares of (mean* - mean) / error* over resamples. It follows a skewed sample:
  the mean of 16 (64) exponentials, 1 % on the side of its long tail, is missed 5.7 % (3.0 %) by t alone and 2.5 % (1.6 %)
  with it. No interval is safe for the mean of very heavy tails (16 lognormals: 4.4 %); compare logs or medians there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from marslab.errors import UsageError

__all__ = ["Estimate", "bootstrap", "seed_counts", "studentised"]


def seed_counts(seeds: int, resamples: int, seed: int) -> np.ndarray:
    """How often each of `seeds` curves is drawn: integers (resamples, seeds), every row sums to `seeds`."""
    if seeds < 1 or resamples < 1:
        raise UsageError(f"a bootstrap needs at least one seed and one resample, not {seeds} and {resamples}")
    generator = np.random.default_rng(seed)
    return generator.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples)


def bootstrap(statistic: Callable, data, *, resamples: int = 10_000, seed: int = 0) -> np.ndarray:
    """Return the statistic of `resamples` resamples of whole seeds, shape (resamples, *shape of the statistic).

    `data` has shape (seeds, ...) and `statistic` maps such an array (any order of the seeds, repeats included) to a
    number or an array. `seed` alone fixes the draws, so two statistics of the same seeds are resampled together.
    Infinite values (diverged lanes) reach the statistic as they are; an undefined result (inf - inf) becomes +inf.
    """
    data = np.asarray(data, dtype=float)
    if np.isnan(data).any():
        raise UsageError("the data hold NaN; record +inf from a divergence on, never NaN")
    order = np.arange(len(data))
    with np.errstate(invalid="ignore"):
        replicates = [statistic(data[order.repeat(row)]) for row in seed_counts(len(data), resamples, seed)]
    replicates = np.asarray(replicates, dtype=float)
    return np.where(np.isnan(replicates), np.inf, replicates)


def studentised(groups: list[np.ndarray], resamples: int, seed: int = 0) -> np.ndarray:
    """Studentised bootstrap, shape (resamples,), of mean(first) - mean(second) for one or two samples of shape (n,), n >= 2.

    A resample that drew one value only has no spread and counts as infinite (in fewer than 5 seeds too often to tell anything).
    """
    shift, variance = np.zeros(resamples), np.zeros(resamples)
    for sign, group, stream in zip((1, -1), groups, np.random.SeedSequence(seed).spawn(2), strict=False):
        centred, counts = group - group.mean(), seed_counts(len(group), resamples, stream)
        mean = counts @ centred / len(group)
        shift += sign * mean
        spread = (counts @ centred**2 / len(group) - mean**2) / (len(group) - 1)
        variance += np.where(counts.max(axis=1) == len(group), 0.0, spread)
    ratio = np.abs(shift) / np.sqrt(np.where(variance > 0, variance, 1.0))
    return np.copysign(np.where(variance > 0, ratio, np.inf), shift)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number with what is known of its error; `df` = inf means a known standard error (normal tails).

    `standard_error` may be inf (one seed: nothing is known), and a `value` that is infinite (a lane diverged) has p
    values of 1 and the interval (-inf, inf). NaN is refused. `replicates` are bootstrap replicates of the value, `studentised`
    those of (value* - value) / standard_error*, or None.
    """

    value: float
    standard_error: float
    df: float = math.inf
    replicates: np.ndarray | None = None
    studentised: np.ndarray | None = None

    def __post_init__(self):
        if math.isnan(self.value) or math.isnan(self.standard_error) or self.standard_error < 0 or not self.df > 0:
            raise UsageError(
                f"an estimate needs a value and a standard error of at least 0, not {self.value} and {self.standard_error}"
                f" with {self.df} degrees of freedom; record +inf, never NaN, from a divergence on"
            )

    @classmethod
    def of_replicates(cls, value: float, replicates: np.ndarray, seeds: int) -> Estimate:
        """Standard error from bootstrap replicates over n = `seeds` seeds, times sqrt(n / (n - 1)); unknown for one seed."""
        replicates = np.asarray(replicates, dtype=float)
        if seeds < 2 or not np.isfinite(replicates).all():
            return cls(float(value), math.inf, max(seeds - 1, 1))
        spread = replicates.std(ddof=1) * math.sqrt(seeds / (seeds - 1))
        spread = 0.0 if np.ptp(replicates) == 0 else float(spread)
        return cls(float(value), spread, seeds - 1, replicates)

    @classmethod
    def of_means(cls, groups: list[np.ndarray], resamples: int = 0, seed: int = 0) -> Estimate:
        """Mean of one sample, or mean(first) - mean(second) of two independent ones, with Welch's degrees of freedom.

        `resamples` above 0 adds the studentised bootstrap. A diverged (infinite) value makes the mean infinite; where both
        samples have one the difference is undefined and stands at +inf.
        """
        with np.errstate(invalid="ignore"):
            value = float(sum(sign * group.mean() for sign, group in zip((1, -1), groups, strict=False)))
        if not math.isfinite(value):
            return cls(-math.inf if value == -math.inf else math.inf, math.inf)
        if any(len(group) < 2 for group in groups):
            return cls(value, math.inf)
        parts = [0.0 if np.ptp(group) == 0 else float(group.var(ddof=1)) / len(group) for group in groups]
        if sum(parts) == 0:
            return cls(value, 0.0)
        df = sum(parts) ** 2 / sum(part**2 / (len(group) - 1) for part, group in zip(parts, groups, strict=True))
        return cls(value, math.sqrt(sum(parts)), df, None, studentised(groups, resamples, seed) if resamples else None)

    @property
    def _shrink(self) -> float:
        return 1.0 if math.isinf(self.df) else math.sqrt(self.df / (self.df + 1))

    def above(self, bound: float) -> float:
        """P value against 'the true number is at most `bound`': small when the estimate lies well above."""
        return self._tail(1, bound)

    def below(self, bound: float) -> float:
        """P value against 'the true number is at least `bound`': small when the estimate lies well below."""
        return self._tail(-1, bound)

    def _tail(self, sign: int, bound: float) -> float:
        if math.isinf(self.value):
            return 1.0
        distance = sign * (self.value - bound)
        if self.standard_error == 0:
            return float(distance <= 0)
        distance = 0.0 if math.isinf(self.standard_error) else distance / self.standard_error
        tails = [special.stdtr(self.df, -distance)]
        if self.replicates is not None:
            share = np.mean(sign * self.replicates <= sign * bound)
            tails.append(special.stdtr(self.df, special.ndtri(share) * self._shrink))
        if self.studentised is not None:
            tails.append(np.mean(sign * self.studentised >= distance))
        return float(max(tails))

    def inside(self, low: float, high: float) -> float:
        """P value of the two one-sided tests: evidence that low <= truth <= high. Either end may be infinite."""
        if self.standard_error == 0 and math.isfinite(self.value):
            return float(not low <= self.value <= high)
        return max(self.above(low), self.below(high))

    def outside(self, low: float, high: float) -> float:
        """P value against low <= truth <= high (the worst case at an end, both directions counted)."""
        if self.standard_error == 0 and math.isfinite(self.value):
            return float(low <= self.value <= high)
        if math.isinf(low) or math.isinf(high):
            return self.above(high) if math.isinf(low) else self.below(low)
        if self.value >= (low + high) / 2:
            return min(1.0, self.above(high) + self.above(low))
        return min(1.0, self.below(low) + self.below(high))

    def interval(self, level: float = 0.99) -> tuple[float, float]:
        """Two-sided interval at `level` in (0, 1), the set of bounds whose one-sided p values exceed (1 - level) / 2."""
        if not 0 < level < 1:
            raise UsageError(f"the level of an interval lies between 0 and 1, for example 0.99, not {level}")
        if math.isinf(self.value) or math.isinf(self.standard_error):
            return -math.inf, math.inf
        quantile = special.stdtrit(self.df, (1 + level) / 2)
        low, high = self.value - quantile * self.standard_error, self.value + quantile * self.standard_error
        if self.replicates is not None:
            share = special.ndtr(-quantile / self._shrink)
            ends = np.quantile(self.replicates, [share, 1 - share])
            low, high = min(low, ends[0]), max(high, ends[1])
        if self.studentised is not None:
            ends = np.quantile(self.studentised, [(1 + level) / 2, (1 - level) / 2], method="inverted_cdf")
            low, high = (
                min(low, self.value - ends[0] * self.standard_error),
                max(high, self.value - ends[1] * self.standard_error),
            )
        return float(low), float(high)

    def detectable(self, level: float = 0.99, power: float = 0.8) -> float:
        """Smallest true effect that a two-sided t test at `level` would tell from zero with this `power`.

        The effect is standard_error times the noncentrality at which a noncentral t variable exceeds the critical value
        with probability `power` (the far tail, below 1e-4 of it, is left out).
        """
        if not (0 < level < 1 and 0 < power < 1):
            raise UsageError(f"level and power lie between 0 and 1, not {level} and {power}")
        if math.isinf(self.standard_error) or self.standard_error == 0:
            return self.standard_error
        critical = special.stdtrit(self.df, (1 + level) / 2)
        return float(self.standard_error * special.nctdtrinc(self.df, 1 - power, critical))
