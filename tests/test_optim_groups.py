"""Groups, schedulers, fallbacks and refusals of the rule optimizer."""

import copy
import pickle
import warnings

import pytest
import torch
from optim_cases import closure_of, loss_of, network, place, same, train, weights

from marslab.errors import UsageError
from marslab.optim import AdamW, MarsAdamW, MarsLion, Muon, RuleOptimizer
from marslab.optimizers import RULES


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


@pytest.mark.parametrize("make", [torch.optim.lr_scheduler.OneCycleLR, torch.optim.lr_scheduler.CyclicLR])
def test_schedulers_that_cycle_momentum_find_betas(make):
    model, other = network(), network()
    mine = AdamW(model, lr=1e-2, weight_decay=0.0)
    torchs = torch.optim.AdamW(other.parameters(), lr=1e-2, weight_decay=0.0)
    how = {"total_steps": 30} if make is torch.optim.lr_scheduler.OneCycleLR else {"base_lr": 1e-3, "step_size_up": 3}
    cycles, seen = [make(o, max_lr=0.02, **how) for o in (mine, torchs)], set()
    for t in range(1, 9):
        for one, optimizer, cycle in zip((model, other), (mine, torchs), cycles, strict=True):
            train(one, optimizer, 1, begin=t)
            cycle.step()
        assert mine.param_groups[0]["betas"] == torchs.param_groups[0]["betas"]
        seen.add(mine.param_groups[0]["beta1"])
    assert len(seen) > 4  # the weights differ: torch corrects the bias by beta1^t, not by the product of the betas


def test_betas_of_a_group_are_its_beta1_and_beta2():
    optimizer = MarsLion(network(), betas=(0.8, 0.9))
    group = optimizer.param_groups[0]
    assert group["betas"] == (0.8,) == group.get("betas") and "betas" in group
    group["betas"] = (0.7, 0.9)
    assert group["beta1"] == 0.7 and "betas" not in optimizer.state_dict()["param_groups"][0]
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert other.param_groups[0]["betas"] == (0.7,)
    group["betas"] = (0.1,)
    optimizer.load_state_dict(copy.deepcopy(optimizer).state_dict())
    optimizer.param_groups[0]["betas"] = (0.2,)
    assert optimizer.param_groups[0]["beta1"] == 0.2
    assert optimizer.defaults["betas"] == (0.8,)
    plain = RuleOptimizer(network(), "sgd").param_groups[0]
    assert "betas" not in plain and plain.get("betas", 3) == 3
    with pytest.raises(KeyError):
        plain["betas"]


def test_a_later_group_gets_nothing_of_another_rule():
    optimizer = MarsAdamW([torch.nn.Parameter(torch.ones(2))])
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], "rule": "sgd"})
    assert "gamma" not in optimizer.param_groups[1] and "betas" not in optimizer.param_groups[1]


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
            optimizer = RuleOptimizer([p], name, **({"fallback": "adamw"} if name == "mars_shampoo" else {}))
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


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if set(rule.needs) & {"full", "hess"}])
def test_a_rule_that_only_the_simulator_can_feed_is_refused_at_once(name):
    with pytest.raises(UsageError, match=rf"{name} observes .*marslab\.run"):
        RuleOptimizer(network(), name)
    with pytest.raises(UsageError, match=rf"{name} observes"):
        Muon(network(), fallback=name)
