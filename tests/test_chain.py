"""The hard instance of the lower bounds: problems.chain and noise.unlock against the constants that they state."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import integrate

from marslab import noise, problems
from marslab.errors import UsageError
from marslab.noise.unlock import gamma
from marslab.oracle import Oracle
from marslab.simulate import run

T = 6
PLAIN = problems.chain(T)
SCALED = problems.chain(T, smoothness=3.0, unit=0.2)


def points(problem, count=4000, seed=0):
    """Points of every progress: some coordinates far out, some near the thresholds 1/4, 1/2 and 1, the later ones at zero."""
    random = np.random.default_rng(seed)
    y = random.choice([0.0, 0.25, 0.5, 1.0, 2.0], size=(count, problem.dimension)) + 0.2 * random.normal(
        size=(count, problem.dimension)
    )
    y *= random.choice([-1, 1], size=y.shape)
    kept = np.arange(problem.dimension) < random.integers(0, problem.dimension + 1, size=(count, 1))
    return {"x": torch.from_numpy(problem.unit * np.where(kept, y, 0.0))}


def by_definition(y):
    """F_T, coordinate by coordinate, from the paper's formula and numerical integration."""
    psi = lambda v: 0.0 if v <= 0.5 else math.exp(1 - 1 / (2 * v - 1) ** 2)
    phi = lambda v: math.sqrt(math.e) * integrate.quad(lambda s: math.exp(-s * s / 2), -np.inf, v)[0]
    total = -psi(1) * phi(y[0])
    for before, here in itertools.pairwise(y):
        total += psi(-before) * phi(-here) - psi(before) * phi(here)
    return total


def test_the_value_is_that_of_the_definition():
    x = points(PLAIN, 12)["x"]
    for y in x:
        assert float(PLAIN.value({"x": y})) == pytest.approx(by_definition(y.tolist()), rel=1e-9)
        height = SCALED.smoothness * SCALED.unit**2 / 152
        assert float(SCALED.value({"x": SCALED.unit * y})) == pytest.approx(height * by_definition(y.tolist()), rel=1e-9)


@pytest.mark.parametrize("problem", [PLAIN, SCALED, problems.chain(1)], ids=repr)
def test_the_gradient_is_autograds_at_points_of_every_progress(problem):
    x = {"x": points(problem)["x"].requires_grad_()}
    (slope,) = torch.autograd.grad(problem.value(x).sum(), x["x"])
    torch.testing.assert_close(problem.gradient(x)["x"], slope, rtol=1e-10, atol=1e-10 * problem.steepest)


def test_the_stated_bounds_hold():
    """Lipschitz 152, slopes up to 23, drop 12 T: of each bound more than half is seen in 20,000 points near the thresholds."""
    x = points(PLAIN, 20_000)
    hessian = torch.func.vmap(torch.func.jacfwd(lambda v: PLAIN.gradient({"x": v})["x"]))(x["x"])
    largest = torch.linalg.matrix_norm(hessian, 2).max()
    assert 76 < largest <= 152
    assert 11.5 < PLAIN.gradient(x)["x"].abs().max() <= 23
    seen = float(PLAIN.value(PLAIN.start()) - PLAIN.value({"x": torch.full((T,), 8.0, dtype=torch.float64)}))
    assert 6 * T < seen <= 12 * T
    assert pytest.approx(12 * T) == PLAIN.drop and pytest.approx(23) == PLAIN.steepest


