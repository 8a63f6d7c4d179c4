"""Claims about the theorems: their verdicts, and independent computations of what they rest on."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from marslab.claims import CLAIMS, _descent
from marslab.claims._broken import Skewed, SquareWave
from marslab.claims._storm import SMALLEST, Constants
from marslab.claims._theorem import TIGHTEST, Setting, curves, grid, running_mean
from marslab.noise import additive
from marslab.optimizers import mars, mars_lion
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.simulate import run
from marslab.streams import Stream
from marslab.verdicts import FAILS, HOLDS

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")

EXPECTED = {
    "clip_moves_the_limit": HOLDS,
    "constant_beta_floor": HOLDS,
    "descent_lemmas": HOLDS,
    "heavy_tails": HOLDS,
    "lemma_c1_constant": HOLDS,
    "lemma_c2_recursion": HOLDS,
    "lion_error_floor": HOLDS,
    "no_mean_squared_smoothness": HOLDS,
    "polar_descent_bound": HOLDS,
    "polar_descent_rate": HOLDS,
    "schedule_feasible_region": HOLDS,
    "sign_descent_bound": HOLDS,
    "sign_descent_rate": HOLDS,
    "storm_theorem": HOLDS,
    "storm_theorem_scaling": FAILS,
    "theorem_b5_error_bound": HOLDS,
    "theorem_b5_logarithm": HOLDS,
    "theorem_b5_nonconvex": HOLDS,
    "theorem_b5_potential": HOLDS,
    "theorem_b5_step_bound": HOLDS,
    "theorem_b6_bound": HOLDS,
}
UNIT = dict(problem=quadratic(spectrum=(1.0,)), noise=additive(sigma=1.0), exact=True, gamma=1.0)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_verdict_at_the_quick_budget(name, measured):
    row, found = measured(name)
    assert found.verdict == EXPECTED[name], row


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("storm_theorem_scaling", {"printed": False}),
    ],
)
def test_a_published_statement_that_fails_holds_as_corrected(name, settings):
    claim = CLAIMS[name]
    corrected = dataclasses.replace(claim, name=f"{name}_corrected", settings={**claim.settings, **settings})
    assert corrected.check()[1].verdict == HOLDS


# the bounds and the averages of theorem B.5


def test_the_constants_are_the_smallest_that_the_theorem_and_beta_allow():
    assert (Setting(1.0).c, Setting(1.0).s) == (33, 189) and (Setting(TIGHTEST).c, Setting(TIGHTEST).s) == (pytest.approx(2), 2)
    for L in (0.1, TIGHTEST, 1.0, 3.0):
        at = Setting(L)
        assert at.schedules["beta1"](2) >= 0 and at.s >= max(8 * L**3, 1) and at.schedules["lr"](1) <= 1 / (2 * L)
    c_over_L = [Setting(u * TIGHTEST).c / u for u in (0.99, 1.0, 1.01)]
    assert c_over_L[1] == min(c_over_L)  # the noise term of the bound is the square of this


def test_the_bounds_are_those_that_are_stated():
    at, T = Setting(2.0, sigma=3.0, rho=0.5, gap=7.0), 1e5
    c, s = 513.0, at.s
    G = 7 + 0.5 * s ** (1 / 3) * 9 / 64
    assert pytest.approx(G) == at.G and at.c == c
    assert at.error_bound(T, 1) == pytest.approx((2 * 0.5 * G + 0.5 * c**2 * 9 / 16 * math.log(s + T)) * T ** (-2 / 3))
    assert at.error_bound(T) == pytest.approx((2 * 0.5 * G + 0.25 * c**2 * 9 / 16 * math.log(s + T)) * T ** (-2 / 3))
    assert at.step_bound(T) == pytest.approx((16 * G / 1.5 + 2 * c**2 * 9 / 12 * math.log(s + T)) * T ** (-2 / 3))


def scalar_moments(steps: int, c: float, s: float):
    """E e^2 and E m^2 on F = x^2 / 2 from three numbers a step: e' = beta e + (1 - beta) z, x' = x - eta (x + e)."""
    xx, xe, ee, errors, steps_squared = 1.0, 0.0, 1.0, [], []
    for t in range(1, steps + 1):
        errors.append(ee)
        steps_squared.append(xx + 2 * xe + ee)
        eta, beta = (s + t) ** (-1 / 3), 1 - c * (s + t) ** (-2 / 3)
        xx, xe = (1 - eta) ** 2 * xx - 2 * eta * (1 - eta) * xe + eta**2 * ee, beta * ((1 - eta) * xe - eta * ee)
        ee = beta**2 * ee + (1 - beta) ** 2
    return np.array(errors), np.array(steps_squared)


def test_the_curves_agree_with_a_recursion_of_three_numbers():
    found = curves(mars, squared_estimate=True, steps=400, record=list(range(1, 401)), **UNIT, **theorem(c=33, s=190))
    errors, squares = scalar_moments(400, 33, 190)
    assert found["error_squared"] == pytest.approx(errors, rel=1e-10)
    assert found["estimate_squared"] == pytest.approx(squares, rel=1e-10)


def test_running_means_are_exact_where_every_step_is_recorded_and_hardly_too_large_elsewhere():
    errors, squares = scalar_moments(5_000, 33, 190)
    every = np.arange(1.0, 5_001)
    assert running_mean(every, errors) == pytest.approx(np.cumsum(errors) / every, rel=1e-12)
    t = np.array(grid(5_000))
    for curve in (errors, squares):
        ratio = running_mean(t.astype(float), curve[t - 1]) / (np.cumsum(curve) / every)[t - 1]
        assert ratio.min() >= 1 - 1e-9 and ratio.max() < 1.001


def test_the_printed_power_of_rho_is_the_weaker_one_below_one_and_the_stronger_one_above():
    for rho, sign in ((0.1, 1), (1.0, 0), (10.0, -1)):
        at = Setting(rho, rho=rho)
        assert np.sign(at.error_bound(1e4, 1) - at.error_bound(1e4, 2)) == sign


# settings in which an assumption is broken


def test_the_square_wave_has_the_variance_stated_and_jumps_in_proportion_to_the_distance():
    problem, law = quadratic(spectrum=(1.0,)), SquareWave(sigma=2.0, length=1.0)
    phases = law.draw(problem, Stream(3, "additive")).reshape(-1, 1)
    phases = torch.cat([phases, *(law.draw(problem, Stream(seed, "additive")) for seed in range(4, 200))])
    at = law.at_sample(problem, phases, lambda ndim: {"sigma": 2.0})
    noise = lambda x: at({"x": torch.full_like(phases, x)})["x"] - x
    assert abs(float(noise(0.3).mean())) < 0.05 and float(noise(0.3).square().mean()) == pytest.approx(4)
    for distance in (0.05, 0.1, 0.2):
        jump = float((noise(0.3) - noise(0.3 + distance)).square().mean())
        assert jump == pytest.approx(4 * 4 * 2 * distance, rel=0.1)  # (2 sigma)^2 with probability 2 distance
    assert law.constants(problem)["mean_squared_L"] == math.inf


def test_the_skewed_noise_is_centred_and_not_symmetric():
    problem, law = quadratic(spectrum=(1.0,)), Skewed(sigma=1.5)
    drawn = torch.cat([law.draw(problem, Stream(seed, "additive")) for seed in range(200)])
    assert set(drawn.unique().tolist()) == {-1.0, 2.0}
    assert abs(float(drawn.mean())) < 0.03 and float(drawn.square().mean()) == pytest.approx(2, rel=0.03)
    assert law.constants(problem)["sigma"] == pytest.approx(1.5 * 2**0.5)


def test_averaging_does_nothing_to_cauchy_noise():
    """The weights of the noises in e_t add up to one, so e_t is a standard Cauchy variable at every t: median |e_t| = 1."""
    found = run(mars, **(UNIT | {"noise": additive(law="student", degrees=1.0)}), steps=500, seeds=2_000, record=[20, 500],
                **theorem(c=1, s=1))  # fmt: skip
    medians = found.error.median("seed").values
    assert medians == pytest.approx([1, 1], abs=5 * math.pi / 2 / 2_000**0.5)  # the median's standard error is pi / (2 sqrt n)


def test_lion_moves_by_its_step_however_small_the_estimate():
    x, g = torch.zeros(3, dtype=torch.float64), torch.tensor([1e-9, -1.0, 1e-300], dtype=torch.float64)
    moved, _ = mars_lion(x, mars_lion.init(x), g, g, lr=0.1)
    assert moved.tolist() == [-0.1, 0.1, -0.1]


# sign and polar updates, STORM


def test_the_descent_bound_adds_up_its_error_recursion():
    """The bound's error part exceeds the sum of the recursion's own solution, and by less than a half."""
    steps, k, eta, sigma, L, rank = 2_000, 0.02, 0.01, 1.5, 2.0, 3
    beta, square, roots = 1 - k, sigma**2, []
    for _ in range(steps):
        roots.append(math.sqrt(square))
        square = beta**2 * square + 2 * k**2 * sigma**2 + 2 * beta**2 * L**2 * eta**2 * rank
    exact = 2 * math.sqrt(rank) * np.mean(roots)
    bound = _descent.bound(gap=0.0, L=L, sigma=sigma, rank=rank, steps=steps, eta=eta, k=k) - L * eta * rank / 2
    assert exact <= bound <= 2.2 * exact


def test_storm_constants_satisfy_what_its_proof_asks():
    for b in (SMALLEST, 0.1, 1.0):
        at = Constants(L=2.0, G=3.0, sigma=1.0, gap=0.7, b=b)
        eta = at.k / at.w ** (1 / 3)
        assert eta <= 1 / (4 * at.L) + 1e-12 and at.c * eta**2 <= 1 + 1e-12 and at.w >= 2 * at.G**2
        assert at.c == pytest.approx(at.L**2 * (28 + 1 / (7 * b**3)))
    first, best, last = (28 * b + 1 / (7 * b**2) for b in (0.99 * SMALLEST, SMALLEST, 1.01 * SMALLEST))
    assert best < min(first, last)
