"""The exact mode: from a closure, from gradients handed over, and what a correction may be taken against."""

import random

import numpy as np
import pytest
import torch
from optim_cases import batch, closure_of, loss_of, network, place, same, train, weights

from marslab.errors import UsageError
from marslab.optim import MarsAdamW, MarsLion, MarsShampoo, RuleOptimizer

EXACT = [
    lambda p, **o: MarsAdamW(p, exact=True, lr=0.01, gamma=0.4, **o),
    lambda p, **o: MarsLion(p, exact=True, lr=0.01, gamma=0.4, **o),
    lambda p, **o: MarsShampoo(p, exact=True, lr=0.01, gamma=0.4, **o),
    lambda p, **o: RuleOptimizer(p, "storm", lr=0.05, **o),
]


def graded(model, t, where=None):
    """Gradients on the batch of step t at the given weights, with the random state as it is now and left as it is."""
    params, here = list(model.parameters()), weights(model)
    place(params, here if where is None else where)
    with torch.random.fork_rng():
        grads = torch.autograd.grad(loss_of(model, t), params)
    place(params, here)
    return list(grads)


def hand_loop(model, optimizer, steps, params):
    """A loop of one's own: gradients at the previous weights first, on the same batch and dropout mask."""
    last = None
    for t in range(1, steps + 1):
        prev = [None] * len(params) if last is None else graded(model, t, last)
        last = weights(model)
        optimizer.zero_grad()
        loss_of(model, t).backward()
        order = list(model.parameters())
        optimizer.step(prev_grads=[prev[next(i for i, q in enumerate(order) if q is p)] for p in params])
    return weights(model)


