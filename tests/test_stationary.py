"""Stationary laws and stability limits against closed forms on F = lambda x^2 / 2, each derived apart from the library.

a = lr * lambda, k = 1 - beta, h = gamma * beta, sigma = 1; P = Var(grad F), R = Var(m).
"""

import math

import numpy as np
import pytest
import scipy.linalg

import marslab as ml
from marslab import moments
from marslab.errors import UsageError
from marslab.rule import rule
from marslab.schedules import PowerLaw

GRID = [(a, beta, gamma) for a in (0.01, 0.3, 1.7) for beta in (0.0, 0.5, 0.95) for gamma in (0.0, 0.025, 0.4, 1.0)]


def exact_form(a, beta, gamma, level=0.0):
    """R only without curvature noise (nan otherwise)."""
    k, h = 1 - beta, gamma * beta
    common = (k + h * a) * (1 + beta - k * a / 2 - h * a)
    bent = level**2 * a**2 * h * (k + h) + level**2 * k * a / 2 * (1 + beta - h * a)
    p = a * k * (1 + beta - h * a) / (2 * (common - bent))
    return p, math.nan if level else k**2 / common


def approximate_form(a, beta, gamma):
    k, h = 1 - beta, gamma * beta
    n = h**2 + (k + h) ** 2 - h * (k + h) * (2 * beta - k * a - 2 * h * a)
    r = n / ((k + h * a) * (1 + beta - k * a / 2 - h * a))
    return a / (2 * k) * (r * (1 + beta - h * a) - 2 * h * (k + h)), r


@pytest.mark.parametrize("exact, closed", [(True, exact_form), (False, approximate_form)])
def test_additive_noise(exact, closed):
    for a, beta, gamma in GRID:
        found = moments.stationary("mars", curvature=2.0, lr=a / 2, beta1=beta, gamma=gamma, exact=exact, sigma=1.5)
        p, r = closed(a, beta, gamma)
        assert found.grad_norm_squared == pytest.approx(1.5**2 * p, rel=1e-9), (a, beta, gamma)
        assert found.estimate_squared == pytest.approx(1.5**2 * r, rel=1e-9), (a, beta, gamma)


def test_curvature_noise():
    for a, beta, gamma in GRID:
        for level in (0.1, 0.6):
            options = dict(curvature=0.5, lr=2 * a, beta1=beta, gamma=gamma, exact=True, level=level)
            closed = exact_form(a, beta, gamma, level)[0]
            if closed < 0:
                with pytest.raises(UsageError, match="map of second moments"):
                    moments.stationary("mars", **options)
            else:
                found = moments.stationary("mars", **options)
                assert found.grad_norm_squared == pytest.approx(closed, rel=1e-9), (a, beta, gamma)


def test_the_error_from_an_independent_lyapunov_solver():
    """MARS exact on (x, x_before, m) by scipy: E (m_t - lambda x_t)^2 with m_t after the step from x_t."""
    lr, lam, beta, gamma = 0.3, 1.7, 0.9, 0.4
    gain = gamma * beta / (1 - beta)
    m = np.array([(1 - beta) * (1 + gain) * lam, -(1 - beta) * gain * lam, beta])
    step = np.stack([np.eye(3)[0] - lr * m, np.eye(3)[0], m])
    kick = np.array([-lr * (1 - beta), 0, 1 - beta])
    law = scipy.linalg.solve_discrete_lyapunov(step, np.outer(kick, kick))
    row = m - lam * np.eye(3)[0]
    found = moments.stationary("mars", curvature=lam, lr=lr, beta1=beta, gamma=gamma, exact=True)
    assert found.error_squared == pytest.approx(row @ law @ row + (1 - beta) ** 2, rel=1e-10)
    assert found.grad_norm_squared == pytest.approx(lam**2 * law[0, 0], rel=1e-10)
    assert found.spectral_radius == pytest.approx(np.abs(np.linalg.eigvals(step)).max(), rel=1e-12)


def test_variance_of_m_at_a_frozen_point():
    """Theory 4.3, as lr -> 0: the exact form is an average of the noise, the approximate one is noisier for gamma in (0, 1]."""
    for beta in (0.5, 0.95):
        for gamma in (0.0, 0.025, 0.5, 1.0):
            average = (1 - beta) / (1 + beta)
            mixed = (1 - gamma) ** 2 * average + 2 * gamma * (1 - gamma) * (1 - beta) + gamma**2
            options = dict(curvature=1.0, lr=1e-7, beta1=beta, gamma=gamma)
            assert moments.stationary("mars", exact=True, **options).estimate_squared == pytest.approx(average, rel=1e-5)
            assert moments.stationary("mars", exact=False, **options).estimate_squared == pytest.approx(mixed, rel=1e-5)


def test_the_law_is_where_the_moments_settle():
    problem = ml.problems.quadratic([1.0, 0.5, 0.5])
    noises = {
        "white": ml.noise.additive(0.7),
        "correlated": ml.noise.additive(0.7, correlation=0.6),
        "bent": ml.noise.additive(0.7) + ml.noise.curvature(0.4),
    }
    for name, exact in [("sgd", None), ("momentum", None), ("storm", True), ("mars", True), ("mars", False), ("qhm", None)]:
        for noise in noises.values():
            options = dict(problem=problem, noise=noise, exact=exact, lr=0.2)
            late = moments.propagate(name, steps=20_000, record=[20_000], **options)
            law = moments.stationary(name, **options)
            assert law.grad_norm_squared == pytest.approx(late.grad_norm_squared.item(), rel=1e-9)
            assert law.error_squared == pytest.approx(late.error_squared.item(), rel=1e-9)


