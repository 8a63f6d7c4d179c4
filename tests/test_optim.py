"""The rule optimizer against loops written by hand, the simulator, and torch's own AdamW."""

import io
import math

import pytest
import torch
from optim_cases import loss_of, network, place, same, train, weights

import marslab as ml
from marslab.optim import RuleOptimizer
from marslab.oracle import Samples
from marslab.rule import rule


def by_hand(model, steps, exact, first, lr, gamma, beta):
    """MARS on a module, written out: autograd at the current and, on the same batch and dropout mask, the previous weights."""
    params = list(model.parameters())
    m, last_grads, last_weights = [torch.zeros_like(p) for p in params], None, None
    for t in range(1, steps + 1):
        state, here = torch.get_rng_state(), weights(model)
        grads = torch.autograd.grad(loss_of(model, t), params)
        after = torch.get_rng_state()
        if last_grads is None:
            prev = grads if first == "equal" else [torch.zeros_like(p) for p in params]
        elif exact:
            place(params, last_weights)
            torch.set_rng_state(state)
            prev = torch.autograd.grad(loss_of(model, t), params)
            place(params, here)
            torch.set_rng_state(after)
        else:
            prev = last_grads
        c = [g + gamma * beta / (1 - beta) * (g - p) for g, p in zip(grads, prev, strict=True)]
        m = [beta * old + (1 - beta) * new for old, new in zip(m, c, strict=True)]
        place(params, [p - lr * step for p, step in zip(here, m, strict=True)])
        last_grads, last_weights = grads, here
    return weights(model)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("first", ["equal", "zero"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_optimizer_is_the_loop_by_hand(exact, first, dropout):
    options = dict(lr=0.05, gamma=0.4)
    model, other = network(dropout), network(dropout)
    optimizer = RuleOptimizer(model.parameters(), "mars", exact=exact, first=first, beta1=0.9, **options)
    torch.manual_seed(1)
    found = train(model, optimizer, 12)
    torch.manual_seed(1)
    same(found, by_hand(other, 12, exact, first, beta=0.9, **options))


@pytest.mark.parametrize("name, exact, first", [
    ("mars", True, "equal"), ("mars", False, "zero"), ("mars_adamw", True, "equal"), ("mars_lion", False, "equal"),
    ("storm", True, None), ("qhm", None, None), ("sgd", None, None), ("adamw", None, None),
])  # fmt: skip
def test_the_optimizer_is_a_lane_of_the_simulator(name, exact, first):
    """Gradients lambda x + sigma z of seed 3, fed through a loss 1/2 sum lambda x^2 + sigma z x."""
    problem, noise, steps = ml.problems.quadratic([1.0, 0.5, 0.1]), ml.noise.additive(0.3), 40
    options = dict(exact=exact, first=first, lr=0.05)
    run = ml.run(name, problem=problem, noise=noise, steps=steps, seeds=[3], record=list(range(1, steps + 1)), **options)
    x = torch.nn.Parameter(problem.start()["x"])
    optimizer, samples = RuleOptimizer([x], name, **options), Samples(problem, noise, [3], torch.float64)
    for t in range(1, steps + 1):
        z = samples.at(t)["additive"][0] * 0.3 / math.sqrt(3)
        assert problem.eigenvalues.mul(x.detach()).norm().item() == pytest.approx(run.grad_norm[0, t - 1].item(), rel=1e-12)

        def closure(z=z):
            optimizer.zero_grad()
            loss = (problem.eigenvalues * x.square() / 2 + z * x).sum()
            loss.backward()
            return loss

        optimizer.step(closure)


def test_adamw_is_torchs():
    for amsgrad_free in (dict(lr=1e-2, weight_decay=0.1), dict(lr=3e-3, weight_decay=0.0)):
        model, other = network(), network()
        mine = RuleOptimizer(model.parameters(), "adamw", beta1=0.8, beta2=0.95, **amsgrad_free)
        torchs = torch.optim.AdamW(other.parameters(), betas=(0.8, 0.95), **amsgrad_free)
        same(train(model, mine, 50), train(other, torchs, 50))


@pytest.mark.parametrize("name, exact", [("mars", False), ("mars", True), ("mars_adamw", False), ("storm", True)])
def test_gradients_zeroed_in_place_change_nothing(name, exact):
    """A kept reference to p.grad would be overwritten, and the correction would vanish without a word."""
    found = []
    for set_to_none in (True, False):
        model = network()
        optimizer = RuleOptimizer(model.parameters(), name, exact=exact)
        found.append(train(model, optimizer, 10, set_to_none=set_to_none))
    same(*found, tolerance=0)


def test_memory_never_shares_with_gradients_or_weights():
    @rule(memory=("seen", "place"))
    def hoarder(x, state, g, *, lr=0.1):
        return x - lr * (g + state["seen"] + 0.1 * state["place"]), dict(seen=g, place=x)

    found = []
    for set_to_none in (True, False):
        model = network()
        found.append(train(model, RuleOptimizer(model.parameters(), hoarder), 6, set_to_none=set_to_none))
    same(*found, tolerance=0)
    params = list(network().parameters())
    optimizer = RuleOptimizer(params, hoarder)
    for p in params:
        p.grad = torch.ones_like(p)
    before = [p.detach().clone() for p in params]
    optimizer.step()
    same([optimizer.state[p]["memory"]["place"] for p in params], before, tolerance=0)


def test_the_gradient_is_never_changed():
    model = network()
    optimizer = RuleOptimizer(model.parameters(), "mars_adamw")
    loss_of(model, 1).backward()
    before = [p.grad.clone() for p in model.parameters()]
    optimizer.step()
    same([p.grad for p in model.parameters()], before, tolerance=0)


@pytest.mark.parametrize("name, exact", [("mars", True), ("mars_adamw", False), ("qhm", None)])
def test_a_state_dict_round_trip_is_bitwise(name, exact):
    model, other = network(), network()
    optimizer = RuleOptimizer(model.parameters(), name, exact=exact)
    train(model, optimizer, 5)
    file = io.BytesIO()
    torch.save([model.state_dict(), optimizer.state_dict()], file)
    file.seek(0)
    saved_model, saved_optimizer = torch.load(file, weights_only=True)
    resumed = RuleOptimizer(other.parameters(), name, exact=exact, lr=123.0)
    other.load_state_dict(saved_model)
    resumed.load_state_dict(saved_optimizer)
    same(train(other, resumed, 5, begin=6), train(model, optimizer, 5, begin=6), tolerance=0)
