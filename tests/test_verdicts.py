"""The decision procedure: Holm by hand, false alarms and power on data of known truth, and what must never be averaged away."""

import math

import numpy as np
import pytest
from scipy import stats

from marslab.equivalence import equivalence
from marslab.errors import UsageError
from marslab.verdicts import CANNOT_TELL, FAILS, HOLDS, Measurement, decide, holm, judge


def verdict_of(samples, **claim):
    return decide([judge(Measurement.of(samples), **claim)])[0].verdict


def test_holm_by_hand():
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, then the running maximum
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.2, 0.2, 0.9]) == pytest.approx([0.6, 0.6, 0.9])
    assert holm([0.5, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([0.003]) == pytest.approx([0.003]) and len(holm([])) == 0
    with pytest.raises(UsageError, match="between 0 and 1"):
        holm([0.1, math.nan])


def test_holm_is_the_step_down_procedure():
    generator = np.random.default_rng(0)
    for _ in range(200):
        p_values = generator.beta(0.3, 3, size=9)
        rejected = np.zeros(9, dtype=bool)
        for rank, index in enumerate(np.argsort(p_values)):  # Holm's own wording: stop at the first p above alpha / (m - k)
            if p_values[index] > 0.05 / (9 - rank):
                break
            rejected[index] = True
        assert ((holm(p_values) <= 0.05) == rejected).all()


SEEDS, MARGIN = 16, 1.0


def family(truths, generator, **claim):
    """Verdicts of one family of rows with unit normal spread, one row a truth."""
    samples = np.asarray(truths)[:, None] + generator.standard_normal((len(truths), SEEDS))
    return [row.verdict for row in decide([judge(Measurement.of(row, resamples=0), margin=MARGIN, **claim) for row in samples])]


@pytest.mark.parametrize(
    ("truths", "wrong"),
    [
        ([1.0] * 8, FAILS),  # on the edge the claims hold
        ([1.0 + 1e-9] * 8, HOLDS),  # just beyond it they do not
        ([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0], FAILS),  # half of them easily decided, so Holm's later steps are used
        ([5.0, 5.0, 5.0, 5.0, 1.0 + 1e-9, 1.0 + 1e-9, 1.0 + 1e-9, 1.0 + 1e-9], HOLDS),
    ],
)
def test_false_alarms_in_a_family_stay_below_one_percent(truths, wrong):
    generator, repeats = np.random.default_rng(8), 1000
    alarms = sum(wrong in family(truths, generator) for _ in range(repeats))
    assert stats.binomtest(alarms, repeats, 0.01, alternative="greater").pvalue > 1e-3, alarms


def test_false_alarms_of_mixed_directions():
    generator, repeats, alarms = np.random.default_rng(9), 1000, 0
    for _ in range(repeats):
        verdicts = family([1.0, 1.0, 1.0, 1 + 1e-9, 1 + 1e-9, 1 + 1e-9], generator)
        alarms += FAILS in verdicts[:3] or HOLDS in verdicts[3:]
    assert stats.binomtest(alarms, repeats, 0.01, alternative="greater").pvalue > 1e-3, alarms


@pytest.mark.parametrize("truth", [0.0, 0.5, 1.5, 2.0])
def test_power_of_one_row_is_as_computed(truth):
    df, error, repeats = SEEDS - 1, 1 / math.sqrt(SEEDS), 1000
    spread = np.sqrt(stats.chi2.ppf((np.arange(20_000) + 0.5) / 20_000, df) / df) * error
    reach = MARGIN - stats.t.ppf(0.99, df) * spread
    holds = np.where(reach > 0, stats.norm.cdf((reach - truth) / error) - stats.norm.cdf((-reach - truth) / error), 0).mean()
    beyond = MARGIN + stats.t.ppf(0.99, df) * spread
    fails = (stats.norm.sf((beyond - truth) / error) + stats.norm.cdf((-beyond - truth) / error)).mean()
    generator = np.random.default_rng(10)
    seen = [family([truth], generator)[0] for _ in range(repeats)]
    for share, chance in ((seen.count(HOLDS) / repeats, holds), (seen.count(FAILS) / repeats, fails)):
        assert abs(share - chance) < 4 * math.sqrt(max(chance * (1 - chance), 1 / repeats) / repeats)


def test_judge_agrees_with_the_equivalence_test():
    sample = np.random.default_rng(1).standard_normal(24) + 0.2
    row, test = judge(Measurement.of(sample), margin=0.9), equivalence(sample, margin=0.9, method="bootstrap")
    assert (row.p_holds, row.p_fails) == pytest.approx((test.p_inside, test.p_outside))
    assert (row.low, row.high) == pytest.approx(test.interval_99)
    assert row.detectable == pytest.approx(test.detectable)


def test_sides_of_a_claim():
    noise = np.random.default_rng(2).standard_normal(32)
    below = Measurement.between(noise + 1.0, noise + 1.5 + 0.01 * np.random.default_rng(3).standard_normal(32))
    assert decide([judge(below, side="below")])[0].verdict == HOLDS
    assert decide([judge(below, side="below", margin=0.4)])[0].verdict == HOLDS
    assert decide([judge(below, side="below", margin=0.6)])[0].verdict == FAILS  # below, but by less than the margin
    assert decide([judge(below, side="below", margin=0.5)])[0].verdict == CANNOT_TELL
    assert decide([judge(below, side="above")])[0].verdict == FAILS
    assert decide([judge(below, side="within", predicted=-0.5, margin=0.05)])[0].verdict == HOLDS


def test_known_standard_error_has_normal_tails():
    row = judge(Measurement(2.0, 0.5), predicted=1.0, margin=0.25)
    assert row.p_fails == pytest.approx(stats.norm.sf(1.5) + stats.norm.sf(2.5))
    assert row.high - 2.0 == pytest.approx(0.5 * stats.norm.ppf(0.995))


def test_replicates_of_a_median():
    data = np.random.default_rng(4).standard_normal((64, 3)) + 1
    measured = Measurement.resampled(lambda sample: np.median(sample.mean(axis=1)), data, resamples=2000)
    verdict = decide([judge(measured, predicted=1.0, margin=0.5, name="median")])[0]
    assert (verdict.verdict, verdict.name) == (HOLDS, "median") and "shown to lie in" in verdict.reason
    assert decide([judge(measured, predicted=2.5, margin=0.5)])[0].verdict == FAILS


def test_cannot_tell_says_why():
    wide = decide([judge(Measurement.of(np.random.default_rng(5).standard_normal(8)), margin=0.1)])[0]
    assert wide.verdict == CANNOT_TELL and "exceeds the margin 0.1" in wide.reason
    edge = decide([judge(Measurement.of(1.0 + 0.1 * np.random.default_rng(6).standard_normal(16)), margin=1.0)])[0]
    assert edge.verdict == CANNOT_TELL and "lies across an end of [-1, 1]" in edge.reason


def test_deterministic_rows_stay_out_of_the_family():
    random = judge(Measurement(0.0, 0.4), margin=1.5)
    exact = [judge(Measurement(1.0 + 1e-12, kind="exact"), predicted=1.0, margin=1e-9) for _ in range(50)]
    symbolic = judge(Measurement(0.5, kind="symbolic"), predicted=0.0)
    alone, *rest, last = decide([random, *exact, symbolic])
    assert alone == decide([random])[0] and alone.verdict == HOLDS
    assert {row.verdict for row in rest} == {HOLDS} and last.verdict == FAILS and last.p is None
    assert decide([judge(Measurement(0.0, kind="symbolic"))])[0].verdict == HOLDS


def test_holm_over_the_family_can_undo_a_lone_verdict():
    row, doubtful = judge(Measurement(0.0, 0.4), margin=1.0), judge(Measurement(1.0, 0.4), margin=1.0)
    assert row.p_holds == pytest.approx(stats.norm.sf(2.5))
    assert decide([row])[0].verdict == HOLDS
    joint = decide([doubtful, row])
    assert [verdict.verdict for verdict in joint] == [CANNOT_TELL, CANNOT_TELL]
    assert joint[1].p == pytest.approx(2 * stats.norm.sf(2.5))


def test_no_spread_and_one_seed():
    assert verdict_of(np.full(8, 0.5), margin=1.0) == HOLDS
    assert verdict_of(np.full(8, 1.5), margin=1.0) == FAILS
    single = decide([judge(Measurement.of([0.0]), margin=1.0)])[0]
    assert single.verdict == CANNOT_TELL and "one seed" in single.reason


def test_diverged_lanes_are_never_averaged_away():
    samples = np.random.default_rng(7).standard_normal(64) * 0.01
    assert verdict_of(samples, margin=1.0) == HOLDS
    samples[[3, 5, 9]] = math.inf
    verdict = decide([judge(Measurement.of(samples), margin=1.0)])[0]
    assert verdict.verdict == CANNOT_TELL and "3 of 64 lanes diverged" in verdict.reason
    everywhere = np.full(64, math.inf)
    assert verdict_of(everywhere, margin=1.0) == FAILS
    assert verdict_of(everywhere, side="below") == FAILS
    assert verdict_of(everywhere, side="above") == CANNOT_TELL
    finite = np.zeros(64)
    assert decide([judge(Measurement.between(everywhere, finite), side="below")])[0].verdict == FAILS
    assert decide([judge(Measurement.between(finite, everywhere), side="below")])[0].verdict == CANNOT_TELL
    both = Measurement.between(everywhere, everywhere)
    assert both.diverged == 64 and decide([judge(both, margin=1.0)])[0].verdict == FAILS
    mean = Measurement.resampled(np.mean, samples, resamples=200)
    assert mean.diverged == 3 and decide([judge(mean, margin=1.0)])[0].verdict == CANNOT_TELL
    median = Measurement.resampled(np.median, samples, resamples=500)  # an order statistic counts them as the largest
    assert "3 of 64 lanes diverged" in decide([judge(median, margin=1.0)])[0].reason


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Measurement.of([1.0, math.nan]), "NaN"),
        (lambda: Measurement(math.nan, 1.0), "NaN"),
        (lambda: Measurement(1.0, -1.0), "standard error"),
        (lambda: Measurement(1.0), "needs a standard_error"),
        (lambda: Measurement(1.0, 1.0, kind="exakt"), "did you mean 'exact'"),
        (lambda: Measurement.of([]), "one value a seed"),
        (lambda: Measurement.between([1.0], [1.0, 2.0]), "same seeds"),
        (lambda: Measurement.resampled(lambda sample: math.nan, [1.0, 2.0], resamples=20), "NaN"),
        (lambda: judge(Measurement(1.0, 1.0), side="under"), "unknown side"),
        (lambda: judge(Measurement(1.0, 1.0)), "exact equality"),
        (lambda: judge(Measurement(1.0, 1.0), margin=-1), "margin of at least 0"),
        (lambda: judge(Measurement(1.0, 1.0), predicted=math.nan, margin=1), "finite prediction"),
        (lambda: decide([], alpha=2), "alpha"),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