def test_scaling_multiplies_the_constants():
    x = points(SCALED, 20_000)
    near = {
        "x": x["x"]
        + 1e-4 * SCALED.unit * torch.randn(x["x"].shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    }
    gap = (SCALED.gradient(x)["x"] - SCALED.gradient(near)["x"]).norm(dim=-1) / (x["x"] - near["x"]).norm(dim=-1)
    assert gap.max() <= SCALED.L == 3.0
    assert SCALED.gradient(x)["x"].abs().max() <= SCALED.steepest
    torch.testing.assert_close(SCALED.gradient(x)["x"], 3.0 * 0.2 / 152 * PLAIN.gradient({"x": x["x"] / 0.2})["x"])


def test_an_unfinished_point_is_steep_and_shows_one_coordinate_at_most():
    x = points(PLAIN, 20_000)
    slope = PLAIN.gradient(x)["x"]
    done, next_one = PLAIN.progress(x, 1.0), PLAIN.progress(x, 0.5) + 1
    open_ends = done < T
    steep = slope.gather(-1, done.clamp(max=T - 1)[:, None])[:, 0].abs()
    assert open_ends.sum() > 10_000 and (steep[open_ends] > 1).all()
    beyond = torch.arange(1, T + 1) > next_one[:, None]
    assert beyond.any() and (slope[beyond] == 0).all()


def test_progress_counts_from_one():
    y = torch.tensor([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.0, -0.3, 0.0], [3.0, 2.0, 0.26]], dtype=torch.float64)
    chain = problems.chain(3, unit=2.0)
    assert chain.progress({"x": 2 * y}).tolist() == [0, 1, 2, 3]
    assert chain.progress({"x": 2 * y}, 0.5).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("problem", [PLAIN, SCALED], ids=repr)
def test_the_oracle_is_unbiased_with_bounded_variance(problem, smooth):
    """Both values of z are enumerated: no sampling."""
    law, x = noise.unlock(0.1, smooth), points(problem)
    true = problem.gradient(x)["x"]
    shown, hidden = (both(problem, law, x, z) for z in (1, 0))
    torch.testing.assert_close(0.1 * shown + 0.9 * hidden, true, rtol=1e-12, atol=1e-14)
    variance = 0.1 * (shown - true).square().sum(-1) + 0.9 * (hidden - true).square().sum(-1)
    bound = law.constants(problem)["sigma"]
    assert bound == pytest.approx(problem.steepest * 3)
    assert 0.003 * bound**2 < variance.max() <= bound**2  # the steepest slopes are not hidden, so the bound is far
    assert ((shown != hidden).sum(-1) <= 1).all()


def both(problem, law, x, z):
    act = law.at_sample(problem, torch.tensor(z / law.p, dtype=torch.float64), None)
    return act(problem.gradient(x), x)["x"]


@pytest.mark.parametrize("smooth", [False, True])
def test_a_sample_without_luck_shows_nothing_beyond_the_progress(smooth):
    law, x = noise.unlock(0.1, smooth), points(PLAIN)
    seen = both(PLAIN, law, x, 0)
    far = torch.arange(1, T + 1) > PLAIN.progress(x, 0.25)[:, None]
    assert (seen[far] == 0).all() and (both(PLAIN, law, x, 1)[far] != 0).any()


def test_theta_is_that_of_the_definition():
    law, x = noise.unlock(0.1, smooth=True), points(PLAIN, 40)
    bump = lambda t: math.exp(-1 / (100 * (t - 0.25) * (0.5 - t))) if 0.25 < t < 0.5 else 0.0
    total = integrate.quad(bump, 0.25, 0.5)[0]
    step = lambda t: integrate.quad(bump, 0.25, min(max(t, 0.25), 0.5))[0] / total
    for y, theta in zip(x["x"], law.hidden(PLAIN, x), strict=True):
        squares = [step(abs(v)) ** 2 for v in y.tolist()]
        expected = [step(1 - math.sqrt(sum(squares[i:]))) for i in range(T)]
        assert theta.tolist() == pytest.approx(expected, abs=2e-7)
    assert gamma(torch.tensor([-1.0, 0.25, 0.5, 3.0], dtype=torch.float64)).tolist() == [0, 0, 1, 1]
    assert float(gamma(torch.tensor(0.375, dtype=torch.float64))) == pytest.approx(0.5, abs=1e-12)


