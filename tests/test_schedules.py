"""Schedules against their formulas, and the feasibility of the theorem's."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from marslab.errors import UsageError
from marslab.schedules import Cosine, PowerLaw, TheoremBeta, Warmup, feasible, smallest_feasible_s, theorem

T = torch.arange(1, 101, dtype=torch.float64)
EVERY = [PowerLaw(2.0, 0.5, 3.0), Cosine(1.0, 60, 0.1), Warmup(0.3, 10), Warmup(PowerLaw(1.0, 0.5), 10), TheoremBeta(33, 190)]


@pytest.mark.parametrize("schedule", EVERY, ids=str)
def test_floats_arrays_and_tensors_agree(schedule):
    by_tensor = schedule(T)
    assert by_tensor.shape == T.shape and by_tensor.dtype == torch.float64
    np.testing.assert_allclose(np.asarray(schedule(T.numpy())), by_tensor, rtol=1e-14)
    for t in (1, 2, 9, 10, 11, 60, 61, 100):
        assert float(schedule(t)) == pytest.approx(float(by_tensor[t - 1]), rel=1e-14, abs=1e-16)


@pytest.mark.parametrize("schedule", EVERY, ids=str)
def test_schedules_are_values(schedule):
    copy = type(schedule)(**vars(schedule))
    assert copy == schedule and hash(copy) == hash(schedule) and str(copy) == str(schedule)
    assert "object at 0x" not in str(schedule)


def test_formulas():
    np.testing.assert_allclose(PowerLaw(2.0, 0.5, 3.0)(T), [2.0 / math.sqrt(3 + t) for t in range(1, 101)], rtol=1e-14)
    cosine = Cosine(1.0, 61, 0.2)
    assert [float(cosine(t)) for t in (1, 31, 61, 90)] == pytest.approx([1.0, 0.6, 0.2, 0.2])
    assert float(Cosine(0.7, 1)(1)) == pytest.approx(0.7)
    np.testing.assert_allclose(Warmup(0.3, 10)(T), [0.3 * min(1, t / 10) for t in range(1, 101)], rtol=1e-14)
    np.testing.assert_allclose(Warmup(PowerLaw(1.0, 0.5), 4)(T)[:5], [0.25, 0.5 / 2**0.5, 0.75 / 3**0.5, 0.5, 5**-0.5])


@given(st.floats(1e-3, 1e4), st.just(0.0) | st.floats(0, 1e3))
def test_theorem_is_feasible_from_the_smallest_s_on(c, more):
    s = max(smallest_feasible_s(c), 0.0) + more
    assert feasible(c, s)
    schedules, t = theorem(c, s), torch.arange(1, 10_001, dtype=torch.float64)
    beta, lr = schedules["beta1"](t), schedules["lr"](t)
    torch.testing.assert_close(lr, (s + t) ** (-1 / 3), rtol=1e-13, atol=0)
    assert beta[0] == 0
    torch.testing.assert_close(beta[1:], 1 - c * lr[:-1] ** 2, rtol=1e-10, atol=1e-12)
    assert beta.min() >= 0 and beta.max() < 1
    assert (beta[1:].diff() >= 0).all()


@given(st.floats(1.001, 1e5), st.floats(1e-6, 0.99))
def test_what_the_refusal_advises_is_accepted(c, share):
    s = share * smallest_feasible_s(c)
    with pytest.raises(UsageError, match="leave") as caught:
        theorem(c, s)
    advised = float(re.search(r"s >= ([\d.e+]+[\de])\.$", str(caught.value)).group(1))
    theorem(c, advised)
    assert advised <= smallest_feasible_s(c) + 0.0011


def test_the_published_smallest_s_is_refused_and_the_repaired_one_accepted():
    """c = 33, s = 8 for L = rho = 1: beta_2 = 1 - 33 / 9^(2/3) = -6.63."""
    with pytest.raises(UsageError, match=r"theorem\(c=33, s=8\) makes beta1 leave \[0, 1\) at t = 2; choose s >= 188.571\."):
        theorem(c=33, s=8)
    assert float(TheoremBeta(33, 8)(2)) == pytest.approx(-6.63, abs=0.005)
    assert set(theorem(c=33, s=190)) == {"lr", "beta1"}
    theorem(1, 0)


@pytest.mark.parametrize("c", [0, -1.0, math.nan, math.inf, "33", None])
def test_a_c_that_is_no_positive_number_is_refused(c):
    with pytest.raises(UsageError, match=re.escape(f"theorem(c={c!r}, s=190) needs a positive number c")):
        theorem(c, 190)


@pytest.mark.parametrize("s", [-0.5, math.nan, "8", None])
def test_an_s_that_is_no_number_from_0_on_is_refused(s):
    with pytest.raises(UsageError, match=r"choose s >= 0\."):
        theorem(1.0, s)
