"""The two passes of the exact mode: each sees this sample's gradients alone, and buffers as they were."""

import pytest
import torch
from optim_cases import batch, loss_of, network, same, train, weights

from marslab.errors import UsageError
from marslab.optim import MarsAdamW, MarsLion, MarsShampoo, RuleOptimizer

EXACT = [
    lambda p, **o: MarsAdamW(p, exact=True, lr=0.01, gamma=0.4, **o),
    lambda p, **o: MarsLion(p, exact=True, lr=0.01, gamma=0.4, **o),
    lambda p, **o: MarsShampoo(p, exact=True, lr=0.01, gamma=0.4, **o),
    lambda p, **o: RuleOptimizer(p, "storm", lr=0.05, **o),
]


@pytest.mark.parametrize("make", EXACT)
@pytest.mark.parametrize("clears", ["in the closure", "in place", "outside", "never", "never, and adds before"])
def test_who_clears_the_gradients_changes_nothing(make, clears):
    """Gradients of other passes, however they came, enter neither the gradient here nor that at the previous weights."""
    model, other = network(), network()
    optimizer, wanted = make(model), make(other)
    for t in range(1, 6):

        def closure(t=t):
            if clears in ("in the closure", "in place"):
                optimizer.zero_grad(set_to_none=clears == "in the closure")
            loss = loss_of(model, t)
            loss.backward()
            return loss

        if clears == "outside":
            optimizer.zero_grad()
        if clears == "never, and adds before":
            loss_of(model, 50 + t).backward()
        optimizer.step(closure)
        assert all(p.grad is not None for p in model.parameters())
    same(weights(model), train(other, wanted, 5), tolerance=0)


@pytest.mark.parametrize("make", EXACT)
def test_parts_of_a_batch_are_added_inside_the_closure(make):
    model, other = network(), network()
    optimizer = make(model)
    for t in range(1, 5):

        def closure(t=t):
            losses = [(model(x) - y).square().mean() / 4 for x, y in zip(*(b.chunk(4) for b in batch(t)), strict=True)]
            for loss in losses:
                loss.backward()
            return sum(losses)

        optimizer.step(closure)
    same(weights(model), train(other, make(other), 4))


@pytest.mark.parametrize("steps", [0, 2])
def test_a_closure_without_backward_is_refused(steps):
    """Who ran backward before the step has gradients at one place only."""
    model = network()
    optimizer = MarsAdamW(model, exact=True)
    train(model, optimizer, steps)
    optimizer.zero_grad()
    loss = loss_of(model, 9)
    loss.backward()
    before, grads = weights(model), [p.grad.clone() for p in model.parameters()]
    with pytest.raises(UsageError, match="the closure itself runs backward"):
        optimizer.step(lambda: loss)
    same(weights(model), before, tolerance=0)
    same([p.grad for p in model.parameters()], grads, tolerance=0)


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_closure_that_fails_gives_the_gradients_back(fails_at):
    model = network()
    optimizer, calls = MarsAdamW(model, exact=True), []
    train(model, optimizer, 2)
    before, grads = weights(model), [p.grad.clone() for p in model.parameters()]

    def closure():
        loss_of(model, 3).backward()
        calls.append(1)
        if len(calls) == fails_at:
            raise RuntimeError("out of data")

    with pytest.raises(RuntimeError, match="out of data"):
        optimizer.step(closure)
    same(weights(model), before, tolerance=0)
    same([p.grad for p in model.parameters()], grads, tolerance=0)


class Counting(torch.nn.Module):
    """Buffers that forward changes in every way there is."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2).double()
        self.register_buffer("in_place", torch.zeros(()))
        self.register_buffer("anew", torch.zeros(()))
        self.register_buffer("grows", torch.zeros(0))
        self.register_buffer("resized", torch.zeros(0))
        self.register_buffer("later", None)
        self.register_buffer("hidden", torch.zeros(2), persistent=False)

    def forward(self, x):
        self.in_place += 1
        self.anew = self.anew + 1
        self.grows = torch.cat([self.grows, torch.ones(1)])
        self.resized.data = torch.cat([self.resized, torch.ones(1)])
        self.later = torch.ones(1) if self.later is None else self.later + 1
        self.hidden.data = self.hidden.data + 1
        return self.layer(x)


@pytest.mark.parametrize("nested", [False, True])
def test_buffers_count_each_batch_once_however_forward_changes_them(nested):
    torch.manual_seed(0)
    counter = Counting()
    model = torch.nn.Sequential(counter) if nested else counter
    optimizer = MarsAdamW(model, exact=True, buffers=model)
    for t in range(1, 5):

        def closure(t=t):
            loss = loss_of(model, t)
            loss.backward()
            return loss

        optimizer.step(closure)
        found = [
            counter.in_place,
            counter.anew,
            counter.grows.sum(),
            counter.resized.sum(),
            counter.later[0],
            counter.hidden[0],
        ]
        assert [value.item() for value in found] == [t] * 6


def test_a_buffer_that_the_earlier_pass_registers_is_gone_after_it():
    model, seen = network(), []
    optimizer = MarsAdamW(model, exact=True, buffers=model)

    def closure():
        seen.append("mask" in dict(model.named_buffers()))
        model.register_buffer("mask", torch.ones(2))
        loss = loss_of(model, 1)
        loss.backward()
        return loss

    train(model, optimizer, 1)
    optimizer.step(closure)
    assert seen == [False, False]
