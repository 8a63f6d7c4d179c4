"""Hyper-parameters in lanes: a number, a list or a function of t, each at its place in the product of axes."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from marslab.errors import UsageError
from marslab.lanes import CHUNK, Lanes
from marslab.schedules import Cosine, PowerLaw


def lanes(steps=20, dtype=torch.float64, **values):
    return Lanes(values, steps=steps, dtype=dtype)


VALUES = st.one_of(
    st.floats(0, 0.9), st.lists(st.floats(0, 0.9), min_size=1, max_size=3, unique=True), st.just(PowerLaw(0.5, 0.5))
)


@given(st.dictionaries(st.sampled_from(["lr", "beta1", "gamma", "own"]), VALUES), st.integers(0, 3), st.integers(1, 20))
def test_every_lane_gets_its_own_combination(values, event_ndim, t):
    table = lanes(**values)
    assert table.shape == tuple(len(v) for v in values.values() if isinstance(v, list))
    table.prepare(1, 20)
    now = table.at(t, event_ndim)
    assert set(now) == set(values)
    for place in np.ndindex(*table.shape):
        axes = iter(place)
        for name, value in values.items():
            index = next(axes) if isinstance(value, list) else None
            expected = value[index] if isinstance(value, list) else value(float(t)) if callable(value) else value
            seen = now[name]
            if isinstance(value, list):
                seen = seen.expand(*table.shape, 1, *(1 for _ in range(event_ndim)))[place].item()
            assert seen == pytest.approx(expected, rel=1e-15)
            assert isinstance(seen, float)


def test_an_axis_may_hold_schedules_and_numbers():
    table = lanes(lr=[PowerLaw(1.0, 0.5), 0.25, Cosine(1.0, 10)], beta1=[0.1, 0.2])
    table.prepare(5, 8)
    seen = table.at(6, 2)
    assert seen["lr"].shape == (3, 1, 1, 1, 1) and seen["beta1"].shape == (1, 2, 1, 1, 1)
    expected = [PowerLaw(1.0, 0.5)(6), 0.25, float(Cosine(1.0, 10)(6))]
    np.testing.assert_allclose(seen["lr"].flatten(), expected, rtol=1e-15)
    coordinates = table.coordinates()
    assert coordinates["lr"] == [str(PowerLaw(1.0, 0.5)), "0.25", str(Cosine(1.0, 10))]
    assert coordinates["beta1"].dtype == np.float64


def test_arrays_tensors_and_fractions_are_axes_or_numbers():
    table = lanes(
        lr=np.array([0.1, 0.2]), gamma=torch.tensor([1.0]), beta1=(Fraction(1, 4), 0), eps=np.float64(0.5), nu=torch.tensor(2)
    )
    assert table.shape == (2, 1, 2)
    assert table.at(1)["beta1"].flatten().tolist() == [0.25, 0.0]
    assert table.at(1)["eps"] == 0.5 and type(table.at(1)["eps"]) is float
    assert table.at(1)["nu"] == 2 and type(table.at(1)["nu"]) is int


def test_constants_and_options_pass_unchanged():
    table = lanes(clip_radius=float("inf"), orthogonalization="polar", flag=True, period=3)
    assert table.at(1) == {"clip_radius": float("inf"), "orthogonalization": "polar", "flag": True, "period": 3}
    assert table.shape == ()


def test_axes_follow_the_dtype_of_the_run():
    table = lanes(dtype=torch.float32, lr=[0.1], beta1=[PowerLaw(0.5, 0.5)])
    table.prepare(1, 20)
    assert {value.dtype for value in table.at(3, 1).values()} == {torch.float32}


def test_a_constant_schedule_counts_at_every_step():
    table = lanes(lr=lambda t: 0.3)
    table.prepare(1, 20)
    assert [table.at(t)["lr"] for t in (1, 20)] == [0.3, 0.3]


def test_numbers_inside_a_schedule_keep_float64():
    table = lanes(lr=lambda t: torch.where(t < 3, 0.1, 0.01), beta1=[lambda t: torch.full_like(t, 0.3), 0.1])
    table.prepare(1, 20)
    assert table.at(1)["lr"] == 0.1 and table.at(1)["beta1"].flatten().tolist() == [0.3, 0.1]
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("bad", [3, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + 7])
def test_a_schedule_is_checked_at_every_step(bad):
    leaving = lambda t: torch.where(t == bad, 1.0, 0.5)
    with pytest.raises(UsageError, match=r"beta1 = 1 lies outside \[0, 1\)"):
        lanes(beta1=leaving, steps=CHUNK + 7)
    with pytest.raises(UsageError, match=r"beta1 = 1 lies outside \[0, 1\)"):
        lanes(beta1=[0.5, leaving], steps=CHUNK + 7)
    lanes(beta1=leaving, steps=bad - 1)


def test_a_value_that_leaves_its_range_by_rounding_is_refused():
    lanes(beta1=[1 - 1e-9])
    with pytest.raises(UsageError, match=r"beta1 = 0.999999999 lies outside \[0, 1\) in float32"):
        lanes(beta1=[1 - 1e-9], dtype=torch.float32)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"lr": []}, r"lr = \[\] is an empty axis; give at least one value"),
        ({"lr": np.zeros(0)}, "is an empty axis"),
        ({"lr": [0.1, True]}, "lr holds True, which cannot be an axis; run once for each value"),
        ({"lr": ["polar"]}, "lr holds 'polar'"),
        ({"lr": [[0.1]]}, r"lr holds \[0.1\]"),
        ({"lr": [0.1, None]}, "lr holds None"),
        ({"lr": [0.1, 0.2, 0.1]}, "lr holds 0.1 twice; give each value of an axis once"),
        ({"lr": [PowerLaw(1.0, 0.5), PowerLaw(1.0, 0.5)]}, "twice"),
        ({"lr": -0.1}, r"lr = -0.1 lies outside \[0, inf\); choose a value inside"),
        ({"lr": [0.1, -2]}, "lr = -2 lies outside"),
        ({"lr": float("inf")}, "lr = inf"),
        ({"beta1": 1}, r"beta1 = 1 lies outside \[0, 1\)"),
        ({"beta2": [0.5, 1.5]}, "beta2 = 1.5"),
        ({"gamma": float("nan")}, "gamma = nan"),
        ({"mine": float("nan")}, "mine = nan"),
        ({"mine": [1.0, float("nan")]}, "mine = nan"),
        ({"clip_radius": 0}, r"clip_radius = 0 lies outside \(0, inf\]"),
        ({"lr": PowerLaw(1.0, 0.5, -2.0)}, "lr = nan lies outside"),
        ({"lr": lambda t: torch.ones(3)}, r"gives shape \(3,\) for 20 steps; return one number a step"),
        ({"lr": lambda t: t.reshape(-1, 1)}, r"gives shape \(20, 1\)"),
        ({"lr": lambda t: 0.1 if t < 5 else 0.2}, "fails on a tensor of steps.*use torch functions of t"),
        ({"lr": lambda t: "fast"}, "fails on a tensor of steps"),
        ({"lr": [0.1, lambda t: None]}, "fails on a tensor of steps"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(values, words):
    with pytest.raises(UsageError, match=words) as caught:
        lanes(**values)
    assert "\n" not in str(caught.value)
