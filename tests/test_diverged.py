"""Lanes that overflow: marked with their step, recorded as +inf and never NaN, and without a trace in any other lane."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from marslab import noise, problems
from marslab.optimizers import RULES as ALL_RULES
from marslab.simulate import run

STEPS = 12
EVERY = list(range(1, STEPS + 1))
RULES = {name: rule for name, rule in ALL_RULES.items() if rule.hess != "gauss_newton"}  # sophia_g needs a likelihood
BOUNDED = {"spider": {"radius": np.inf}}  # its step has a bounded length otherwise
MATRIX = problems.quadratic(tuple(np.geomspace(0.1, 1, 12)), shape=(4, 3))
ROWS = problems.sigmoid_classification("breast_cancer")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Kick:
    """A small rate, but an enormous one at one step."""

    at: int
    size: float
    usual: float = 0.01

    def __call__(self, t):
        return torch.where(t == self.at, self.size, self.usual)


def assert_no_nan(seen):
    for name in seen.data_vars:
        assert not np.isnan(seen[name]).any(), name


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("dtype", "size"), [("float64", 1e300), ("float32", 1e38)])
def test_three_of_64_lanes_diverge_alone(name, dtype, size):  # case F11
    kicks = {3: 1, 40: 7, 63: STEPS - 1}  # lane: the step that throws it out
    rates = [Kick(kicks[i], size) if i in kicks else 0.001 * (1 + i) for i in range(64)]
    options = {"problem": MATRIX, "noise": noise.additive(0.1) + noise.curvature(0.1), "steps": STEPS, "record": EVERY}
    options |= {"dtype": dtype, "seeds": [5], **BOUNDED.get(name, {})}
    seen = run(name, lr=rates, **options)
    calm = [i for i in range(64) if i not in kicks]
    alone = run(name, lr=[rates[i] for i in calm], **options)
    assert_no_nan(seen)
    for variable in alone.data_vars:
        if variable != "evaluations":  # bit for bit, but for matrix products, whose sums may be ordered by the lanes
            tolerance = (1e-12 if dtype == "float64" else 1e-5) if RULES[name].matrix else 0
            np.testing.assert_allclose(seen[variable].isel(lr=calm).values, alone[variable].values, rtol=tolerance)
    assert np.isinf(alone.diverged_at).all()
    for lane, step in kicks.items():
        one = seen.isel(lr=lane, seed=0)
        assert one.diverged_at == step + 1
        for variable in (v for v in one.data_vars if one[v].dims == ("step",) and v != "evaluations"):
            assert np.isposinf(one[variable].sel(step=slice(step + 1, None))).all(), variable
        assert np.isfinite(one.grad_norm.sel(step=slice(1, step))).all()


def test_a_last_step_that_leaves_is_not_judged():
    """Records are taken before the step, so the point after the last one is never looked at."""
    seen = run("sgd", problem=MATRIX, steps=STEPS, lr=Kick(STEPS, 1e300))
    assert np.isinf(seen.diverged_at).all() and np.isfinite(seen.grad_norm).all()


@pytest.mark.parametrize("name", RULES)
def test_all_lanes_may_diverge(name):
    seen = run(
        name, problem=MATRIX, steps=STEPS, seeds=64, lr=Kick(2, 1e300), noise=noise.additive(0.1), **BOUNDED.get(name, {})
    )
    assert (seen.diverged_at == 3).all()
    assert_no_nan(seen)
    for variable in ("grad_norm", "loss", "loss_gap", "error", "grad_norm_mean", "grad_norm_squared_mean"):
        assert np.isposinf(seen[variable].isel(step=-1)).all()


def test_slow_growth_is_dated_by_its_overflow():
    """sgd at lr = 1001 on F = x^2 / 2 multiplies x by -1000: |x_t| = 10^(3 (t - 1)) passes 1e154 (its square overflows)."""
    seen = run("sgd", problem=problems.quadratic((1.0,)), steps=120, lr=1001.0, record=list(range(1, 121))).isel(seed=0)
    first = int(seen.diverged_at)
    assert 50 <= first <= 105
    sizes = seen.grad_norm.sel(step=slice(1, first - 1))
    np.testing.assert_allclose(sizes, 10.0 ** (3.0 * (sizes.step.values - 1)), rtol=1e-9)
    assert np.isposinf(seen.grad_norm.sel(step=slice(first, None))).all()


@pytest.mark.parametrize("name", ["sgd", "mars_adamw", "mars_shampoo"])
def test_overwhelming_noise_in_one_lane_leaves_the_others_alone(name):
    options = {"problem": MATRIX, "steps": STEPS, "seeds": 4, "orthogonalization": "polar"} if name == "mars_shampoo" else {}
    options = {"problem": MATRIX, "steps": STEPS, "seeds": 4, "lr": 0.1} | options
    seen = run(name, noise=noise.additive(sigma=[0.1, 1e308, 0.2]), **options)
    calm = run(name, noise=noise.additive(sigma=[0.1, 0.2]), **options)
    assert_no_nan(seen)
    for variable in ("grad_norm", "error", "diverged_at"):
        np.testing.assert_array_equal(seen[variable].sel(sigma=[0.1, 0.2]), calm[variable])


def test_minibatch_lanes_diverge_too():
    rates = [0.01, Kick(4, 1e300), 0.02]
    options = {"problem": ROWS, "noise": noise.minibatch(4), "steps": STEPS, "seeds": 3}
    seen, calm = run("mars", lr=rates, **options), run("mars", lr=[0.01, 0.02], **options)
    assert_no_nan(seen)
    np.testing.assert_allclose(seen.grad_norm.isel(lr=[0, 2]).values, calm.grad_norm.values, rtol=1e-12)