@pytest.mark.parametrize("make", EXACT)
@pytest.mark.parametrize("first", ["equal", "zero"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_handed_over_gradients_equal_the_closure(make, first, dropout):
    model, other = network(dropout), network(dropout)
    torch.manual_seed(1)
    wanted = train(model, make(model.parameters(), first=first), 8)
    torch.manual_seed(1)
    params = list(other.parameters())
    same(hand_loop(other, make(params, first=first), 8, params), wanted, tolerance=1e-12)


def test_the_order_is_that_of_the_constructor_also_where_a_fallback_splits():
    model, other = network(), network()
    wanted = train(model, EXACT[2](model.parameters()), 5)
    params = [other[3].bias, other[0].weight, other[0].bias, other[3].weight]
    optimizer = EXACT[2]([{"params": params[:2]}, {"params": params[2:]}])
    assert [p.ndim for group in optimizer.param_groups for p in group["params"]] == [2, 1, 2, 1]
    same(hand_loop(other, optimizer, 5, params), wanted)


def test_none_means_no_history():
    p = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    optimizer, seen = RuleOptimizer([p], "mars", exact=True, lr=0.0, gamma=1.0, beta1=0.5, first="zero"), []
    for g, prev in ((1.0, None), (2.0, 1.0), (4.0, None), (8.0, 3.0)):
        p.grad, before = torch.full_like(p, g), optimizer.state[p].get("memory", {"m": torch.zeros(2)})["m"][0].item()
        optimizer.step(prev_grads=[None if prev is None else torch.full_like(p, prev)])
        seen.append(2 * optimizer.state[p]["memory"]["m"][0].item() - before)  # c
    assert seen == [1 + (1 - 0), 2 + (2 - 1), 4, 8 + (8 - 3)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("first", ["equal", "zero"])
def test_a_correction_is_taken_only_against_the_step_before(exact, first):
    """A tensor that had no gradient at the step before gets c = g, however old its last gradient is."""
    p, q = (torch.nn.Parameter(torch.ones((), dtype=torch.float64)) for _ in range(2))
    optimizer = RuleOptimizer([p, q], "mars", exact=exact, lr=0.0, gamma=1.0, beta1=0.5, first=first)
    found = []
    for gradient in (1.0, 2.0, None, 4.0, 8.0):
        p.grad = None if gradient is None else torch.full_like(p, gradient)
        q.grad = torch.ones_like(q)
        memory = optimizer.state[p]["memory"]["m"].item() if p in optimizer.state else 0.0
        prev = None if gradient is None else torch.full_like(p, gradient / 2)  # what the approximate mode has kept
        optimizer.step(**({"prev_grads": [prev, torch.ones_like(q)]} if exact else {}))
        found.append(None if gradient is None else 2 * optimizer.state[p]["memory"]["m"].item() - memory)
    assert found == [1.0 if first == "equal" else 2.0, 3.0, None, 4.0, 12.0]
    assert optimizer.state[p]["t"] == 4 and optimizer.state[q]["t"] == 5


def test_a_gap_under_a_closure():
    """The exact mode by closure forgets the place of a parameter that sat a step out."""
    p, q = (torch.nn.Parameter(torch.full((), 2.0, dtype=torch.float64)) for _ in range(2))
    optimizer, places = RuleOptimizer([p, q], "mars", exact=True, lr=0.1, gamma=1.0, beta1=0.5), []
    for t in range(5):

        def closure(t=t):
            optimizer.zero_grad()
            places.append((t, p.item(), q.item()))
            loss = q.square() / 2 + (p.square() / 2 if t != 2 else 0)
            loss.backward()
            return loss

        before, m = p.item(), optimizer.state[p]["memory"]["m"].item() if t else 0.0
        optimizer.step(closure)
        c = 2 * optimizer.state[p]["memory"]["m"].item() - m if t != 2 else None
        if t == 3:
            assert c == pytest.approx(before)
    assert len(places) == 9


@pytest.mark.parametrize("momentum", [0.1, None])
def test_buffers_are_restored_and_random_numbers_repeat(momentum):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3, momentum=momentum), torch.nn.Linear(3, 2)
    ).double()
    optimizer, drawn = MarsAdamW(model, exact=True, buffers=model), []
    for t in range(1, 4):
        statistics = [b.clone() for b in model.buffers()]

        def closure(t=t):
            optimizer.zero_grad()
            drawn.append((torch.rand(()).item(), random.random(), np.random.rand()))  # noqa: NPY002
            loss = loss_of(model, t)
            loss.backward()
            return loss

        optimizer.step(closure)
        once = [b.clone() for b in model.buffers()]
        assert model[1].num_batches_tracked == t, "one batch a step"
        assert any((a != b).any() for a, b in zip(statistics, once, strict=True))
    assert len(drawn) == 5 and drawn[1] == drawn[2] and drawn[3] == drawn[4] and drawn[0] != drawn[1] != drawn[3]


def test_without_buffers_the_statistics_move_twice():
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.BatchNorm1d(2)).double()
    optimizer = MarsAdamW(model, exact=True)
    for t in (1, 2):
        optimizer.step(closure_of(model, optimizer, t))
    assert model[1].num_batches_tracked == 3


def test_a_closure_that_only_adds_gradients():
    """Gradients that were there before are added to as in torch; they never enter the gradient at the previous weights."""
    found = []
    for clears in (True, False):
        model = network()
        optimizer = MarsAdamW(model, exact=True)
        for t in range(1, 4):

            def closure(t=t, clears=clears, optimizer=optimizer, model=model):
                if clears:
                    optimizer.zero_grad()
                loss = loss_of(model, t)
                loss.backward()
                return loss

            optimizer.zero_grad()
            optimizer.step(closure)
        found.append(weights(model))
    same(*found, tolerance=0)


def test_grad_scaler_with_handed_over_gradients():
    model, other = (network().float() for _ in range(2))
    optimizer, plain = (MarsAdamW(m, exact=True, gamma=0.4) for m in (model, other))
    scaler, last = torch.amp.GradScaler("cpu", init_scale=2.0**10), None
    for t in range(1, 5):
        inputs, targets = (part.float() for part in batch(t))

        def loss(m, inputs=inputs, targets=targets):
            return (m(inputs) - targets).square().mean()

        prev = [None] * 4
        if last is not None:
            here = weights(model)
            place(list(model.parameters()), last)
            prev = list(torch.autograd.grad(loss(model), list(model.parameters())))
            place(list(model.parameters()), here)
        last = weights(model)
        optimizer.zero_grad()
        scaler.scale(loss(model)).backward()
        scaler.step(optimizer, prev_grads=prev)
        scaler.update()
        plain.zero_grad()
        loss(other).backward()
        plain.step(prev_grads=prev)
    same(weights(model), weights(other), tolerance=1e-5)


