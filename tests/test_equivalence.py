"""Two one-sided tests: by hand, against scipy, and their size and power against theory."""

import math

import numpy as np
import pytest
from scipy import stats

from marslab.equivalence import equivalence
from marslab.errors import UsageError


def declared(truth, margin, seeds, alpha, repeats, method="t", seed=0):
    """Shares of 'inside' and 'outside' over synthetic repeats with unit normal spread."""
    generator = np.random.default_rng(seed)
    outcomes = [
        equivalence(sample, margin=margin, alpha=alpha, method=method, resamples=1000).outcome
        for sample in truth + generator.standard_normal((repeats, seeds))
    ]
    return outcomes.count("inside") / repeats, outcomes.count("outside") / repeats


def theory(truth, margin, seeds, alpha):
    """The same shares, integrating the normal mean over the law of the sample spread."""
    df, error = seeds - 1, 1 / math.sqrt(seeds)
    spread = np.sqrt(stats.chi2.ppf((np.arange(20_000) + 0.5) / 20_000, df) / df) * error
    reach = margin - stats.t.ppf(1 - alpha, df) * spread
    inside = np.where(reach > 0, stats.norm.cdf((reach - truth) / error) - stats.norm.cdf((-reach - truth) / error), 0)
    beyond = margin + stats.t.ppf(1 - alpha, df) * spread  # the far tail of the p value is below 1e-4 for these margins
    outside = stats.norm.sf((beyond - truth) / error) + stats.norm.cdf((-beyond - truth) / error)
    return inside.mean(), outside.mean()


@pytest.mark.parametrize("truth", [0.0, 0.4, 1.0, 1.6, 2.2])
def test_size_and_power_follow_theory(truth):
    repeats, alpha = 1500, 0.05
    seen, expected = declared(truth, 1.0, 12, alpha, repeats), theory(truth, 1.0, 12, alpha)
    for share, chance in zip(seen, expected, strict=True):
        assert abs(share - chance) < 4 * math.sqrt(max(chance * (1 - chance), 1 / repeats) / repeats)
    if truth == 1.0:  # the edge: both errors at most alpha
        assert max(expected) <= alpha + 1e-6


def test_bootstrap_follows_skewed_samples():
    """The truth lies on the margin's edge; t calls the mean of 16 exponentials too small far too often."""
    generator, wrong = np.random.default_rng(5), dict(t=0, bootstrap=0)
    for _ in range(600):
        sample = generator.exponential(size=16) - 1 + 0.5
        for method in wrong:
            wrong[method] += equivalence(sample, margin=0.5, alpha=0.01, method=method, resamples=1000).outcome == "inside"
    assert wrong["t"] > 20 and wrong["bootstrap"] < 0.6 * wrong["t"]


@pytest.mark.parametrize("paired", [True, False])
def test_bootstrap_size_with_normal_samples(paired):
    generator, wrong, repeats = np.random.default_rng(6), 0, 400
    for _ in range(repeats):
        a, b = generator.standard_normal((2, 12))
        wrong += (
            equivalence(a + 1, b, margin=1.0, alpha=0.05, method="bootstrap", resamples=500, paired=paired).outcome == "inside"
        )
    assert stats.binomtest(wrong, repeats, 0.05).pvalue > 1e-3, wrong


def test_paired_numbers_by_scipy():
    generator = np.random.default_rng(1)
    common = generator.standard_normal(20) * 5
    a, b = common + generator.standard_normal(20) * 0.1, common + generator.standard_normal(20) * 0.1
    result = equivalence(a, b, margin=0.2)
    low, high = (stats.ttest_1samp(a - b, edge, alternative=side).pvalue for edge, side in ((-0.2, "greater"), (0.2, "less")))
    assert result.p_inside == pytest.approx(max(low, high))
    assert result.interval == pytest.approx(tuple(stats.ttest_rel(a, b).confidence_interval(0.98)))
    assert result.interval_99 == pytest.approx(tuple(stats.ttest_rel(a, b).confidence_interval(0.99)))
    assert result.outcome == "inside" and result.samples == (20,)
    assert equivalence(a, b, margin=0.2, paired=False).outcome == "cannot tell"  # the pairing is what tells


