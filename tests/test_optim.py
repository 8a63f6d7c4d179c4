"""The rule optimizer against loops written by hand, the simulator, and torch's own AdamW."""

import io
import math
import warnings

import pytest
import torch

import marslab as ml
from marslab.errors import UsageError
from marslab.optim import RuleOptimizer
from marslab.oracle import Samples
from marslab.rule import rule


def network(dropout=0.0):
    torch.manual_seed(0)
    layers = torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Dropout(dropout), torch.nn.Linear(6, 2)
    return torch.nn.Sequential(*layers).double()


def batch(t):
    generator = torch.Generator().manual_seed(t)
    return tuple(torch.randn(8, k, generator=generator, dtype=torch.float64) for k in (4, 2))


def loss_of(model, t):
    inputs, targets = batch(t)
    return (model(inputs) - targets).square().mean()


def closure_of(model, optimizer, t, set_to_none=True):
    def closure():
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = loss_of(model, t)
        loss.backward()
        return loss

    return closure


def train(model, optimizer, steps, begin=1, **options):
    for t in range(begin, begin + steps):
        optimizer.step(closure_of(model, optimizer, t, **options))
    return weights(model)


def weights(model):
    return [p.detach().clone() for p in model.parameters()]


def same(found, wanted, tolerance=1e-12):
    for f, w in zip(found, wanted, strict=True):
        torch.testing.assert_close(f, w, rtol=tolerance, atol=tolerance)


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


@torch.no_grad()
def place(params, values):
    for p, value in zip(params, values, strict=True):
        p.copy_(value)


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


def test_schedulers_change_hyper_parameters_by_name():
    model, other = network(), network()
    mine = RuleOptimizer(model.parameters(), "adamw", lr=1e-2)
    torchs = torch.optim.AdamW(other.parameters(), lr=1e-2)
    cosines = [torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=20) for o in (mine, torchs)]
    for t in range(1, 21):
        for one, optimizer, cosine in zip((model, other), (mine, torchs), cosines, strict=True):
            train(one, optimizer, 1, begin=t)
            cosine.step()
    same(weights(model), weights(other))
    momentum = RuleOptimizer(model.parameters(), "momentum")
    momentum.param_groups[0]["beta1"] = 0.0
    plain, before = RuleOptimizer(other.parameters(), "sgd"), weights(model)
    place(list(other.parameters()), before)
    same(train(model, momentum, 1), train(other, plain, 1))


def test_groups_have_rules_and_values_of_their_own():
    model, other = network(), network()
    first, last = model[0], model[3]
    optimizer = RuleOptimizer(
        [
            {"params": first.parameters(), "gamma": 0.5},
            {"params": last.parameters(), "rule": "adamw", "beta1": 0.8},
        ],
        "mars_adamw",
        lr=1e-2,
        gamma=0.1,
    )
    assert [group["lr"] for group in optimizer.param_groups] == [1e-2, 1e-3]
    assert optimizer.param_groups[0]["gamma"] == 0.5 and "gamma" not in optimizer.param_groups[1]
    parts = [
        RuleOptimizer(other[0].parameters(), "mars_adamw", lr=1e-2, gamma=0.5),
        RuleOptimizer(other[3].parameters(), "adamw", beta1=0.8),
    ]
    train(model, optimizer, 6)
    for t in range(1, 7):
        other.zero_grad()
        loss_of(other, t).backward()
        for part in parts:
            part.step()
    same(weights(model), weights(other), tolerance=0)


def test_an_exact_group_moves_every_weight_back():
    """The gradient at the previous point is taken with all weights there, also those of a group without corrections."""
    model = network()
    groups = [{"params": model[0].parameters()}, {"params": model[3].parameters(), "rule": "sgd", "lr": 0.05}]
    optimizer = RuleOptimizer(groups, "mars", exact=True, lr=0.05, gamma=1.0)
    train(model, optimizer, 1)
    before = weights(network())
    calls = []

    def closure():
        calls.append(weights(model))
        return closure_of(model, optimizer, 2)()

    optimizer.step(closure)
    assert len(calls) == 2
    same(calls[0], before, tolerance=0)


