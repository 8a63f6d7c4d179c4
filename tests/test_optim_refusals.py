"""One sentence for each misuse, at once: at construction where it shows there, else before a step has moved anything."""

import re

import numpy as np
import pytest
import torch
from optim_cases import network, same

from marslab.errors import UsageError
from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, RuleOptimizer, Shampoo, describe, released
from marslab.rule import rule

CLASSES = [MarsAdamW, MarsLion, MarsShampoo, AdamW, Lion, Muon, Shampoo]
MATRIX = [MarsShampoo, Muon, Shampoo]
every_class = pytest.mark.parametrize("make", CLASSES, ids=lambda c: c.__name__)


def parameter(*shape, dtype=torch.float64):
    return torch.nn.Parameter(torch.ones(shape, dtype=dtype), requires_grad=dtype.is_floating_point)


@pytest.mark.parametrize(
    "params, sentence",
    [
        (lambda: [network()], "a Sequential stands among the parameters"),
        (lambda: [("a", network())], "among the parameters"),
        (lambda: ["0.weight"], "a str stands among the parameters"),
        (lambda: [None], "a NoneType stands among the parameters"),
        (lambda: network().state_dict(), "params is a OrderedDict; hand over a module"),
        (lambda: "model", "params is a str"),
        (lambda: 3, "params is a int"),
        (lambda: [{"parameters": []}], "a group has no 'params' but 'parameters'"),
        (lambda: [parameter(2) * 1], "is no leaf"),
        (lambda: [parameter(2), ("b", parameter(2))], "some have none"),
        (lambda: [("b", parameter(2)), parameter(2)], "some have none"),
        (lambda: [parameter(2, dtype=torch.int64)], "type torch.int64 cannot be trained"),
        (lambda: torch.nn.LazyLinear(3), "run one batch"),
        (lambda: list(torch.nn.LazyConv2d(3, 1).parameters()), "run one batch"),
        (lambda: [{"params": torch.nn.LazyLinear(3)}], "run one batch"),
    ],
)
@pytest.mark.parametrize("make", [*CLASSES, released])
def test_what_is_no_parameter(make, params, sentence):
    with pytest.raises(UsageError, match=sentence):
        make(params())


@every_class
@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"foreach": True}, "switch of torch's own optimizers; here compiled="),
        ({"fused": None}, "switch of torch's own"),
        ({"capturable": False}, "switch of torch's own"),
        ({"differentiable": True}, "switch of torch's own"),
        ({"nonfinit": "skip"}, "did you mean 'nonfinite'"),
        ({"rule": "sgd"}, r"has a rule; RuleOptimizer\(params, 'sgd'\)"),
        ({"maximize": "no"}, "maximize = 'no' must be True or False"),
        ({"maximize": 1}, "maximize = 1 must be"),
        ({"lr": "1e-3"}, "lr = '1e-3' is no number; give one, for example"),
        ({"lr": None}, "lr = None is no number; give one, for example"),
        ({"lr": True}, "lr = True is no number"),
        ({"lr": 1j}, "lr = 1j is no number"),
        ({"weight_decay": lambda t: 0.1}, r"change it in the loop, group\['weight_decay'\] = 0"),
        ({"lr": np.array([0.1])}, "no single number"),
        ({"exact": "yes"}, "exact = 'yes' must be True, False or None"),
    ],
)
def test_options_that_are_none(make, options, sentence):
    with pytest.raises(UsageError, match=sentence) as found:
        make([parameter(2, 2)], **options)
    assert "function of t" not in str(found.value), "advice that would be refused in turn"


