"""State follows the type of its parameter, which may change midway."""

import shutil

import pytest
import torch
from optim_cases import network, same, weights

from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, Shampoo, compiled

CLASSES = [MarsAdamW, MarsLion, MarsShampoo, AdamW, Lion, Muon, Shampoo]
every_class = pytest.mark.parametrize("make", CLASSES, ids=lambda c: c.__name__)


def gradients(params, seed):
    """Seeded gradients, rounded to float32, so that every type walks on the same."""
    generator = torch.Generator().manual_seed(seed)
    for p in params:
        p.grad = torch.randn(p.shape, generator=generator).to(p.dtype)


@pytest.fixture
def small_is_large(monkeypatch):
    for name, value in (("LARGE", 24), ("MEDIUM", 6), ("_graphs", {}), ("_reasons", [])):
        monkeypatch.setattr(compiled, name, value)


def cast_midway(make, how, **options):
    """State after two steps in float32 and two in float64, which comes by .double() or by a checkpoint."""
    start = [torch.full((8, 4), 0.5), torch.full((6,), 0.5), torch.full((5,), 0.5)]
    params = [torch.nn.Parameter(p) for p in start]
    optimizer = make(params, **options)
    for t in range(4):
        if t == 2 and how == "double":
            for p in params:
                p.data = p.data.double()
        elif t == 2:
            params, saved = [torch.nn.Parameter(p.detach().double()) for p in params], optimizer.state_dict()
            optimizer = make(params, **options)
            optimizer.load_state_dict(saved)
        gradients(params, t)
        optimizer.step()
    return optimizer


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("how", ["double", "checkpoint"])
@every_class
def test_state_follows_the_type_of_the_parameter(make, how, large, request):
    """Whatever the size, nothing is written into a copy that is thrown away, and nothing stays in float32."""
    if large:
        if not (shutil.which("g++") or shutil.which("clang++")) or make is not MarsAdamW:
            pytest.skip("no compiler, or a path that others cover")
        request.getfixturevalue("small_is_large")
    optimizer, whole = cast_midway(make, how), cast_midway(make, "never", compiled="never")
    assert not compiled._reasons
    for p, q in zip(optimizer.handed, whole.handed, strict=True):
        mine, wanted = optimizer.state[p], whole.state[q]
        assert mine["t"] == 4 and p.dtype == torch.float64
        tensors = [mine[name] for name in ("previous", "last") if name in mine] + list(mine["memory"].values())
        assert all(value.dtype == torch.float64 for value in tensors)
        torch.testing.assert_close(p.detach(), q.detach(), rtol=1e-4, atol=1e-6, check_dtype=False)
        torch.testing.assert_close(mine["memory"], wanted["memory"], rtol=1e-4, atol=1e-6, check_dtype=False)
        if "previous" in mine:
            assert torch.equal(mine["previous"], p.grad)


def test_the_places_of_the_exact_mode_follow_the_type():
    model = network().float()
    optimizer = MarsAdamW(model, exact=True)

    def closure():
        optimizer.zero_grad()
        loss = sum(p.square().sum() for p in model.parameters())
        loss.backward()
        return loss

    for t in range(4):
        if t == 2:
            model.double()
        before = weights(model)
        optimizer.step(closure)
        same([optimizer.state[p]["last"] for p in model.parameters()], before, tolerance=0)


def test_a_master_copy_does_not_outlive_sixteen_bits():
    p = torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    optimizer = AdamW([p])
    gradients([p], 0)
    optimizer.step()
    p.data, p.grad = p.data.float(), None
    gradients([p], 1)
    optimizer.step()
    assert "master" not in optimizer.state[p] and (p != 1).all()