@pytest.mark.parametrize("exact", [False, True])
def test_a_closure_under_grad_scaler_is_refused(exact):
    model = network().float()
    optimizer, scaler = MarsAdamW(model, exact=exact), torch.amp.GradScaler("cpu")
    torch.optim.lr_scheduler.StepLR(optimizer, 1)  # it counts the steps, between the scaler and the optimizer
    before = weights(model)

    def closure():
        optimizer.zero_grad()
        loss = sum(p.square().sum() for p in model.parameters())
        scaler.scale(loss).backward()
        return loss

    closure()
    with pytest.raises(UsageError, match=r"GradScaler.*prev_grads"):
        scaler.step(optimizer, closure)
    same(weights(model), before, tolerance=0)
    off = torch.amp.GradScaler("cpu", enabled=False)
    off.step(optimizer, closure)  # that is a plain step


def wrong(change):
    """An exact optimizer over a matrix and a vector that got wrong earlier gradients."""
    params = [torch.nn.Parameter(torch.ones(shape)) for shape in ((2, 3), (2,))]
    for p in params:
        p.grad = torch.ones_like(p)
    optimizer = RuleOptimizer(params, "mars", exact=True)
    optimizer.step(**change(params))


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda p: {}, r"step\(closure\).*prev_grads"),
        (lambda p: {"prev_grads": [None]}, "1 entries for 2 parameters"),
        (lambda p: {"prev_grads": [torch.ones(2), torch.ones(2, 3)]}, r"prev_grads\[0\] has shape \(2,\)"),
        (lambda p: {"prev_grads": [torch.ones(2, 3), 3.0]}, r"prev_grads\[1\] has 3.0"),
        (lambda p: {"prev_grads": [q.grad for q in p]}, "own gradient"),
        (lambda p: {"prev_grads": [torch.ones(2, 3).to_sparse(), None]}, "sparse=False"),
    ],
)
def test_one_clear_error(change, sentence):
    with pytest.raises(UsageError, match=sentence):
        wrong(change)


def test_the_approximate_mode_takes_no_earlier_gradients():
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    with pytest.raises(UsageError, match="exact=True"):
        MarsAdamW([p]).step(prev_grads=[None])
    with pytest.raises(UsageError, match="no exact form"):
        RuleOptimizer([p], "adamw", exact=True)


def test_case_m7_the_first_step_equals_the_approximate_one():
    for first in ("equal", "zero"):
        model, other, third = network(), network(), network()
        params = list(third.parameters())
        train(model, MarsAdamW(model, exact=True, first=first), 1)
        train(other, MarsAdamW(other, first=first), 1)
        hand_loop(third, MarsAdamW(third, exact=True, first=first), 1, params)
        same(weights(model), weights(other), tolerance=0)
        same(weights(third), weights(other), tolerance=0)


def test_both_kinds_of_steps_may_alternate():
    """After a step with handed-over gradients no place is known: the next closure step is without history."""
    model = network()
    optimizer = RuleOptimizer(model, "mars", exact=True, lr=0.1, gamma=0.5)
    train(model, optimizer, 2)
    optimizer.zero_grad()
    loss_of(model, 3).backward()
    optimizer.step(prev_grads=[torch.zeros_like(p) for p in model.parameters()])
    calls = []

    def closure():
        calls.append(1)
        return closure_of(model, optimizer, 4)()

    optimizer.step(closure)
    assert len(calls) == 1
    optimizer.step(closure)
    assert len(calls) == 3


def test_a_fallback_without_corrections_ignores_its_entry():
    params = [torch.nn.Parameter(torch.ones(shape, dtype=torch.float64)) for shape in ((2,), (2, 2))]
    optimizer = MarsShampoo(params, exact=True)
    for t in range(3):
        for p in params:
            p.grad = torch.ones_like(p) * (t + 1)
        optimizer.step(prev_grads=[None, torch.full((2, 2), float(t), dtype=torch.float64)])
    assert optimizer.state[params[0]]["t"] == 3
