"""Shapes, memory layouts and types of parameters."""

import math

import pytest
import torch
from optim_cases import same

from marslab.errors import UsageError
from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, RuleOptimizer, Shampoo
from marslab.optim.view import stochastically_rounded
from marslab.optimizers import RULES

ELEMENTWISE, MATRIX = [MarsAdamW, MarsLion, AdamW, Lion], [MarsShampoo, Muon, Shampoo]
SHAPES = [(), (1,), (5,), (3, 1), (1, 3), (2, 3, 2, 2), (4, 2, 3), (0,), (0, 4)]


def kick(optimizer, seed, dtype=None):
    """One step with seeded normal gradients."""
    generator = torch.Generator().manual_seed(seed)
    for p in optimizer.handed:
        p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64).to(dtype or p.dtype)
    optimizer.step()


@pytest.mark.parametrize("make", ELEMENTWISE + MATRIX)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_every_shape_in_every_type(make, dtype):
    params = [torch.nn.Parameter(torch.ones(shape, dtype=dtype)) for shape in SHAPES]
    optimizer = make(params, lr=0.1, **({"fallback_options": {"lr": 0.1}} if make in MATRIX else {}))
    for seed in range(3):
        kick(optimizer, seed)
    for p in params:
        assert p.dtype == dtype and torch.isfinite(p).all()
        assert (p != 1).any() or not p.numel()


@pytest.mark.parametrize("make", MATRIX)
@pytest.mark.parametrize("shape", [(2, 3, 2, 2), (4, 2, 3), (3, 1, 1, 1)])
def test_filters_are_flattened_to_out_and_rest(make, shape):
    filters = torch.nn.Parameter(torch.ones(shape, dtype=torch.float64))
    flat = torch.nn.Parameter(torch.ones(shape[0], math.prod(shape[1:]), dtype=torch.float64))
    one, two = make([filters]), make([flat])
    for seed in range(3):
        kick(one, seed), kick(two, seed)
    same([filters.flatten(1)], [flat])


@pytest.mark.parametrize("make", ELEMENTWISE + MATRIX)
@pytest.mark.parametrize("layout", ["transposed", "channels last", "strided"])
def test_memory_layout_changes_nothing(make, layout):
    values = torch.randn(4, 3, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    odd = {
        "transposed": lambda v: v.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
        "channels last": lambda v: v.contiguous(memory_format=torch.channels_last),
        "strided": lambda v: torch.stack([v, v], dim=-1)[..., 0],
    }[layout](values)
    assert not odd.is_contiguous()
    p, q = torch.nn.Parameter(odd), torch.nn.Parameter(values.clone())
    one, two = make([p]), make([q])
    for seed in range(3):
        kick(one, seed), kick(two, seed)
    same([p], [q])


@pytest.mark.parametrize("rounding", ["master", "stochastic"])
@pytest.mark.parametrize("make", [MarsAdamW, AdamW])
def test_updates_that_round_to_nothing_are_not_lost(make, rounding):
    """200 steps of a four-hundredth of a bfloat16 spacing each: nearest rounding never moves."""
    p = torch.nn.Parameter(torch.ones(4000, dtype=torch.bfloat16))
    optimizer = make([p], lr=1e-5, weight_decay=0.0, rounding=rounding)
    for _ in range(200):
        p.grad = torch.ones_like(p)
        optimizer.step()
    moved = 1 - p.float().mean().item()
    if rounding == "master":
        master = optimizer.state[p]["master"]
        assert master.dtype == torch.float32 and torch.equal(master.bfloat16(), p)
        torch.testing.assert_close(1 - master, torch.full_like(master, 200e-5), rtol=5e-3, atol=0)
        assert moved > 0
    else:
        assert moved == pytest.approx(200e-5, rel=0.15) and "master" not in optimizer.state[p]
    still = torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    optimizer = make([still], lr=1e-5, weight_decay=0.0, rounding="nearest")
    for _ in range(20):
        still.grad = torch.ones_like(still)
        optimizer.step()
    assert (still == 1).all()


def test_sixteen_bits_walk_beside_a_float32_walk():
    p, q = torch.nn.Parameter(torch.ones(6, 4, dtype=torch.bfloat16)), torch.nn.Parameter(torch.ones(6, 4))
    for make in ELEMENTWISE + MATRIX:
        with torch.no_grad():
            p.fill_(1.0), q.fill_(1.0)
        low, high = make([p]), make([q])
        for seed in range(5):
            kick(low, seed)
            q.grad = p.grad.float()
            high.step()
        same([low.state[p]["master"]], [q], tolerance=0)
        assert all(m.dtype in (torch.float32, torch.float64) for m in low.state[p]["memory"].values())
        if "previous" in low.state[p]:
            assert low.state[p]["previous"].dtype == torch.float32  # c is formed in float32


def test_a_master_copy_follows_who_writes_the_parameter():
    p = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = AdamW([p], lr=1e-4, weight_decay=0.0)
    kick(optimizer, 0)
    with torch.no_grad():
        p[1] = 5.0
    kept = optimizer.state[p]["master"].clone()
    for q in optimizer.handed:
        q.grad = torch.zeros_like(q)
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.step()
    assert optimizer.state[p]["master"][1] == 5.0 and (optimizer.state[p]["master"][[0, 2]] == kept[[0, 2]]).all()


def test_stochastic_rounding_is_unbiased_and_keeps_what_is_exact():
    values = torch.full((200_000,), 1.0 + 0.3 / 128)
    rounded = stochastically_rounded(values, seed=1).float()
    assert set(rounded.unique().tolist()) == {1.0, 1 + 1 / 128}
    assert rounded.mean().item() == pytest.approx(1 + 0.3 / 128, abs=4 / 128 * (0.21 / 200_000) ** 0.5)
    assert torch.equal(stochastically_rounded(values, 1), stochastically_rounded(values, 1))
    assert not torch.equal(stochastically_rounded(values, 1), stochastically_rounded(values, 2))
    exact = torch.tensor([0.0, -0.0, 1.0, -2.5, float("inf"), -float("inf"), 3.3895314e38])
    assert torch.equal(stochastically_rounded(exact, 3), exact.bfloat16())
    assert torch.isnan(stochastically_rounded(torch.tensor([float("nan")]), 3)).all()
    before = torch.get_rng_state()
    stochastically_rounded(values, 5)
    assert torch.equal(torch.get_rng_state(), before)


def test_stochastic_rounding_of_float16_is_refused():
    p = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    with pytest.raises(UsageError, match="rounding='master'"):
        kick(AdamW([p], rounding="stochastic"), 0)


@pytest.mark.parametrize("make", ELEMENTWISE)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("dtype", [torch.complex128, torch.complex64])
def test_complex_parameters_are_pairs_of_reals(make, exact, dtype):
    if exact and make in (AdamW, Lion):
        pytest.skip("has no exact form")
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 4, generator=generator, dtype=dtype)
    p, q = torch.nn.Parameter(start.clone()), torch.nn.Parameter(torch.view_as_real(start).clone())
    one, two = (make([r], **({"exact": True} if exact else {})) for r in (p, q))
    for _ in range(4):
        g, prev = (torch.randn(3, 4, generator=generator, dtype=dtype) for _ in range(2))
        p.grad, q.grad = g, torch.view_as_real(g).clone()
        one.step(**({"prev_grads": [prev]} if exact else {}))
        two.step(**({"prev_grads": [torch.view_as_real(prev)]} if exact else {}))
        assert torch.equal(torch.view_as_real(p.detach()), q)
    again = make([p], **({"exact": True} if exact else {}))
    again.load_state_dict(one.state_dict())


