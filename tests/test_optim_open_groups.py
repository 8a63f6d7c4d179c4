"""What stands in a group is what is used: values by any spelling, of a group's own, written later, copied, tags."""

import pytest
import torch
from optim_cases import loss_of, network, same, train, weights

from marslab.errors import UsageError
from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, RuleOptimizer, Shampoo, released

CLASSES = [MarsAdamW, MarsLion, MarsShampoo, AdamW, Lion, Muon, Shampoo]
MATRIX = [MarsShampoo, Muon, Shampoo]


def parameter(*shape):
    return torch.nn.Parameter(torch.ones(shape, dtype=torch.float64))


@pytest.mark.parametrize("make", [MarsAdamW, MarsLion, MarsShampoo, AdamW, Lion])
def test_a_beta_by_name_goes_before_default_betas(make):
    names = [name for name in ("beta1", "beta2") if name in make([parameter(2, 2)]).param_groups[0]]
    for name in names:
        assert make([parameter(2, 2)], **{name: 0.5}).param_groups[0][name] == 0.5
        for given in ({}, {"betas": (0.7, 0.8)}):
            assert make([{"params": [parameter(2, 2)], name: 0.5}], **given).param_groups[0][name] == 0.5
        with pytest.raises(UsageError, match=f"betas and {name} are both given"):
            make([parameter(2, 2)], betas=(0.95, 0.99), **{name: 0.5})
        with pytest.raises(UsageError, match=f"betas and {name} are both given"):
            make([{"params": [parameter(2, 2)], "betas": (0.95, 0.99), name: 0.5}])
    other = make([{"params": [parameter(2, 2)], "betas": (0.1, 0.2)}], **{names[0]: 0.5})
    assert other.param_groups[0]["beta1"] == 0.1


@pytest.mark.parametrize("make", [*CLASSES, released, lambda p: RuleOptimizer(p, "storm"), lambda p: released(p, lr_1d=0.1)])
def test_a_copy_of_a_live_group_keeps_its_values(make):
    optimizer = make([parameter(2, 2), parameter(2)])
    for group in list(optimizer.param_groups):
        for name, value in group.items():
            if isinstance(value, float):
                group[name] = 0.25
        group["maximize"] = True
        shape = group["params"][0].shape
        optimizer.add_param_group({**group, "params": [parameter(*shape)]})
        found, wanted = ({k: v for k, v in g.items() if k != "params"} for g in (optimizer.param_groups[-1], group))
        assert found == wanted
    for p in optimizer.handed:
        p.grad = torch.ones_like(p)
    optimizer.step(**({"prev_grads": [None] * len(optimizer.handed)} if "exact" in found["mode"] else {}))
    assert all((p > 1).any() for p in optimizer.handed)


@pytest.mark.parametrize("make", MATRIX)
def test_a_group_without_matrices_is_the_fallbacks(make):
    model = network()
    groups = [{"params": model[0].parameters()}, {"params": [model[3].bias], "lr": 0.5, "betas": (0.3, 0.4), "eps": 0.1}]
    optimizer = make(groups, fallback_options={"lr": 0.2})
    assert [group["rule"] for group in optimizer.param_groups[1:]] == ["adamw", "adamw"]
    assert optimizer.param_groups[1]["lr"] == 0.2
    assert [optimizer.param_groups[2][name] for name in ("lr", "beta1", "beta2", "eps")] == [0.5, 0.3, 0.4, 0.1]
    with pytest.raises(UsageError, match="adamw has no hyper-parameter 'gamma'"):
        make([{"params": [parameter(3)], "gamma": 0.1}])
    excluded = make([{"params": [("wte", parameter(4, 2))], "lr": 0.5}])
    assert [(group["rule"], group["lr"]) for group in excluded.param_groups] == [("adamw", 0.5)]


@pytest.mark.parametrize("make", MATRIX)
def test_a_mixed_group_has_fallback_options_of_its_own(make):
    groups = [{"params": network().parameters(), "lr": 0.5, "name": "all", "fallback_options": {"lr": 0.1, "beta1": 0.2}}]
    optimizer = make(groups, fallback_options={"lr": 0.3, "eps": 0.01})
    matrices, rest = optimizer.param_groups
    assert matrices["lr"] == 0.5 and [rest[name] for name in ("lr", "beta1", "eps")] == [0.1, 0.2, 0.01]
    assert matrices["name"] == rest["name"] == "all" and "fallback_options" not in matrices
    with pytest.raises(UsageError, match="no effect"):
        MarsAdamW([{"params": [parameter(2)], "fallback_options": {"lr": 0.1}}])


def advanced(optimizer):
    """One step on gradients of one."""
    for p in optimizer.handed:
        p.grad = torch.ones_like(p)
    optimizer.step()


