"""From a measurement to HOLDS, FAILS or CANNOT TELL: the decision procedure of the ledger.

A claim states an allowed range before it measures. `judge` gives two p values for it: `p_holds`, small when the measurement
shows that the truth lies in the range, and `p_fails`, small when it shows that the truth lies outside. The two
hypotheses of a row are complementary, so a row has exactly one true null and its two p values cannot both be small:
Holm's step-down over the smaller p value of every stochastic row therefore bounds the chance of any false verdict in
the family by alpha (exactly for one row, and for independent rows by Shaffer's 1980 result for directional decisions).
Symbolic and exact rows have no chance in them: they are judged on their own and stay out of the family.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from marslab.errors import UsageError, unknown
from marslab.intervals import Estimate, bootstrap

__all__ = ["CANNOT_TELL", "FAILS", "HOLDS", "Judgement", "Measurement", "Verdict", "decide", "holm", "judge"]

HOLDS, FAILS, CANNOT_TELL = "HOLDS", "FAILS", "CANNOT TELL"
DETERMINISTIC = ("symbolic", "exact")
KINDS = (*DETERMINISTIC, "Monte Carlo", "empirical")
SIDES = ("within", "below", "above")


@dataclass(frozen=True, eq=False)
class Measurement:
    """A number, what is known of its error, and how it was got.

    `standard_error`: of the estimate, or None to take it from `replicates` (bootstrap replicates of the estimate, see
    marslab.intervals, also for `studentised`); `seeds`: independent seeds behind it, None when the standard error is
    known exactly (normal tails); `diverged`: seeds that diverged; `level`: of the interval; `kind`: one of KINDS. A
    symbolic or exact measurement has no error. An infinite estimate (a diverged lane) is allowed, NaN is refused with a
    UsageError.
    """

    estimate: float
    standard_error: float | None = None
    replicates: np.ndarray | None = None
    seeds: int | None = None
    kind: str = "Monte Carlo"
    level: float = 0.99
    diverged: int = 0
    studentised: np.ndarray | None = None

    def __post_init__(self):
        if self.kind not in KINDS:
            raise unknown("kind", self.kind, KINDS)
        if not self.deterministic and self.standard_error is None and (self.replicates is None or self.seeds is None):
            raise UsageError(
                f"a measurement of kind {self.kind!r} needs a standard_error, or replicates with the number of seeds"
            )
        self.error  # noqa: B018  refuses NaN and negative errors at once

    @classmethod
    def of(cls, samples, *, resamples=10_000, seed=0, **fields) -> Measurement:
        """Mean over seeds of `samples`, shape (seeds,); infinite samples (diverged lanes) make it infinite.

        The tails are those of t and of the studentised bootstrap together; `resamples=0` takes t alone (normal samples).
        """
        samples = _checked(samples)
        mean = Estimate.of_means([samples], resamples, seed)
        known = dict(standard_error=mean.standard_error, studentised=mean.studentised)
        return cls(mean.value, **known, seeds=len(samples), diverged=int(np.isinf(samples).sum()), **fields)

    @classmethod
    def between(cls, a, b, **options) -> Measurement:
        """Mean of the paired differences a - b, both of shape (seeds,); lanes where either diverged are counted."""
        a, b = _checked(a), _checked(b)
        if len(a) != len(b):
            raise UsageError(f"a has {len(a)} seeds and b {len(b)}; paired differences need the same seeds")
        with np.errstate(invalid="ignore"):
            difference = a - b
        return cls.of(np.where(np.isnan(difference), np.inf, difference), **options)

    @classmethod
    def resampled(cls, statistic: Callable, data, *, resamples=10_000, seed=0, **fields) -> Measurement:
        """Any statistic of `data`, shape (seeds, ...), with its bootstrap over whole seeds."""
        data = _checked(data, dimensions=None)
        diverged = int(np.isinf(data.reshape(len(data), -1)).any(axis=1).sum())
        with np.errstate(invalid="ignore"):
            estimate = float(statistic(data))
        estimate = math.inf if diverged and math.isnan(estimate) else estimate
        replicates = bootstrap(statistic, data, resamples=resamples, seed=seed)
        return cls(estimate, replicates=replicates, seeds=len(data), diverged=diverged, **fields)

    @property
    def deterministic(self) -> bool:
        """Whether the number has no chance in it (kinds 'symbolic' and 'exact')."""
        return self.kind in DETERMINISTIC

    @property
    def error(self) -> Estimate:
        """The estimate with its tails, see `marslab.intervals.Estimate`."""
        if self.deterministic:
            return Estimate(float(self.estimate), 0.0)
        if self.standard_error is None:
            return Estimate.of_replicates(self.estimate, self.replicates, self.seeds)
        df = math.inf if self.seeds is None else max(self.seeds - 1, 1)
        one = self.seeds is not None and self.seeds < 2
        return Estimate(
            float(self.estimate), math.inf if one else float(self.standard_error), df, self.replicates, self.studentised
        )


@dataclass(frozen=True, eq=False)
class Judgement:
    """A measurement against its allowed range [lower, upper]; see `judge`. `low` and `high` end the interval at `level`."""

    measurement: Measurement
    lower: float
    upper: float
    margin: float
    p_holds: float
    p_fails: float
    low: float
    high: float
    level: float
    detectable: float
    name: str = ""


@dataclass(frozen=True)
class Verdict:
    """HOLDS, FAILS or CANNOT TELL, with the adjusted p value behind it (None for a deterministic row) and one reason."""

    verdict: str
    p: float | None
    reason: str
    name: str = ""


def judge(measurement: Measurement, *, predicted=0.0, margin=0.0, side="within", power=0.8, name="") -> Judgement:
    """Hold a measurement against a claim: which range may the truth lie in, and what does the measurement say of it?

    `side`: 'within' claims |truth - predicted| <= margin, 'below' claims truth <= predicted - margin ('a below b by at
    least the margin', measured a - b, predicted 0) and 'above' truth >= predicted + margin. `detectable` is the
    smallest true effect told from zero with `power` at the measurement's level. Diverged lanes are never averaged away:
    where they make the estimate infinite, all lanes going the wrong way count as shown to fail, anything else shows
    nothing.
    """
    lower, upper = _range(measurement, float(predicted), float(margin), side)
    error = measurement.error
    p_holds, p_fails = error.inside(lower, upper), error.outside(lower, upper)
    if math.isinf(error.value):
        p_holds, p_fails = _infinite_case(measurement, lower <= error.value <= upper)
    low, high = error.interval(measurement.level)
    detectable = error.detectable(measurement.level, power)
    return Judgement(measurement, lower, upper, float(margin), p_holds, p_fails, low, high, measurement.level, detectable, name)


def holm(p_values) -> np.ndarray:
    """Holm's step-down adjusted p values, in the order given: max over j <= i of (m - j + 1) p_(j), at most 1.

    Rejecting where the adjusted value is at most alpha bounds the chance of any false rejection by alpha (Holm 1979).
    """
    p_values = np.asarray(p_values, dtype=float)
    if p_values.ndim != 1 or not ((p_values >= 0) & (p_values <= 1)).all():
        raise UsageError(f"p values are a list of numbers between 0 and 1, not {p_values}")
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def decide(rows: Iterable[Judgement], alpha: float = 0.01) -> list[Verdict]:
    """Verdicts of a family of rows, in their order, with at most `alpha` chance of any false one.

    Holm's correction runs over the stochastic rows (kinds 'Monte Carlo' and 'empirical'); the others are judged alone.
    """
    rows = list(rows)
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha lies between 0 and 0.5, for example 0.01, not {alpha}")
    family = [index for index, row in enumerate(rows) if not row.measurement.deterministic]
    adjusted = holm([min(rows[index].p_holds, rows[index].p_fails) for index in family])
    p_values = dict(zip(family, adjusted.tolist(), strict=True))
    return [_verdict(row, p_values.get(index), alpha, len(family)) for index, row in enumerate(rows)]


def _verdict(row: Judgement, p: float | None, alpha: float, family: int) -> Verdict:
    toward = HOLDS if row.p_holds < row.p_fails else FAILS
    claim = f"[{row.lower:.4g}, {row.upper:.4g}]"
    if p is None:
        reason = f"{row.measurement.estimate:.6g} lies {'in' if toward == HOLDS else 'outside'} {claim}"
        return Verdict(toward, None, reason, row.name)
    if p > alpha:
        return Verdict(CANNOT_TELL, p, _doubt(row, claim) + _lanes(row), row.name)
    rest = f"p = {p:.2g} after Holm over {family} rows" if family > 1 else f"p = {p:.2g}"
    return Verdict(toward, p, f"shown to lie {'in' if toward == HOLDS else 'outside'} {claim}, {rest}{_lanes(row)}", row.name)


def _doubt(row: Judgement, claim: str) -> str:
    if math.isinf(row.measurement.estimate):
        return "the estimate is infinite"
    if row.measurement.seeds == 1:
        return "one seed has no spread to judge by"
    if row.detectable > row.margin:
        return f"the smallest effect this run could see, {row.detectable:.2g}, exceeds the margin {row.margin:.2g}"
    return f"the interval [{row.low:.4g}, {row.high:.4g}] lies across an end of {claim}"


def _lanes(row: Judgement) -> str:
    lost = row.measurement.diverged
    return f"; {lost} of {row.measurement.seeds} lanes diverged" if lost else ""


def _range(measurement, predicted, margin, side) -> tuple[float, float]:
    if side not in SIDES:
        raise unknown("side", side, SIDES)
    if not (math.isfinite(predicted) and math.isfinite(margin) and margin >= 0):
        raise UsageError(f"a claim needs a finite prediction and a margin of at least 0, not {predicted} and {margin}")
    if side == "within" and margin == 0 and not measurement.deterministic:
        raise UsageError("a sample can never show an exact equality; give a margin above 0")
    if side == "within":
        return predicted - margin, predicted + margin
    return (-math.inf, predicted - margin) if side == "below" else (predicted + margin, math.inf)


def _infinite_case(measurement: Measurement, allowed: bool) -> tuple[float, float]:
    if measurement.deterministic:
        return float(not allowed), float(allowed)
    every_lane = measurement.seeds is not None and measurement.diverged == measurement.seeds
    return 1.0, 0.0 if every_lane and not allowed else 1.0


def _checked(samples, dimensions=1) -> np.ndarray:
    samples = np.asarray(samples, dtype=float)
    if samples.ndim == 0 or samples.size == 0 or (dimensions and samples.ndim != dimensions):
        raise UsageError(f"samples must hold one value a seed, shape (seeds,), not {samples.shape}")
    if np.isnan(samples).any():
        raise UsageError("the samples hold NaN; record +inf from a divergence on, never NaN")
    return samples
