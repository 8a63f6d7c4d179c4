"""Exponents against curves whose exponent is known, and the interval against its nominal coverage."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from marslab.errors import UsageError
from marslab.rates import CANDIDATES, fit, local_slopes, root_mean_square, verdict

STEPS = np.unique(np.geomspace(2, 1e6, 300).astype(int))
WINDOW = (1e4, 1e6)


def noisy(seeds, exponent, generator, points=24, coordinates=5, memory=0.6):
    """A power law times the root of a mean of squared AR(1) Gaussians, independent over seeds: r(t) is exactly t^exponent."""
    steps = np.geomspace(1e2, 1e4, points)
    normals = np.empty((seeds, points, coordinates))
    normals[:, 0] = generator.standard_normal((seeds, coordinates))
    for k in range(1, points):
        fresh = generator.standard_normal((seeds, coordinates))
        normals[:, k] = memory * normals[:, k - 1] + np.sqrt(1 - memory**2) * fresh
    return steps, steps**exponent * np.sqrt((normals**2).mean(axis=2))


@pytest.mark.parametrize("exponent", CANDIDATES)
def test_power_law_is_named(exponent):
    result = fit(STEPS, 7.0 * STEPS ** float(exponent), WINDOW)
    assert result.slope == pytest.approx(float(exponent), abs=1e-12)
    assert result.low == result.high == result.slope
    assert result.drift == pytest.approx(0, abs=1e-12)
    assert verdict(result) == str(exponent)


def test_slope_is_least_squares_on_log_spaced_points():
    steps = np.geomspace(10, 1e5, 60)
    values = steps**-0.4 * (1 + 0.3 * np.sin(np.log(steps)))
    independent = stats.linregress(np.log(steps), np.log(values)).slope
    assert fit(steps, values, (10, 1e5)).slope == pytest.approx(independent, abs=1e-12)


def test_recording_grid_hardly_matters():
    dense, sparse = np.arange(1, 20_001), np.unique(np.geomspace(1, 20_000, 120).astype(int))
    curve = lambda t: t**-0.5 + 0.05 * t ** (-1 / 6)
    slopes = [fit(t, curve(t.astype(float)), (200, 20_000)).slope for t in (dense, sparse)]
    assert slopes[0] == pytest.approx(slopes[1], abs=2e-3)
    assert fit(dense, curve(dense.astype(float)), (200, 20_000)).points <= 200


def test_every_step_weighs_its_stretch_of_log_t():
    """A short curve recorded at every step gives the slope of log-spaced points, not that of its crowded end."""
    steps, even = np.arange(20.0, 200.0), np.geomspace(20, 199, 2000)
    curve = lambda t: 1 / t + 0.02
    log_spaced = stats.linregress(np.log(even), np.log(curve(even))).slope
    crowded = stats.linregress(np.log(steps), np.log(curve(steps))).slope
    assert abs(crowded - log_spaced) > 0.04 - 1e-4
    assert fit(steps, curve(steps), (20, 199)).slope == pytest.approx(log_spaced, abs=4e-3)


def test_log_factor_is_divided_out():
    values = np.sqrt(np.log(STEPS)) * STEPS ** (-1 / 3)
    plain, fixed, free = (fit(STEPS, values, WINDOW, log_power=q) for q in (0, 0.5, "free"))
    middle = np.log(np.sqrt(1e4 * 1e6))
    assert plain.slope == pytest.approx(-1 / 3 + 0.5 / middle, abs=2e-3)  # the local slope is p + q / log t
    assert plain.drift == pytest.approx(0.5 / np.log(1e6) - 0.5 / np.log(1e4), abs=1e-3)
    assert fixed.slope == pytest.approx(-1 / 3, abs=1e-10) and fixed.drift == pytest.approx(0, abs=1e-10)
    assert free.slope == pytest.approx(-1 / 3, abs=1e-8) and free.log_power == pytest.approx(0.5, abs=1e-7)
    assert (verdict(plain), verdict(fixed), verdict(free)) == ("none of these", "-1/3", "-1/3")


def test_two_powers_are_not_yet_asymptotic():
    result = fit(STEPS, STEPS**-0.5 + 0.05 * STEPS ** (-1 / 6), WINDOW)
    assert result.drift > 0.05 and not result.floor
    assert verdict(result) == "not yet asymptotic"
    assert verdict(result, drift=0.5) == "none of these"


def test_theorem_schedule_at_finite_steps():
    """Quasi-static law P = (sigma^2 / 2) / (1 / (eta lambda) + gamma / (c eta^2)): slope -0.263, still drifting."""
    eta = (190.0 + STEPS) ** (-1 / 3)
    square = 0.5 / (1 / eta + 1 / (33 * eta**2))
    result = fit(STEPS, np.sqrt(square), WINDOW)
    assert result.slope == pytest.approx(-0.263, abs=5e-4)
    local = lambda t: -(1 + (t + 190) ** (1 / 3) / 33 / (1 + (t + 190) ** (1 / 3) / 33)) / 6 * t / (t + 190)
    steps, slopes = local_slopes(STEPS, np.sqrt(square))
    assert np.abs(slopes - local(steps))[steps > 1e3].max() < 2e-3
    assert result.drift == pytest.approx(local(1e6) - local(1e4), abs=6e-3)
    assert verdict(result) == "not yet asymptotic"


@pytest.mark.parametrize("level", [0.1, 1.0])
def test_floor_is_seen(level):
    generator = np.random.default_rng(3)
    exact = STEPS ** (-1 / 3) + level
    assert fit(STEPS, exact, WINDOW).floor
    sampled = exact * np.sqrt(generator.chisquare(20, (64, len(STEPS))) / 20)
    assert verdict(fit(STEPS, sampled, WINDOW)) == "floor"
    assert not fit(STEPS, STEPS ** (-1 / 6), WINDOW).floor


def test_growth_is_no_floor():
    assert verdict(fit(STEPS, STEPS**0.3, WINDOW)) == "none of these"


@pytest.mark.parametrize(
    ("level", "seeds", "repeats", "resamples"), [(0.9, 16, 400, 500), (0.9, 64, 400, 500), (0.99, 16, 400, 2000)]
)
def test_coverage(level, seeds, repeats, resamples):
    generator = np.random.default_rng(11)
    misses = 0
    for _ in range(repeats):
        steps, values = noisy(seeds, -1 / 3, generator)
        result = fit(steps, values, (100, 1e4), level=level, resamples=resamples)
        misses += not result.low <= -1 / 3 <= result.high
    assert stats.binomtest(misses, repeats, 1 - level).pvalue > 1e-3, misses


@pytest.mark.parametrize("exponent", [-7 / 24, -0.3])
def test_wrong_candidate_is_hardly_ever_named(exponent):
    """-7/24 lies between -1/3 and -1/4, at the edge of both margins; -0.3 lies inside that of -1/3 only."""
    generator = np.random.default_rng(12)
    wrong = 0
    for _ in range(150):
        steps, values = noisy(64, exponent, generator)
        named = verdict(fit(steps, values, (100, 1e4), resamples=1000), margin=1 / 24)
        wrong += named in ("-1/2", "-1/4", "-1/6") or (exponent == -7 / 24 and named == "-1/3")
    assert wrong <= 6  # at most 1 % at each of the two edges; P(more than 6 of 150 at 2 %) is below 0.04


def test_steady_noisy_power_law_is_named():
    generator = np.random.default_rng(13)
    curves = [noisy(64, -1 / 3, generator) for _ in range(100)]
    names = [verdict(fit(*curve, (100, 1e4), resamples=1000), margin=1 / 24) for curve in curves]
    assert names.count("-1/3") > 90


def test_noisy_curve_with_a_small_margin_cannot_tell():
    steps, values = noisy(16, -1 / 3, np.random.default_rng(1))
    result = fit(steps, values, (100, 1e4))
    assert result.low < -1 / 3 < result.high and verdict(result, margin=0.005) == "cannot tell"


def test_mean_over_seeds_is_taken_before_the_log():
    values = np.stack([2 * STEPS**-0.5, np.zeros(len(STEPS))])
    result = fit(STEPS, values, WINDOW)  # the zero seed counts in the mean, and half of the resamples might hold only zeros
    assert root_mean_square(values) == pytest.approx(np.sqrt(2) * STEPS**-0.5)
    assert result.slope == pytest.approx(-0.5) and (result.low, result.high) == (-np.inf, np.inf)
    assert verdict(result) == "cannot tell"


def test_one_seed_has_an_endless_interval():
    result = fit(STEPS, STEPS[None] ** (-1 / 3), WINDOW)
    assert (result.low, result.high, verdict(result)) == (-np.inf, np.inf, "cannot tell")


def test_identical_seeds_have_no_width():
    result = fit(STEPS, np.tile(STEPS**-0.25, (8, 1)), WINDOW)
    assert result.high - result.low < 1e-9 and verdict(result) == "-1/4"


@pytest.mark.parametrize("lost", [1, 64])
def test_diverged_seeds_are_counted_and_never_dropped(lost):
    values = np.tile(STEPS**-0.25, (64, 1))
    values[:lost, STEPS > 3e5] = np.inf
    result = fit(STEPS, values, WINDOW)
    assert (result.diverged, result.slope, verdict(result)) == (lost, np.inf, "diverged")
    assert np.isinf(local_slopes(STEPS, values)[1][-1])
    assert fit(STEPS, values, (1e3, 1e5)).diverged == 0  # before the divergence the window is whole


def test_huge_and_tiny_norms_do_not_overflow():
    for scale in (1e250, 1e-250):
        assert fit(STEPS, scale * np.tile(STEPS**-0.5, (4, 1)), WINDOW).slope == pytest.approx(-0.5)


def test_same_seed_same_interval():
    steps, values = noisy(16, -1 / 3, np.random.default_rng(1))
    first, again, other = (fit(steps, values, (100, 1e4), seed=s) for s in (0, 0, 1))
    assert first == again and first.slope == other.slope and first.low != other.low


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(values=np.full(STEPS.shape, np.nan)), "NaN"),
        (dict(values=-np.ones(STEPS.shape)), "negative"),
        (dict(values=np.ones(3)), "do not fit"),
        (dict(values=np.where(STEPS > 5e5, 0.0, 1.0)), "exactly zero at step 5"),
        (dict(window=(1e4, 2e6)), "inside the recorded steps"),
        (dict(window=(1e5, 1e4)), "inside the recorded steps"),
        (dict(window=(9e5, 1e6)), "of 8 needed"),
        (dict(steps=STEPS[::-1]), "increase"),
        (dict(level=1.0), "level"),
        (dict(level=0.998, resamples=1000), "resamples"),
        (dict(log_power="some"), "log_power"),
        (dict(log_power=0.5, steps=STEPS - 1, window=(1, 1e5)), "log log t"),
    ],
)
def test_bad_input_gets_one_sentence(change, message):
    call = dict(steps=STEPS, values=STEPS**-0.5, window=WINDOW) | change
    with pytest.raises(UsageError, match=message) as caught:
        fit(**call)
    assert "\n" not in str(caught.value)


def test_margin_must_separate_the_candidates():
    result = fit(STEPS, STEPS**-0.5, WINDOW)
    with pytest.raises(UsageError, match="half the candidates' gap"):
        verdict(result, margin=0.05)
    assert verdict(result, candidates=(Fraction(-1, 2), -1.0), margin=0.2) == "-1/2"


def test_local_slopes_refuse_a_zero_curve():
    with pytest.raises(UsageError, match="exactly zero"):
        local_slopes(STEPS, np.zeros((2, len(STEPS))))