@pytest.mark.parametrize("make", [MarsAdamW, MarsShampoo, AdamW, released])
@pytest.mark.parametrize("tag", ["name", "lr_scale", "initial_lr", "max_lr", "decoder", "layer"])
def test_other_keys_are_tags_without_effect(make, tag):
    model, other = network(), network()
    tagged = make([{"params": model.parameters(), tag: 0.125}])
    assert all(group[tag] == 0.125 for group in tagged.param_groups)
    saved = tagged.state_dict()
    assert all(group[tag] == 0.125 for group in saved["param_groups"])
    tagged.load_state_dict(saved)
    same(train(model, tagged, 3), train(other, make(other.parameters()), 3), tolerance=0)


@pytest.mark.parametrize(
    "key, sentence",
    [
        ("gama", "did you mean 'gamma'"),
        ("weight_decays", "did you mean 'weight_decay'"),
        ("learning_rate", "give lr"),
        ("momentum", "give betas"),
        ("foreach", "switch of torch's own"),
        ("rho", "no hyper-parameter 'rho'"),
        ("rounding", "option of the whole optimizer"),
        ("lr_ratio", "released alone"),
    ],
)
def test_a_key_that_could_be_meant_for_a_hyper_parameter_is_refused(key, sentence):
    with pytest.raises(UsageError, match=sentence):
        MarsAdamW([{"params": [parameter(2)], key: 0.1}])
    with pytest.raises(UsageError):
        MarsAdamW([parameter(2)], **{key: 0.1})


def test_a_constructor_keyword_is_never_a_tag():
    for make in (MarsAdamW, MarsShampoo, Muon, AdamW):
        with pytest.raises(UsageError, match="no hyper-parameter 'name'"):
            make([parameter(2, 2)], name="all")


@pytest.mark.parametrize("make", [*CLASSES, released])
@pytest.mark.parametrize("extra", [[], [(2, 2)]])
def test_what_is_in_the_optimizer_is_not_added_again(make, extra):
    p = parameter(2, 2)
    optimizer = make([p])
    with pytest.raises(ValueError, match=r"parameter 0 of shape \(2, 2\) is in the optimizer already"):
        optimizer.add_param_group({"params": [*(parameter(*shape) for shape in extra), p]})
    assert len(optimizer.param_groups) == 1 and len(optimizer.handed) == 1


@pytest.mark.parametrize("make", MATRIX)
def test_a_group_is_added_whole_or_not_at_all(make):
    named = make([("a", parameter(2, 2)), ("b", parameter(2))])
    groups, handed = len(named.param_groups), len(named.handed)
    for wrong in (
        {"params": [parameter(2, 2), parameter(2)]},
        {"params": [("c", parameter(2, 2)), ("d", parameter(2))], "fallback_options": {"lr": -1.0}},
        {"params": [("c", parameter(2, 2)), ("d", parameter(2))], "weight_decay": "x"},
    ):
        with pytest.raises(ValueError):
            named.add_param_group(wrong)
        assert (len(named.param_groups), len(named.handed)) == (groups, handed)


@pytest.mark.parametrize("mars_type", ["mars-adamw", "mars-lion", "mars-shampoo"])
@pytest.mark.parametrize("is_approx", [True, False])
def test_later_groups_of_released_are_parted_as_the_first(mars_type, is_approx):
    options = dict(mars_type=mars_type, is_approx=is_approx, lr=0.01, lr_1d=0.02)
    model, other = network(), network()
    whole = released([{"params": other[0].parameters()}, {"params": other[3].parameters(), "lr": 0.1}], **options)
    optimizer = released(model[0].parameters(), **options)
    optimizer.add_param_group({"params": model[3].parameters(), "lr": 0.1, "name": "late"})
    assert [{k: v for k, v in g.items() if k not in ("params", "name")} for g in optimizer.param_groups] == [
        {k: v for k, v in g.items() if k != "params"} for g in whole.param_groups
    ]
    same(train(model, optimizer, 3), train(other, whole, 3), tolerance=0)


@pytest.mark.parametrize("make", [MarsAdamW, MarsShampoo])
def test_the_order_survives_replaced_parameters(make):
    """Whoever puts new tensors into the groups hands earlier gradients over in the same order, to the new ones."""
    model = network()
    optimizer = make(model.parameters(), exact=True, gamma=0.5)
    train(model, optimizer, 1)
    old = optimizer.handed
    for group in optimizer.param_groups:
        group["params"][:] = [torch.nn.Parameter(p.detach().clone()) for p in group["params"]]
    new = optimizer.handed
    assert [p.shape for p in new] == [p.shape for p in old] and not {id(p) for p in old} & {id(p) for p in new}
    for _ in range(2):
        for p in new:
            p.grad = torch.ones_like(p)
        optimizer.step(prev_grads=[torch.full_like(p, 0.5) for p in new])
    one = MarsAdamW([p.bfloat16().requires_grad_() for p in weights(model)], rounding="stochastic")
    one.param_groups[0]["params"][1] = torch.nn.Parameter(one.handed[1].detach().clone())
    advanced(one)
    assert loss_of(model, 1) is not None and all(one.state[p]["t"] == 1 for p in one.handed)