def test_independent_samples_by_welch():
    generator = np.random.default_rng(2)
    a, b = generator.standard_normal(9), 3 * generator.standard_normal(17) + 4
    result, welch = equivalence(a, b, margin=(-1, 2), paired=False), stats.ttest_ind(a, b, equal_var=False)
    assert result.estimate == pytest.approx(a.mean() - b.mean())
    assert result.interval_99 == pytest.approx(tuple(welch.confidence_interval(0.99)))
    assert result.p_inside == pytest.approx(stats.ttest_ind(a + 1, b, equal_var=False, alternative="greater").pvalue)
    assert result.p_outside == pytest.approx(
        stats.ttest_ind(a + 1, b, equal_var=False, alternative="less").pvalue
        + stats.ttest_ind(a - 2, b, equal_var=False, alternative="less").pvalue
    )


def test_ratio_is_the_difference_of_logs():
    generator = np.random.default_rng(3)
    b = generator.lognormal(size=24)
    a = b * 1.02 * generator.lognormal(sigma=0.03, size=24)
    ratio, logs = equivalence(a, b, margin=1.1, scale="ratio"), equivalence(np.log(a), np.log(b), margin=math.log(1.1))
    assert ratio.estimate == pytest.approx(math.exp(logs.estimate)) and ratio.estimate == pytest.approx(1.02, abs=0.02)
    assert ratio.interval_99 == pytest.approx(np.exp(logs.interval_99))
    assert (ratio.p_inside, ratio.p_outside) == pytest.approx((logs.p_inside, logs.p_outside))
    assert ratio.margin == pytest.approx((1 / 1.1, 1.1)) and ratio.outcome == "inside"
    assert ratio.detectable == pytest.approx(math.exp(logs.detectable))


def test_smallest_detectable_effect_is_found_four_times_in_five():
    generator, seeds, seen = np.random.default_rng(4), 16, 0
    effect = 3.8508 / math.sqrt(seeds)  # noncentrality of the 99 % two-sided t test with 15 degrees of freedom, power 80 %
    for _ in range(1000):
        low, high = equivalence(effect + generator.standard_normal(seeds), margin=1.0).interval_99
        seen += not low <= 0 <= high
    assert abs(seen / 1000 - 0.8) < 4 * math.sqrt(0.8 * 0.2 / 1000)
    sample = generator.standard_normal(seeds)
    assert equivalence(sample, margin=1.0).detectable == pytest.approx(3.8508 * sample.std(ddof=1) / 4, rel=1e-4)


@pytest.mark.parametrize("method", ["t", "bootstrap"])
def test_no_spread_one_seed_and_diverged_lanes(method):
    still = equivalence(np.full(8, 0.1), margin=0.2, method=method)
    assert (still.p_inside, still.p_outside, still.detectable) == (0, 1, 0)
    assert equivalence(np.full(8, 0.3), margin=0.2, method=method).outcome == "outside"
    one = equivalence([0.1], margin=0.2, method=method)
    assert one.outcome == "cannot tell" and one.interval_99 == (-math.inf, math.inf)
    fine, lost = np.linspace(0, 1, 8), np.linspace(0, 1, 8)
    lost[2:5] = math.inf
    for a, b, estimate in ((lost, fine, math.inf), (fine, lost, -math.inf), (lost, lost, math.inf)):
        for paired in (True, False):
            result = equivalence(a, b, margin=0.2, method=method, paired=paired)
            assert (result.estimate, result.outcome) == (estimate, "cannot tell")
            assert result.diverged == (6 if a is b and not paired else 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(a=[1.0, math.nan]), "NaN"),
        (dict(a=[]), "one value a seed"),
        (dict(b=[1.0, 2.0]), "paired=False"),
        (dict(margin=-1), "margin -1"),
        (dict(margin=0), "margin 0"),
        (dict(margin=(1, 0)), "low < high"),
        (dict(margin=0.9, scale="ratio"), "factor above 1"),
        (dict(a=[1.0, 0.0, 2.0], margin=1.1, scale="ratio"), "positive values"),
        (dict(scale="rato"), "did you mean 'ratio'"),
        (dict(method="boot"), "method 'boot'"),
        (dict(alpha=0.6), "alpha"),
    ],
)
def test_bad_input_gets_one_sentence(change, message):
    with pytest.raises(UsageError, match=message) as caught:
        equivalence(**(dict(a=[1.0, 2.0, 3.0], margin=1.0) | change))
    assert "\n" not in str(caught.value)
