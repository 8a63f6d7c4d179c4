"""Bootstrap, tails and the smallest detectable effect against independent computations."""

import math

import numpy as np
import pytest
from scipy import stats

from marslab.errors import UsageError
from marslab.intervals import Estimate, bootstrap, seed_counts, studentised


def test_counts_draw_every_seed_equally_often():
    counts = seed_counts(8, 4000, seed=1)
    assert (counts.sum(axis=1) == 8).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(8), abs=0.08)
    assert counts.var() == pytest.approx(1 - 1 / 8, rel=0.05)


def test_bootstrap_resamples_whole_seeds():
    data = np.random.default_rng(0).standard_normal((12, 3))
    means = bootstrap(lambda sample: sample.mean(axis=0), data, resamples=4000, seed=2)
    assert means.shape == (4000, 3)
    assert means.std(axis=0) == pytest.approx(data.std(axis=0) / math.sqrt(12), rel=0.06)
    assert means == pytest.approx(seed_counts(12, 4000, 2) @ data / 12)
    with pytest.raises(UsageError, match="NaN"):
        bootstrap(np.mean, [1.0, math.nan])


def test_bootstrap_keeps_infinite_lanes():
    replicates = bootstrap(np.ptp, [1.0, math.inf, math.inf], resamples=200)
    assert not np.isnan(replicates).any() and np.isinf(replicates).any()


@pytest.mark.parametrize("df", [1, 7.5, 63, math.inf])
def test_t_tails_and_interval(df):
    law = stats.t(df) if math.isfinite(df) else stats.norm
    estimate = Estimate(2.0, 0.5, df)
    assert estimate.above(1.2) == pytest.approx(law.sf(1.6))
    assert estimate.below(2.9) == pytest.approx(law.cdf(-1.8))
    assert estimate.interval(0.99) == pytest.approx((2 - 0.5 * law.ppf(0.995), 2 + 0.5 * law.ppf(0.995)))
    assert estimate.inside(1.0, 2.6) == pytest.approx(law.sf(1.2))
    assert estimate.outside(-1.0, 1.0) == pytest.approx(law.sf(2.0) + law.sf(6.0))
    assert estimate.outside(-math.inf, 1.0) == pytest.approx(law.sf(2.0))


@pytest.mark.parametrize("df", [3, 15, 63, math.inf])
def test_detectable_effect_has_the_stated_power(df):
    effect = Estimate(0.0, 2.0, df).detectable(0.99, 0.8)
    shares = (np.arange(100_000) + 0.5) / 100_000  # independent: normal power averaged over the law of the spread
    spread = np.sqrt(stats.chi2.ppf(shares, df) / df) if math.isfinite(df) else np.ones(1)
    critical = (stats.t.ppf(0.995, df) if math.isfinite(df) else stats.norm.ppf(0.995)) * spread
    power = (stats.norm.sf(critical - effect / 2) + stats.norm.cdf(-critical - effect / 2)).mean()
    assert power == pytest.approx(0.8, abs=1e-4)


def test_p_values_and_intervals_agree():
    data = np.random.default_rng(4).exponential(size=12)
    replicates = bootstrap(np.mean, data, resamples=20_000)
    estimate = Estimate.of_replicates(data.mean(), replicates, 12)
    assert estimate.standard_error == pytest.approx(data.std(ddof=1) / math.sqrt(12), rel=0.03)
    low, high = estimate.interval(0.98)
    assert estimate.above(low) == pytest.approx(0.01, rel=0.05)
    assert estimate.below(high) == pytest.approx(0.01, rel=0.05)
    plain = Estimate(estimate.value, estimate.standard_error, 11).interval(0.98)
    assert low <= plain[0] and high >= plain[1]


def test_few_seeds_and_skewed_samples_are_covered():
    generator, misses = np.random.default_rng(6), 0
    counts = seed_counts(8, 2000, 0)
    for _ in range(1000):
        data = generator.chisquare(4, 8)
        low, high = Estimate.of_replicates(data.mean(), counts @ data / 8, 8).interval(0.95)
        misses += not low <= 4 <= high
    assert stats.binomtest(misses, 1000, 0.055).pvalue > 1e-3, misses


def test_what_is_not_known():
    one = Estimate.of_replicates(1.0, np.ones(100), seeds=1)
    assert one.interval() == (-math.inf, math.inf) and one.detectable() == math.inf
    assert one.inside(0, 2) == 0.5 and one.outside(5, 6) == 1.0
    infinite = Estimate(math.inf, math.inf)
    assert infinite.interval() == (-math.inf, math.inf) and infinite.inside(-1, 1) == infinite.outside(-1, 1) == 1.0
    with pytest.raises(UsageError, match="NaN"):
        Estimate(math.nan, 1.0)
    with pytest.raises(UsageError, match="level"):
        Estimate(0.0, 1.0).interval(99)


def test_no_spread_is_judged_as_it_stands():
    still = Estimate.of_replicates(1.0, np.ones(100), seeds=8)
    assert still.interval() == (1.0, 1.0) and still.detectable() == 0
    assert (still.inside(0, 1), still.outside(0, 1), still.inside(2, 3), still.outside(2, 3)) == (0, 1, 1, 0)


def test_studentised_bootstrap_by_a_loop():
    data = np.random.default_rng(7).exponential(size=6)
    fast, slow = studentised([data], 300, seed=5), []
    counts = seed_counts(6, 300, np.random.SeedSequence(5).spawn(2)[0])
    for row in counts:
        drawn = data.repeat(row)
        slow.append((drawn.mean() - data.mean()) / (drawn.std(ddof=1) / math.sqrt(6)))
    assert fast == pytest.approx(np.array(slow))


def test_studentised_bootstrap_in_few_seeds_tells_nothing():
    replicates = studentised([np.array([1.0, 2.0, 3.0])], 2000)
    assert np.isinf(replicates).mean() == pytest.approx(1 / 9, abs=0.03)
    assert Estimate.of_means([np.array([1.0, 2.0, 3.0])], 2000).interval() == (-math.inf, math.inf)


def test_studentised_p_values_and_interval_agree():
    data = np.random.default_rng(8).exponential(size=20)
    estimate = Estimate.of_means([data], 20_000)
    low, high = estimate.interval(0.98)
    assert estimate.below(high) == pytest.approx(0.01, rel=0.02)
    assert estimate.above(low) == pytest.approx(0.01, rel=0.02)
    assert high - data.mean() > data.mean() - low  # the long tail lies above