def test_sgd_by_hand():
    """P = a / (2 - a), with AR(1) noise P = a (1 + phi (1 - a)) / ((2 - a) (1 - phi (1 - a)))."""
    a = 0.4
    assert moments.stationary("sgd", curvature=1.0, lr=a).grad_norm_squared == pytest.approx(a / (2 - a), rel=1e-12)
    for phi in (0.7, -0.3):
        closed = a / (2 - a) * (1 + phi * (1 - a)) / (1 - phi * (1 - a))
        found = moments.stationary("sgd", curvature=1.0, lr=a, correlation=phi)
        assert found.grad_norm_squared == pytest.approx(closed, rel=1e-12)


def test_lists_are_axes():
    found = moments.stationary("mars", curvature=[0.5, 1.0], sigma=2.0, lr=0.1, gamma=[0.0, 0.5, 1.0], exact=True)
    assert found.grad_norm_squared.shape == (2, 3)
    one = moments.stationary("mars", curvature=1.0, sigma=2.0, lr=0.1, gamma=0.5, exact=True)
    assert isinstance(one.error_squared, float)
    assert found.error_squared[1, 1] == pytest.approx(one.error_squared, rel=1e-12)


GAMMAS = [0.0, 0.025, 0.05, 1.0]


@pytest.mark.parametrize("name, exact, options", [
    ("mars", True, {"gamma": GAMMAS}),
    ("mars", False, {"gamma": GAMMAS}),
    ("qhm", None, {"nu": [1 - gamma for gamma in GAMMAS]}),
])  # fmt: skip
def test_stability_limits(name, exact, options):
    """Theory 4.4: a < 2 (1 + beta) / (1 - beta + 2 beta gamma): 78, 40, 3.9 / 0.145 and 2 at beta = 0.95."""
    found = moments.stability_limit(name, exact=exact, beta1=0.95, **options)
    np.testing.assert_allclose(found, [78, 40, 3.9 / 0.145, 2], rtol=1e-9)
    rescaled = moments.stability_limit(name, exact=exact, beta1=0.95, lr=[1e-3, 7.0], **{k: v[1] for k, v in options.items()})
    np.testing.assert_allclose(rescaled, 40, rtol=1e-9)


def test_mean_square_stability():
    """SGD with curvature noise: (1 - a)^2 + s^2 a^2 < 1 up to a = 2 / (1 + s^2); exact MARS where its law's bracket ends."""
    for level in (0.5, 2.0):
        assert moments.stability_limit("sgd", level=level) == pytest.approx(2 / (1 + level**2), rel=1e-9)
    beta, gamma, level = 0.9, 0.5, 0.8
    limit = moments.stability_limit("mars", exact=True, beta1=beta, gamma=gamma, level=level)
    assert exact_form(0.999 * limit, beta, gamma, level)[0] > 0 > exact_form(1.001 * limit, beta, gamma, level)[0]


def test_no_limit_is_infinite():
    @rule()
    def still(x, state, g, *, lr=0.1):
        return 0.5 * x - 0 * lr * g, {}

    assert moments.stability_limit(still) == math.inf


def test_running_products_settle():
    @rule(memory=("m",), scalars=("product",))
    def corrected_momentum(x, state, g, *, lr=0.1, beta1=0.9):
        m, product = beta1 * state["m"] + (1 - beta1) * g, state["product"] * beta1
        return x - lr * m / (1 - product), dict(m=m, product=product)

    found = moments.stationary(corrected_momentum, curvature=1.0, lr=0.3, beta1=0.8)
    assert found.grad_norm_squared == pytest.approx(exact_form(0.3, 0.8, 0.0)[0], rel=1e-12)


@rule()
def alternating(x, state, g, *, lr=0.1, t=None):
    import torch

    return x - lr * torch.where(t % 2 == 0, g, 2 * g), {}


@pytest.mark.parametrize(
    "name, options, sentence",
    [
        ("mars", {"lr": 41.0}, "spectral radius of its step is 1.0"),
        ("mars", {"lr": [0.1, 41.0]}, "setting"),
        ("mars", {"lr": 0.1, "level": 50.0, "exact": True}, "map of second moments"),
        ("sgd", {"curvature": 0.0}, "spectral radius of its step is 1,"),
        ("sgd", {"curvature": -1.0}, "curvature must be"),
        ("sgd", {"sigma": -1.0}, "sigma = -1 lies outside"),
        ("sgd", {"lr": PowerLaw(0.1, 0.5)}, "lr is a schedule"),
        ("sgd", {"rl": 0.1}, "did you mean 'lr'"),
        ("mars_lion", {}, "not linear"),
        ("storm", {"exact": False}, "only the exact form"),
        (alternating, {}, "depends on t"),
    ],
)
def test_refusals(name, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        moments.stationary(name, **{"curvature": 1.0, **options})


def test_a_mode_or_a_problem_is_needed():
    with pytest.raises(UsageError, match="curvature"):
        moments.stationary("sgd")
    with pytest.raises(UsageError, match="no eigenvalues"):
        moments.stationary("sgd", problem=ml.problems.rosenbrock())
