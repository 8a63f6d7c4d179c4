"""The closed forms of marslab.theory against the Lyapunov equation, propagated moments, simulations and plain minimisation."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from marslab import moments, pieces, simulate, theory
from marslab.errors import UsageError
from marslab.noise import additive
from marslab.problems import quadratic
from marslab.schedules import theorem

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")

LAWS = {True: theory.stationary_exact, False: theory.stationary_approximate}


def settings(number, seed):
    """Random stable settings (a, curvature, gamma, beta, sigma) that fill the stable range of a."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        beta, gamma = random.choice([0.0, random.uniform(0, 0.5), random.uniform(0.9, 0.999)]), random.uniform(0, 1.5)
        limit = 2 * (1 + beta) / (1 - beta + 2 * beta * gamma)
        share = random.choice([10 ** random.uniform(-3, 0), random.uniform(0.9, 0.999)])
        yield float(share * limit), 10 ** random.uniform(-1, 1), float(gamma), float(beta), 10 ** random.uniform(-1, 1)


def lyapunov(a, curvature, gamma, beta, **options):
    law = moments.stationary("mars", curvature=curvature, lr=a / curvature, gamma=gamma, beta1=beta, **options)
    return float(law.grad_norm_squared)


@pytest.mark.parametrize("exact", [True, False])
def test_the_stationary_law_is_that_of_the_lyapunov_equation(exact):
    for a, curvature, gamma, beta, sigma in settings(40, seed=int(exact)):
        found = LAWS[exact](a, gamma=gamma, beta=beta, sigma=sigma)
        assert found == pytest.approx(lyapunov(a, curvature, gamma, beta, sigma=sigma, exact=exact), rel=1e-9)


def test_the_stationary_law_with_curvature_noise_and_where_it_has_none():
    stable = 0
    for number, (a, curvature, gamma, beta, sigma) in enumerate(settings(60, seed=2)):
        level = (0.1, 0.5, 2.0)[number % 3]
        found = float(theory.stationary_exact(a, gamma=gamma, beta=beta, sigma=sigma, level=level))
        options = dict(sigma=sigma, level=level, exact=True)
        if math.isinf(found):
            with pytest.raises(UsageError, match=r"unstable|second moments|settle"):
                lyapunov(a, curvature, gamma, beta, **options)
        else:
            stable += 1
            assert found == pytest.approx(lyapunov(a, curvature, gamma, beta, **options), rel=1e-9)
    assert 20 < stable < 60


@pytest.mark.parametrize("exact", [True, False])
def test_the_stability_limit_is_that_of_the_spectral_radius(exact):
    expected = {0.0: 78.0, 0.025: 40.0, 0.05: 3.9 / 0.145, 1.0: 2.0}
    for gamma, value in expected.items():
        assert theory.stability_limit(gamma=gamma, beta=0.95) == pytest.approx(value, abs=1e-9)
        assert moments.stability_limit("mars", exact=exact, gamma=gamma, beta1=0.95) == pytest.approx(value, rel=1e-6)
    for _, _, gamma, beta, _ in settings(10, seed=3):
        found = moments.stability_limit("mars", exact=exact, gamma=gamma, beta1=beta)
        assert theory.stability_limit(gamma=gamma, beta=beta) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("law", LAWS.values())
def test_the_law_grows_without_bound_at_the_limit_and_is_infinite_beyond(law):
    limit = theory.stability_limit(gamma=0.3, beta=0.9)
    close, closer = law(limit * (1 - 1e-4), gamma=0.3, beta=0.9), law(limit * (1 - 1e-6), gamma=0.3, beta=0.9)
    assert closer / close == pytest.approx(100, rel=0.01)
    assert np.isinf(law(limit * (1 + 1e-9), gamma=0.3, beta=0.9))


def test_laws_take_arrays():
    a, gamma = np.array([[0.1], [1.0], [50.0]]), np.array([0.0, 0.025, 1.0])
    for law in LAWS.values():
        table = law(a, gamma=gamma, beta=0.95)
        assert table.shape == (3, 3)
        assert table[1, 1] == law(1.0, gamma=0.025, beta=0.95)
        assert np.isinf(table[2]).tolist() == [False, True, True]


def test_exact_decreases_in_gamma_and_approximate_returns():
    gamma = np.linspace(0, 1, 101)
    exact = theory.stationary_exact(0.01, gamma=gamma, beta=0.95)
    approximate = theory.stationary_approximate(0.01, gamma=gamma, beta=0.95)
    assert (np.diff(exact) < 0).all()
    assert approximate[0] == pytest.approx(approximate[-1], rel=0.01)
    assert approximate.min() < 0.97 * approximate[0] and 40 < approximate.argmin() < 60
    # at gamma = 0 the two forms are one; the ratio is 1 + a gamma^2 / k to leading order
    assert approximate[0] == pytest.approx(exact[0], rel=1e-14)
    small = theory.stationary_approximate(1e-3, gamma=0.5, beta=0.95) / theory.stationary_exact(1e-3, gamma=0.5, beta=0.95)
    assert small - 1 == pytest.approx(1e-3 * 0.25 / 0.05, rel=0.05)  # up to k = 0.05


