"""The pieces one by one, against the equations they quote: numbers by numpy, identities by sympy."""

import math

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st

from marslab.pieces import adam_direction, clip, correct, ema, newton_schulz, orthogonalize, polar_factor

FINITE = st.floats(-1e6, 1e6)


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rotation(size, seed):
    return torch.linalg.qr(normal(size, size, seed=seed))[0]


def with_singular_values(values, rows, columns, seed=0):
    values = torch.as_tensor(values, dtype=torch.float64)
    return rotation(rows, seed)[:, : len(values)] * values @ rotation(columns, seed + 1)[: len(values)]


def test_correct_and_ema_take_symbols():
    g, prev, gamma, beta, m = sympy.symbols("g prev gamma beta m")
    c = correct(g, prev, gamma=gamma, beta=beta)
    assert sympy.simplify(c - g - gamma * beta * (g - prev) / (1 - beta)) == 0
    averaged = sympy.expand(ema(m, c, beta))
    assert sympy.simplify(averaged - (beta * m + (1 - beta) * g + gamma * beta * (g - prev))) == 0
    storm = g + beta * (m - prev)  # gamma = 1 is STORM's recursion
    assert sympy.simplify(averaged.subs(gamma, 1) - storm) == 0
    assert clip(c, math.inf) == (c, 1.0)


@given(FINITE, FINITE, st.floats(-2, 2), st.floats(0, 0.999))
def test_correct_in_numbers(g, prev, gamma, beta):
    expected = g + gamma * beta / (1 - beta) * (g - prev)
    assert correct(g, prev, gamma=gamma, beta=beta) == pytest.approx(expected, rel=1e-12, abs=1e-9)
    assert correct(g, g, gamma=gamma, beta=beta) == g


def test_infinite_radius_returns_the_object_itself():
    c = normal(3, 2)
    for radius in (math.inf, float("inf"), np.float64("inf")):
        assert clip(c, radius)[0] is c
        assert clip(c, radius, axes=(-1,), norm=torch.tensor(9.0))[0] is c


@given(st.lists(FINITE, min_size=1, max_size=6), st.floats(1e-3, 1e3))
def test_clip_lands_in_the_ball_and_keeps_direction(values, radius):
    c = torch.tensor(values, dtype=torch.float64)
    clipped, scale = clip(c, radius)
    size = torch.linalg.vector_norm(c).item()
    assert torch.linalg.vector_norm(clipped).item() <= radius * (1 + 1e-14)
    assert scale.item() == pytest.approx(min(1.0, radius / size) if size else 1.0, rel=1e-14)
    if size <= radius:
        assert torch.equal(clipped, c)


def test_clip_takes_lanes_of_radii_and_a_norm_handed_over():
    c = normal(3, 4, 2)
    radii = torch.tensor([0.1, 1.0, math.inf], dtype=torch.float64).reshape(3, 1, 1)
    clipped, scale = clip(c, radii, axes=(-2, -1))
    assert scale.shape == (3, 1, 1)
    for lane in range(3):
        assert torch.equal(clipped[lane], clip(c[lane], radii[lane].item())[0])
    assert torch.equal(clipped[2], c[2])
    norm = torch.tensor([10.0, 0.5, 2.0], dtype=torch.float64).reshape(3, 1, 1)
    by_norm, scale = clip(c, 1.0, axes=(-2, -1), norm=norm)
    torch.testing.assert_close(scale.flatten(), torch.tensor([0.1, 1.0, 0.5], dtype=torch.float64), rtol=1e-15, atol=0)
    assert torch.equal(by_norm, c * scale)


def test_clip_of_scalars_does_not_mix_lanes():
    clipped, scale = clip(torch.tensor([3.0, -0.5, 4.0]), 1.0, axes=())
    assert torch.allclose(clipped, torch.tensor([1.0, -0.5, 1.0]))
    assert scale.shape == (3,)


def test_clip_of_zero_is_zero_and_one_bad_lane_stays_alone():
    c = torch.zeros(3, 2, dtype=torch.float64)
    c[1] = math.nan
    c[2, 0] = math.inf
    clipped, _ = clip(c, 1.0, axes=(-1,))
    assert not clipped[0].any()
    assert torch.isnan(clipped[1]).all() and torch.isnan(clipped[2, 0])


