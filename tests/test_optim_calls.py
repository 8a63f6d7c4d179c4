"""Steps that cannot be taken are refused in one sentence, before anything has moved."""

import numpy as np
import pytest
import torch
from optim_cases import closure_of, loss_of, network, same, train, weights

from marslab.errors import UsageError
from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, Shampoo

CLASSES = [MarsAdamW, MarsLion, MarsShampoo, AdamW, Lion, Muon, Shampoo]
every_class = pytest.mark.parametrize("make", CLASSES, ids=lambda c: c.__name__)


def parameter(*shape, dtype=torch.float64):
    return torch.nn.Parameter(torch.ones(shape, dtype=dtype))


@every_class
def test_stochastic_rounding_is_not_for_float16(make):
    with pytest.raises(UsageError, match="rounding='master' for float16"):
        make([parameter(2, 2, dtype=torch.float16)], rounding="stochastic")
    optimizer = make([parameter(2, 2)], rounding="stochastic")
    with pytest.raises(UsageError, match="rounding='master' for float16"):
        optimizer.add_param_group({"params": [parameter(2, 2, dtype=torch.float16)]})
    assert len(optimizer.param_groups) == 1
    model = network()
    optimizer = make(model, rounding="stochastic")
    train(model, optimizer, 1)
    model[3].half()
    before = [*weights(model), *(state["t"] for state in optimizer.state.values())]
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    with pytest.raises(UsageError, match="rounding='master' for float16"):
        optimizer.step()
    after = [*weights(model), *(state["t"] for state in optimizer.state.values())]
    assert all(torch.equal(a, b) if torch.is_tensor(a) else a == b for a, b in zip(before, after, strict=True))


@every_class
def test_what_is_no_closure(make):
    model = network()
    optimizer = make(model)
    for wrong, remedy in ((loss_of(model, 1), r"step\(\) after backward"), ([None], r"step\(prev_grads="), (3.0, r"step\(\)")):
        with pytest.raises(UsageError, match=f"step takes a closure, not a .*{remedy}"):
            optimizer.step(wrong)


def nested(p):
    """Views of a parameter's own gradient, in every disguise."""
    return [p.grad, p.grad.detach(), p.grad.view(-1).view(p.shape), p.grad.T.T, p.grad.data]


@pytest.mark.parametrize("disguise", range(5))
@pytest.mark.parametrize("whose", [0, 1])
def test_earlier_gradients_share_no_memory_with_any_gradient(disguise, whose):
    params = [parameter(2, 3), parameter(2, 3)]
    optimizer = MarsAdamW(params, exact=True)
    for p in params:
        p.grad = torch.ones_like(p)
    with pytest.raises(UsageError, match=r"prev_grads\[0\] shares its memory"):
        optimizer.step(prev_grads=[nested(params[whose])[disguise], None])
    assert not optimizer.state
    flat = torch.ones(12, dtype=torch.float64)  # one buffer for all gradients, as some wrappers have it
    for place, p in enumerate(params):
        p.grad = flat[6 * place : 6 * place + 6].view(2, 3)
    with pytest.raises(UsageError, match="shares its memory"):
        optimizer.step(prev_grads=[None, params[0].grad])
    optimizer.step(prev_grads=[p.grad.clone() for p in params])


@pytest.mark.parametrize(
    "entry, sentence",
    [
        (torch.ones(2, 3), r"prev_grads\[1\] has type torch.float32 for a parameter of torch.float64"),
        (torch.ones(2, 3, dtype=torch.complex128), "has type torch.complex128"),
        (torch.ones(2, 3, dtype=torch.int64), "has type torch.int64"),
        (torch.ones(2, 3, dtype=torch.float64, device="meta"), "lies on meta and its parameter on cpu"),
        (torch.ones(3, 2, dtype=torch.float64), "has shape"),
        (np.ones((2, 3)), "keep the order"),
    ],
)
def test_earlier_gradients_of_another_kind(entry, sentence):
    params = [parameter(2, 3), parameter(2, 3)]
    optimizer = MarsAdamW(params, exact=True)
    for p in params:
        p.grad = torch.ones_like(p)
    with pytest.raises(UsageError, match=sentence):
        optimizer.step(prev_grads=[None, entry])
    assert not optimizer.state and (params[0] == 1).all()
    for odd in (3, "none", {0: None}, torch.ones(2)):
        with pytest.raises(UsageError, match="give a list with one gradient"):
            optimizer.step(prev_grads=odd)


def test_large_norms_under_the_global_clip():
    """float32 gradients whose squares overflow are clipped to the radius."""
    params = [parameter(2, 2, dtype=torch.float32), parameter(3, dtype=torch.float32)]
    optimizer = MarsAdamW(params, clip_scope="global", betas=(0.0, 0.99))
    for p in params:
        p.grad = torch.full_like(p, 1e25)
    optimizer.step()
    for p in params:
        m = optimizer.state[p]["memory"]["m"]
        torch.testing.assert_close(m, torch.full_like(m, 7**-0.5), rtol=1e-6, atol=0)


def test_a_sentence_for_a_bad_call_leaves_a_good_one_possible():
    model, other = network(), network()
    optimizer = MarsAdamW(model)
    with pytest.raises(UsageError):
        optimizer.step([None])
    optimizer.param_groups[0]["lr"] = -1.0
    with pytest.raises(UsageError):
        optimizer.step(closure_of(model, optimizer, 1))
    optimizer.param_groups[0]["lr"] = 3e-3
    same(train(model, optimizer, 2), train(other, MarsAdamW(other), 2), tolerance=0)