def minimiser(a, beta):
    stable = min(1.0, (2 * (1 + beta) / a - (1 - beta)) / (2 * beta) * 0.999)
    found = minimize_scalar(
        lambda gamma: float(theory.stationary_approximate(a, gamma=gamma, beta=beta)), bounds=(0, stable), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    return found.x, found.fun


@pytest.mark.parametrize("beta", [0.8, 0.95, 0.99, 0.999])
def test_the_optimal_gamma_minimises_the_law_to_leading_order_in_k(beta):
    k = 1 - beta
    for share in (1e-3, 0.1, 1.0):
        a = share * k
        best, least = minimiser(a, beta)
        assert theory.variance_optimal_gamma(a, beta=beta) == pytest.approx(best, rel=k)
        assert least == pytest.approx(a / 2 * (k + a * best**2) / (k + a * best), rel=k)


def test_the_optimal_gamma_at_the_published_steps_and_without_cancellation():
    # minimisers at beta = 0.95 found apart from the library; the closed form is for small a only
    for a, gamma in ((0.1, 0.354), (1.0, 0.161), (5.0, 0.069), (20.0, 0.0235)):
        assert minimiser(a, 0.95)[0] == pytest.approx(gamma, abs=1e-3)
    assert theory.variance_optimal_gamma(0.1, beta=0.95) == pytest.approx(0.354, rel=0.05)
    for a in (1e-8, 1e-13, 1e-17, 0.0):
        assert theory.variance_optimal_gamma(a, beta=0.95) == pytest.approx(0.5, rel=1e-6)
    naive = (math.sqrt(0.05**2 + 0.3 * 0.05) - 0.05) / 0.3
    assert theory.variance_optimal_gamma(0.3, beta=0.95) == pytest.approx(naive, rel=1e-13)


@pytest.mark.parametrize("gamma", [0.0, 0.025, 0.4, 1.0])
def test_the_frozen_variance_is_that_of_a_run_that_does_not_move(gamma):
    options = dict(problem=quadratic(spectrum=(1.0,)), noise=additive(sigma=2.0), steps=600, lr=0.0, gamma=gamma, beta1=0.95)
    late = {exact: moments.propagate("mars", exact=exact, **options).error_squared.values[-1] for exact in (True, False)}
    assert late[False] == pytest.approx(4 * theory.frozen_variance(gamma=gamma, beta=0.95), rel=1e-9)
    assert late[True] == pytest.approx(4 * 0.05 / 1.95, rel=1e-9)
    assert gamma == 0 or theory.frozen_variance(gamma=gamma, beta=0.95) > 0.05 / 1.95


def test_the_frozen_variance_is_seen_in_a_simulation():
    problem = quadratic(spectrum=1.0, shape=(200,))
    seen = simulate.run("mars", problem=problem, noise=additive(sigma=1.0), steps=150, seeds=40, lr=0.0, gamma=0.4, exact=False)
    mean = float((seen.error.values[:, -1] ** 2).mean())
    # 8000 independent squares of a normal variable: standard error sqrt(2 / 8000) = 1.6 %
    assert mean == pytest.approx(theory.frozen_variance(gamma=0.4, beta=0.95), rel=5 * math.sqrt(2 / 8000))


def test_the_frozen_variance_published_for_the_default():
    assert theory.frozen_variance(gamma=0.025, beta=0.95) / (0.05 / 1.95) == pytest.approx(1.070, abs=5e-4)


def test_the_variance_of_the_corrected_gradient_is_the_sum_of_its_squared_weights():
    g, previous = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for gamma, beta in ((0.025, 0.95), (1.0, 0.9), (0.0, 0.5)):
        weights = pieces.correct(g, previous, gamma=gamma, beta=beta)
        assert theory.effective_variance_ratio(gamma=gamma, beta=beta) == pytest.approx((weights**2).sum(), rel=1e-14)
    assert theory.effective_variance_ratio(gamma=0.025, beta=0.95) == pytest.approx(2.401, abs=5e-4)


@pytest.mark.parametrize(
    "c, s, gamma, curvature, tolerance", [(33, 190, 1.0, 1.0, 0.02), (1, 1, 1.0, 1.0, 0.02), (33, 190, 0.3, 0.5, 0.02)]
)
def test_the_quasi_static_law_is_reached_late(c, s, gamma, curvature, tolerance):
    run = moments.propagate("mars", problem=quadratic(spectrum=(curvature,)), noise=additive(sigma=1.5), steps=300_000,
                            exact=True, gamma=gamma, record=60, **theorem(c=c, s=s))  # fmt: skip
    expected = theory.quasi_static(run.step.values, c=c, s=s, gamma=gamma, curvature=curvature, sigma=1.5)
    ratio = run.grad_norm_squared.values / expected
    late = run.step.values > 100_000
    assert np.abs(ratio[late] - 1).max() < tolerance
    assert np.abs(ratio[late] - 1).max() < np.abs(ratio[(run.step.values > 100) & ~late] - 1).max()


def test_the_quasi_static_law_has_the_asymptotic_slope_in_the_end_only():
    def slope(t):
        pair = theory.quasi_static(np.array([t, t * 1.001]), c=33, s=190)
        return 0.5 * np.diff(np.log(pair))[0] / math.log(1.001)

    assert slope(1e12) == pytest.approx(-1 / 3, abs=0.002)
    assert slope(1e5) > -0.27