@given(st.lists(FINITE, min_size=2, max_size=30), st.floats(0, 0.99), st.floats(0, 0.99))
def test_bias_correction_recovers_a_constant(signs, beta1, beta2):
    """With g constant both corrected moments are exact, so the direction is sign(g) whatever the betas."""
    m = v = torch.tensor(0.0, dtype=torch.float64)
    products, g = [1.0, 1.0], signs[0] if abs(signs[0]) > 1e-3 else 1.0
    for _ in signs:
        m, v = ema(m, g, beta1), ema(v, g * g, beta2)
        products = [products[0] * beta1, products[1] * beta2]
        direction = adam_direction(m, v, beta1_product=products[0], beta2_product=products[1], eps=0.0)
        assert direction.item() == pytest.approx(math.copysign(1, g), rel=1e-9)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 7), (7, 3), (1, 5), (5, 1)])
def test_polar_is_the_product_of_the_singular_vectors(rows, columns):
    m = normal(6, rows, columns)
    for lane in range(6):
        u, _, vt = np.linalg.svd(m[lane].numpy(), full_matrices=False)
        np.testing.assert_allclose(polar_factor(m)[lane], u @ vt, atol=1e-12)
    torch.testing.assert_close(polar_factor(1e-150 * m), polar_factor(m), rtol=0, atol=1e-12)


def test_polar_is_zero_on_the_null_space():
    m = with_singular_values([3.0, 0.5], 5, 4)
    values = torch.linalg.svdvals(polar_factor(m))
    torch.testing.assert_close(values, torch.tensor([1.0, 1.0, 0.0, 0.0], dtype=torch.float64), rtol=0, atol=1e-12)
    for method in ("polar", "newton_schulz"):
        assert not orthogonalize(torch.zeros(2, 4, 3), method=method).any()


@pytest.mark.parametrize("method", ["polar", "newton_schulz"])
@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 6), (6, 3)])
def test_orthogonalize_is_equivariant(method, rows, columns):
    m, left, right = normal(rows, columns), rotation(rows, 5), rotation(columns, 6)
    turned = orthogonalize(left @ m @ right, method=method)
    torch.testing.assert_close(turned, left @ orthogonalize(m, method=method) @ right, rtol=0, atol=1e-12)
    torch.testing.assert_close(orthogonalize(m.mT, method=method), orthogonalize(m, method=method).mT, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["polar", "newton_schulz"])
def test_event_axes_may_stand_anywhere(method):
    m = normal(4, 3, 2, 2)  # rows 4, columns 3 * 2 * 2
    flat = orthogonalize(m.reshape(4, 12), method=method).reshape(m.shape)
    torch.testing.assert_close(orthogonalize(m, method=method), flat, rtol=0, atol=1e-12)
    lanes = torch.stack([m, 2 * m.flip(0), -m])
    plain = orthogonalize(lanes, method=method, axes=(-4, -3, -2, -1))
    torch.testing.assert_close(plain[0], flat, rtol=0, atol=1e-12)
    last = orthogonalize(lanes.movedim(0, -1), method=method, axes=(0, 1, 2, 3))
    torch.testing.assert_close(last.movedim(-1, 0), plain, rtol=0, atol=1e-12)
    middle = orthogonalize(lanes.movedim(0, 2), method=method, axes=(0, 1, 3, 4))
    torch.testing.assert_close(middle.movedim(2, 0), plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["polar", "newton_schulz"])
def test_a_lane_that_is_not_finite_spoils_no_other(method):
    m = normal(3, 4, 4)
    expected = orthogonalize(m, method=method, axes=(-2, -1))
    m[1, 0, 0] = math.nan
    out = orthogonalize(m, method=method, axes=(-2, -1))
    assert torch.isnan(out[1]).any()
    torch.testing.assert_close(out[[0, 2]], expected[[0, 2]], rtol=0, atol=1e-12)


def test_newton_schulz_reaches_the_range_that_it_states():
    """Singular values go through one polynomial, so the range is that polynomial's image of [lowest, 1]."""
    values, grid = torch.logspace(-4, 0, 20001, dtype=torch.float64), None
    grid = values.clone()
    for _ in range(5):
        grid = 3.4445 * grid - 4.7750 * grid**3 + 2.0315 * grid**5
    assert 0.68 < grid[values >= 0.002].min() < 0.682 and 1.20 < grid[values >= 0.002].max() < 1.21
    assert grid[values >= 0.01].min() > 0.68 and grid[values >= 0.01].max() < 1.14
    assert (grid / values).max() < 485 and grid[values < 0.001].max() < 0.48
    seen = [0.9, 0.4, 0.1, 0.05, 0.002]
    seen = [s / math.sqrt(sum(v * v for v in seen)) for s in seen]
    reached = torch.linalg.svdvals(newton_schulz(3 * with_singular_values(seen, 7, 5)))
    expected = torch.tensor(np.interp(seen, values.numpy(), grid.numpy()))
    torch.testing.assert_close(reached.sort().values, expected.sort().values, rtol=0, atol=1e-5)