def test_a_parameter_without_a_gradient_keeps_its_own_time():
    used, idle = (torch.nn.Parameter(torch.ones(2, dtype=torch.float64)) for _ in range(2))
    optimizer = RuleOptimizer([used, idle], "mars", exact=True)
    for t in range(3):

        def closure(t=t):
            optimizer.zero_grad()
            loss = used.square().sum() + (idle.square().sum() if t == 2 else 0)
            loss.backward()
            return loss

        optimizer.step(closure)
    assert optimizer.state[used]["t"] == 3 and optimizer.state[idle]["t"] == 1
    same([idle], [1 - 0.01 * 0.05 * 2 * torch.ones(2, dtype=torch.float64)])


def test_a_closure_that_fails_leaves_the_weights_where_they_are():
    model = network()
    optimizer = RuleOptimizer(model.parameters(), "mars", exact=True)
    train(model, optimizer, 2)
    before = weights(model)

    def failing():
        raise RuntimeError("out of data")

    with pytest.raises(RuntimeError, match="out of data"):
        optimizer.step(failing)
    same(weights(model), before, tolerance=0)


def test_matrices_and_the_rest():
    model, other = network(), network()
    optimizer = RuleOptimizer(model.parameters(), "mars_shampoo", fallback="adamw", fallback_options={"lr": 5e-3})
    assert [(group["rule"], len(group["params"])) for group in optimizer.param_groups] == [("mars_shampoo", 2), ("adamw", 2)]
    train(model, optimizer, 5)
    shampoo = RuleOptimizer([p for p in other.parameters() if p.ndim == 2], "mars_shampoo")
    adamw = RuleOptimizer([p for p in other.parameters() if p.ndim < 2], "adamw", lr=5e-3)
    for t in range(1, 6):
        other.zero_grad()
        loss_of(other, t).backward()
        shampoo.step(), adamw.step()
    same(weights(model), weights(other), tolerance=0)
    named = RuleOptimizer(network().named_parameters(), "mars_shampoo", fallback="sgd")
    assert named.param_groups[1]["param_names"] == ["0.bias", "3.bias"]


def test_scalars_and_higher_axes():
    for shape in ((), (1,), (3, 2, 2, 2)):
        p = torch.nn.Parameter(torch.ones(shape, dtype=torch.float64))
        for name in ("mars_adamw", "mars_lion", "mars_shampoo"):
            optimizer = RuleOptimizer([p], name, fallback="adamw")
            for _ in range(2):
                p.grad = torch.full_like(p, 0.3)
                optimizer.step()
            assert torch.isfinite(p).all()


@pytest.mark.parametrize(
    "name, options, sentence",
    [
        ("marz", {}, "did you mean 'mars'"),
        ("mars", {"gama": 0.1}, "did you mean 'gamma'"),
        ("mars", {"beta1": 1.0}, r"beta1 = 1 lies outside \[0, 1\)"),
        ("mars", {"lr": -0.1}, "lr = -0.1 lies outside"),
        ("mars", {"lr": [0.1, 0.2]}, "no single number"),
        ("mars", {"lr": lambda t: 0.1}, "no single number"),
        ("mars", {"first": "last"}, "equal"),
        ("storm", {"exact": False}, "only the exact form"),
        ("adamw", {"exact": True}, "no exact form"),
        ("mars_shampoo", {}, "name a fallback"),
        ("mars_shampoo", {"fallback": "mars_shampoo"}, "name a fallback"),
    ],
)
def test_refusals(name, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        RuleOptimizer(network().parameters(), name, **options)


def test_the_exact_mode_asks_for_a_closure():
    model = network()
    optimizer = RuleOptimizer(model.parameters(), "mars", exact=True)
    loss_of(model, 1).backward()
    with pytest.raises(UsageError, match="closure"):
        optimizer.step()


def test_sparse_gradients_are_refused():
    table = torch.nn.Embedding(5, 2, sparse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table(torch.tensor([1])).sum().backward()
        with pytest.raises(UsageError, match="sparse=False"):
            RuleOptimizer(table.parameters(), "mars").step()


def test_torch_refuses_a_set():
    with pytest.raises(TypeError, match="ordered"):
        RuleOptimizer([{"params": set(network().parameters())}], "mars")