@pytest.mark.parametrize("value", [np.array(0.1), np.float32(0.1), np.float64(0.1), torch.tensor(0.1), 1])
@every_class
def test_numbers_of_any_kind_are_numbers(make, value):
    p, q = parameter(2, 2), parameter(2, 2)
    for one, lr in ((p, value), (q, float(value))):
        optimizer = make([one], lr=lr)
        optimizer.param_groups[0]["lr"] = lr
        one.grad = torch.arange(4, dtype=torch.float64).reshape(2, 2)
        optimizer.step()
    same([p], [q], tolerance=1e-6)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"lr1d": 0.1}, "did you mean 'lr_1d'"),
        ({"clip_radius": 1.0}, "no option 'clip_radius'"),
        ({"exact": True}, "no option 'exact'"),
        ({"first": "equal"}, "no option 'first'"),
        ({"fallback": "adamw"}, "no option 'fallback'"),
        ({"nonfinit": "skip"}, "did you mean 'nonfinite'"),
        ({"lr": "x"}, "lr = 'x' is no number"),
        ({"lr_1d": -1}, "lr_1d = -1"),
        ({"betas_1d": 3}, "betas = 3 must be"),
        ({"gamma": "x"}, "gamma = 'x' is no number"),
    ],
)
def test_options_of_released(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        released([parameter(2, 2), parameter(2)], **options)


def test_keywords_that_nobody_takes():
    groups = lambda: [{"params": [parameter(2)], "rule": "sgd"}]
    for options, sentence in (({"gama": 1}, "mean 'gamma'"), ({"gamma": -1, "clip_radius": -1}, "clip_radius = -1")):
        with pytest.raises(UsageError, match=sentence):
            RuleOptimizer(groups(), "mars_adamw", **options)
    for options, sentence in (({"lr": 0.1}, "put it into the groups"), ({"nonfinit": "skip"}, "did you mean 'nonfinite'")):
        with pytest.raises(UsageError, match=sentence):
            RuleOptimizer(groups(), **options)


@pytest.mark.parametrize("options", [{"fallback": "adamw"}, {"fallback_options": {"lr": 1}}, {"exclude": ["head"]}])
def test_options_without_effect(options):
    for make in (MarsAdamW, MarsLion, AdamW, Lion, lambda p, **o: RuleOptimizer(p, "sgd", **o)):
        with pytest.raises(UsageError, match=f"{next(iter(options))} has no effect"):
            make(network(), **options)
    RuleOptimizer([{"params": network().parameters(), "rule": "muon"}], fallback="adamw")


@pytest.mark.parametrize("make", MATRIX)
@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"fallback": "marz"}, "unknown rule 'marz'"),
        ({"fallback": "sophia_h"}, "only the simulator"),
        ({"fallback_options": {"lr": -1}}, "lr = -1 lies outside"),
        ({"fallback_options": {"gamma": 1}}, "adamw has no hyper-parameter 'gamma'"),
        ({"fallback_options": {"maximize": "no"}}, "maximize = 'no'"),
        ({"fallback_options": "lr"}, "fallback_options = 'lr' is no dict"),
    ],
)
def test_a_fallback_is_checked_also_where_nobody_needs_it(make, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        make([parameter(2, 2)], **options)


@pytest.mark.parametrize("make", MATRIX)
def test_exclude_takes_one_pattern_or_any_row_of_them(make):
    model = network()
    for exclude in ("0", ["0"], re.compile("0"), [re.compile("0")], (text for text in ["0"]), {"0"}):
        optimizer = make(model, exclude=exclude)
        assert [group["param_names"] for group in optimizer.param_groups] == [["3.weight"], ["0.weight", "0.bias", "3.bias"]]
        late = ("late.0", parameter(2, 2))
        optimizer.add_param_group({"params": [late]})  # a generator is not used up
        assert optimizer.param_groups[2]["rule"] == "adamw"
    for exclude, sentence in (
        (["("], r"exclude has '\(', which is no regular"),
        ([3], "exclude has 3"),
        (3, "exclude = 3 is no"),
    ):
        with pytest.raises(UsageError, match=sentence):
            make(model, exclude=exclude)
    with pytest.raises(UsageError, match="exclude looks at names"):
        make(model.parameters(), exclude=["0"])
    make(model.parameters(), exclude=())


def made(name="twice", lr=0.1):
    def update(x, state, g, *, lr=lr):
        return x - lr * g, dict(m=g)

    update.__name__ = name
    return rule(memory=("m",))(update)


def test_two_rules_of_one_name():
    first, second = made(), made(lr=0.2)
    groups = [{"params": [parameter(2)], "rule": first}, {"params": [parameter(2)], "rule": second}]
    with pytest.raises(UsageError, match="two different rules are named 'twice'"):
        RuleOptimizer(groups)
    optimizer = RuleOptimizer([parameter(2)], first)
    for wrong in (second, made("adamw")):
        if wrong is not second:
            optimizer.add_param_group({"params": [parameter(2)], "rule": "adamw"})
        with pytest.raises(UsageError, match="two different rules"):
            optimizer.add_param_group({"params": [parameter(2)], "rule": wrong})
    assert len(optimizer.param_groups) == 2


@pytest.mark.parametrize(
    "update, sentence",
    [
        (lambda x, state, g: x - g, "returns no pair"),
        (lambda x, state, g: (x - g, None), "returns no pair"),
        (lambda x, state, g: (x - g, {}), "declares 'm' as state and does not return it"),
        (lambda x, state, g: ((x - g).sum(), dict(m=g)), r"returns x_new of shape \(\)"),
        (lambda x, state, g: (x - g, dict(m=g[0])), r"returns m of shape \(\)"),
        (lambda x, state, g: (x - torch.outer(g, g), dict(m=g)), r"returns x_new of shape \(2, 2\)"),
        (lambda x, state, g: (x - g.mul_(2), dict(m=g)), "changes a tensor that it was given"),
        (lambda x, state, g: (x.sub_(g), dict(m=g)), "changes a tensor that it was given"),
        (lambda x, state, g: (x - g, dict(m=state["m"].add_(g))), "changes a tensor that it was given"),
    ],
)
def test_a_rule_of_ones_own_that_cannot_be_used_is_told_at_once(update, sentence):
    @rule(memory=("m",))
    def mine(x, state, g, *, lr=0.1):
        return update(x, state, g)

    for make in (lambda: RuleOptimizer([parameter(2, 2)], mine), lambda: Muon(network(), fallback=mine)):
        with pytest.raises(UsageError, match=f"rule mine {sentence}"):
            make()


def test_describe_is_for_these_optimizers():
    with pytest.raises(UsageError, match="not for a AdamW"):
        describe(torch.optim.AdamW([parameter(2)]))


def test_a_rule_for_one_kind_of_shape_is_taken():
    for update, shape in ((lambda x, g: x - g.outer(g).sum(0), (3,)), (lambda x, g: x - g @ g.mT @ g, (3, 2))):
        p = parameter(*shape)
        optimizer = RuleOptimizer([p], made_of(update))
        p.grad = torch.ones_like(p)
        optimizer.step()
        assert (p != 1).all()


def made_of(update):
    @rule()
    def mine(x, state, g, *, lr=0.1):
        return update(x, g), {}

    return mine


@pytest.mark.parametrize("name", ["mode", "first", "rule", "params"])
def test_a_rule_of_ones_own_leaves_the_groups_keys_alone(name):
    namespace = {}
    exec(f"def odd(x, state, g, *, lr=0.1, {name}=0.5): return x - lr * g, {{}}", namespace)
    with pytest.raises(UsageError, match=f"hyper-parameter '{name}', which a group needs for itself"):
        RuleOptimizer([parameter(2)], rule()(namespace["odd"]))


@pytest.mark.parametrize("name", ["beta1", "betas", "form"])
def test_muon_has_torchs_names(name):
    with pytest.raises(UsageError, match=f"Muon has no {name}; give momentum"):
        Muon([parameter(2, 2)], **{name: 0.9})