def test_complex_adamw_is_torchs():
    generator = torch.Generator().manual_seed(0)
    p, q = (torch.nn.Parameter(torch.ones(3, dtype=torch.complex128)) for _ in range(2))
    mine, torchs = AdamW([p]), torch.optim.AdamW([q])
    for _ in range(10):
        p.grad = torch.randn(3, generator=generator, dtype=torch.complex128)
        q.grad = p.grad.clone()
        mine.step(), torchs.step()
    same([p], [q])


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.matrix])
def test_complex_matrices_are_refused(name):
    p = torch.nn.Parameter(torch.ones(2, 2, dtype=torch.complex64))
    p.grad = torch.ones_like(p)
    with pytest.raises(UsageError, match="real matrices only"):
        RuleOptimizer([p], name).step()


@pytest.mark.parametrize("make", ELEMENTWISE + MATRIX)
def test_sparse_gradients_are_refused_before_anything_changes(make):
    p, q = torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(3, 2))
    p.grad, q.grad = torch.ones(3, 2), torch.ones(3, 2).to_sparse()
    with pytest.raises(UsageError, match="sparse=False"):
        make([p, q]).step()
    assert torch.equal(p, torch.ones(3, 2))


def test_a_late_parameter_has_its_own_time():
    early, late = (torch.nn.Parameter(torch.ones(2, dtype=torch.float64)) for _ in range(2))
    optimizer = AdamW([early, late], lr=0.1, weight_decay=0.0)
    for t in range(3):
        early.grad, late.grad = torch.ones_like(early), torch.ones_like(late) if t == 2 else None
        optimizer.step()
    torch.testing.assert_close(late.detach(), torch.full_like(late, 0.9), rtol=1e-7, atol=0)  # a first step of Adam


@pytest.mark.parametrize("make", [MarsAdamW, MarsLion])
def test_the_global_clip_takes_the_norm_over_all_tensors(make):
    params = [torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in ((2, 2), (3,))]
    optimizer = make(params, clip_scope="global", clip_radius=0.5)
    grads = [torch.full_like(p, 2.0) for p in params]
    for p, g in zip(params, grads, strict=True):
        p.grad = g
    optimizer.step()
    norm = math.sqrt(7 * 4)
    for p, g in zip(params, grads, strict=True):
        torch.testing.assert_close(optimizer.state[p]["memory"]["m"], 0.05 * g * 0.5 / norm, rtol=1e-14, atol=0)


@pytest.mark.parametrize("lr", [0.1, torch.tensor(0.1), torch.tensor(0.1, dtype=torch.float64)])
def test_a_rate_may_be_a_tensor(lr):
    p, q = (torch.nn.Parameter(torch.ones(2, 2, dtype=torch.float64)) for _ in range(2))
    for make in ELEMENTWISE + MATRIX:
        kick(make([p], lr=lr), 0), kick(make([q], lr=0.1), 0)
    same([p], [q], tolerance=1e-7)