def test_only_the_smooth_oracle_is_mean_squared_smooth():
    """E|g(x,z) - g(y,z)|^2 / |x - y|^2, z enumerated, over pairs that lie close together around the thresholds."""
    x = points(PLAIN, 30_000)
    move = torch.randn(x["x"].shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for size, p in ((1e-2, 0.05), (1e-4, 0.05), (1e-4, 0.5)):
        y = {"x": x["x"] + size * move}
        worst = {}
        for smooth in (False, True):
            law = noise.unlock(p, smooth)
            gaps = [(both(PLAIN, law, x, z) - both(PLAIN, law, y, z)).square().sum(-1) for z in (1, 0)]
            worst[smooth] = float(((p * gaps[0] + (1 - p) * gaps[1]) / (x["x"] - y["x"]).square().sum(-1)).max().sqrt())
        bound = noise.unlock(p, True).constants(PLAIN)["mean_squared_L"]
        assert bound == pytest.approx(328 / math.sqrt(p)) and 0.1 * bound < worst[True] <= bound
        assert size > 1e-3 or worst[False] > 5 * bound  # it jumps at 1/4
    assert noise.unlock(p).constants(PLAIN)["mean_squared_L"] == math.inf


def test_constants_without_noise_or_without_a_chain():
    still = noise.unlock(1.0).constants(PLAIN)
    assert still == {"sigma": 0.0, "delta": 0.0, "mean_squared_L": 152.0}
    assert set(noise.unlock(0.1).constants(problems.bowl()).values()) == {None}


def test_the_hard_instance_for_given_targets():
    problem, p = problems.chain.hard(gap=7296 * 5 / 4.0, smoothness=4.0, sigma=92.0, accuracy=1.0)
    assert (problem.dimension, p) == (5, pytest.approx(0.25)) and problem.L == 4.0
    assert problem.drop <= 7296 * 5 / 4.0 * (1 + 1e-12)
    x = points(problem)
    open_ends = problem.progress(x, 1.0) < problem.dimension
    assert (problem.gradient(x)["x"].norm(dim=-1)[open_ends] > 2.0).all()
    assert noise.unlock(p).constants(problem)["sigma"] <= 92.0
    half, quarter = problems.chain.hard(gap=7296 * 5 / 4.0, smoothness=4.0, sigma=92.0, accuracy=0.5)
    assert (half.dimension, quarter) == (20, pytest.approx(p / 4))


def test_the_chance_is_p_in_a_run_and_the_two_points_share_it():
    law = noise.unlock(0.2)
    first = run("sgd", problem=problems.chain(1), noise=law, steps=1, seeds=4000, lr=1.0, record=[1])
    assert np.unique(np.round(first.error.values, 9)).size == 2
    assert (first.error.values > 2 * math.sqrt(math.e)).mean() == pytest.approx(0.2, abs=5 * math.sqrt(0.16 / 4000))
    oracle = Oracle(PLAIN, law, "exact", "equal", None)
    x, y = ({"x": torch.tensor([a, 0, 0, 0, 0, 0], dtype=torch.float64)} for a in (0.0, 0.3))
    oracle.observe(x, {"curvature": torch.tensor([0.0])})
    seen = oracle.observe(y, {"curvature": torch.tensor([0.0])})
    assert float(seen.prev["x"][0]) == 0  # at the old point the unlucky sample hides the slope, at the new one it does not
    assert float(seen.g["x"][0]) == float(PLAIN.gradient(y)["x"][0]) != 0


def test_the_law_adds_to_additive_noise_and_meets_large_batches():
    both_laws = noise.unlock(0.5) + noise.additive(0.1)
    seen = run("spider", problem=PLAIN, noise=both_laws, steps=12, seeds=2, period=4, large=6)
    assert np.isfinite(seen.grad_norm.values).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: noise.unlock(0.0), r"p = 0.0 lies outside \(0, 1\]"),
        (lambda: noise.unlock(1.5), r"p = 1.5 lies outside"),
        (lambda: noise.unlock("often"), "p = 'often'"),
        (lambda: problems.chain(0), "dimension is 0"),
        (lambda: problems.chain(3, unit=0), "unit is 0: give a number above 0"),
        (lambda: problems.chain(3, smoothness=math.nan), "smoothness is nan"),
        (lambda: problems.chain.hard(gap=1, smoothness=1, sigma=1, accuracy=-1), "accuracy is -1"),
        (lambda: problems.chain.hard(gap=1, smoothness=1, sigma=1, accuracy=1), "dimension is 0"),
        (lambda: run("sgd", problem=problems.bowl(), noise=noise.unlock()), "bowl has no coordinates to unlock"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(UsageError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
