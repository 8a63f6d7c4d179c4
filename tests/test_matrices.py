"""Inverse roots on degenerate matrices, and orthogonalisation as released."""

import pytest
import torch

from marslab.matrices import inverse_root, mars_released, moonlight_released, muon_released
from marslab.optimizers import RULES
from marslab.pieces import newton_schulz, polar_factor


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_inverse_roots_invert_on_the_range_and_vanish_off_it(rank, dtype):
    base = normal(5, rank, dtype=dtype) if rank else torch.zeros(5, 1, dtype=dtype)
    a = base @ base.mT
    root = inverse_root(a)
    assert root.dtype == dtype and torch.isfinite(root).all()
    range_of_a = polar_factor(base) @ polar_factor(base).mT
    fourth = torch.linalg.matrix_power(root.double(), 4) @ a.double()
    torch.testing.assert_close(fourth, range_of_a.double(), rtol=0, atol=1e-8 if dtype == torch.float64 else 2e-2)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("condition", [1e2, 1e8, 1e16, 1e300])
def test_inverse_roots_of_ill_conditioned_matrices(condition, dtype):
    orthogonal = torch.linalg.qr(normal(4, 4))[0]
    values = torch.tensor([1.0, condition**-0.3, condition**-0.6, condition**-1.0], dtype=torch.float64)
    a = ((orthogonal * values) @ orthogonal.mT).to(dtype)
    root = inverse_root((a + a.mT) / 2)
    assert torch.isfinite(root).all()
    low = torch.finfo(dtype).eps * 4
    assert torch.linalg.matrix_norm(root.double(), 2) <= 1.01 * max(low**-0.25, 1)
    kept = values > 100 * low  # directions that the precision resolves
    wanted = (orthogonal * torch.where(kept, values**-0.25, 0)) @ orthogonal.mT
    part = orthogonal[:, kept]
    torch.testing.assert_close(part.mT @ root.double() @ part, part.mT @ wanted @ part, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_inverse_roots_follow_the_scale(scale):
    a = normal(4, 4)
    a = a @ a.mT
    torch.testing.assert_close(inverse_root(a * scale) * scale**0.25, inverse_root(a), rtol=1e-7, atol=1e-9)


def test_inverse_roots_of_lanes_and_of_what_is_not_finite():
    a = normal(3, 4, 4)
    a = a @ a.mT
    a[1, 0, 0] = float("nan")
    roots = inverse_root(a)
    assert torch.isnan(roots[1]).all()
    torch.testing.assert_close(roots[[0, 2]], torch.stack([inverse_root(a[0]), inverse_root(a[2])]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("statistics", ["ema", "sum"])
@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (1, 3), (3, 1)])
@pytest.mark.parametrize("rank", [1, 2])
def test_one_step_of_shampoo_is_the_polar_factor(statistics, shape, rank):
    rank = min(rank, *shape)
    g = normal(shape[0], rank) @ normal(rank, shape[1], seed=1)
    rule, x = RULES["shampoo"], torch.zeros(shape, dtype=torch.float64)
    new, _ = rule(x, rule.init(x), g, lr=1.0, statistics=statistics)
    torch.testing.assert_close(-new, polar_factor(g), rtol=0, atol=1e-7)


@pytest.mark.parametrize("statistics", ["ema", "sum"])
def test_shampoo_is_its_recursion(statistics):
    rule, x, beta = RULES["shampoo"], torch.zeros(3, 5, dtype=torch.float64), 0.9
    state, left, right, point = rule.init(x), torch.zeros(3, 3), torch.zeros(5, 5), x
    for t in range(1, 9):
        g = normal(3, 5, seed=t)
        x, state = rule(x, state, g, lr=0.1, beta2=beta, weight_decay=0.3, statistics=statistics)
        keep, add = (beta, 1 - beta) if statistics == "ema" else (1.0, 1.0)
        left, right = keep * left + add * g @ g.mT, keep * right + add * g.mT @ g
        scale = 1 - beta**t if statistics == "ema" else 1.0
        step = power(left / scale) @ g @ power(right / scale)
        point = point - 0.1 * (step + 0.3 * point)
        if t > 1:  # before, the right factor has no inverse
            torch.testing.assert_close(x, point, rtol=1e-6, atol=1e-6)
        x, state = x.clone(), state
        point = x.clone()


def power(a):
    """a^(-1/4) by its singular values, zero where they are nil."""
    u, s, _ = torch.linalg.svd(a.double())
    return (u * torch.where(s > 1e-12 * s[0], s.clamp(min=1e-300) ** -0.25, 0)) @ u.mT


@pytest.mark.parametrize("released", [mars_released, moonlight_released, muon_released])
@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5), (2, 3, 4, 6)])
def test_released_forms_lie_near_newton_schulz_in_full_precision(released, shape):
    m = normal(*shape)
    found = released(m)
    assert found.dtype == m.dtype and found.shape == m.shape
    assert (found - newton_schulz(m)).abs().max() < 0.1
    if len(shape) > 2:
        alone = torch.stack([released(part) for part in m.reshape(-1, *shape[-2:])]).reshape(shape)
        assert (found - alone).abs().max() < 0.05
    assert not released(torch.zeros(shape, dtype=torch.float64)).any()


MOMENTA = {"mars_m": 0.05, "muon_mvr": 0.05, "scion": 0.1, "moonlight": 1.95, "mars_m_efficient": 0.07375}  # after one step


@pytest.mark.parametrize("shape", [(4, 6), (6, 4)])
@pytest.mark.parametrize("name", MOMENTA)
def test_released_steps_are_those_of_bfloat16(name, shape):
    """The public code's operations on the first momentum of a small gradient, each product and sum rounded to eight bits."""
    rule, g = RULES[name], normal(*shape) / 100
    wide = (MOMENTA[name] * (g if shape[0] < shape[1] else g.mT)).bfloat16()
    wide = wide / (wide.norm() + 1e-7)
    for _ in range(5):
        square = wide @ wide.mT
        wide = 3.4445 * wide + (-4.7750 * square + 2.0315 * square @ square) @ wide
    wanted = (wide if shape[0] < shape[1] else wide.mT).double()
    scale = 50 * (shape[0] / shape[1]) ** 0.5 if name == "scion" else 0.2 * 6**0.5
    inputs = (g, g) if rule.prev == "either" else (g,)
    new, _ = rule(torch.zeros_like(g), rule.init(g), *inputs, lr=1.0, orthogonalization="released")
    torch.testing.assert_close(-new / scale, wanted, rtol=0, atol=1e-12)
