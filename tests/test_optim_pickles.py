"""Optimizers with rules of one's own are copied, and pickled where the rule is found again."""

import copy
import pickle
import sys
import types

import pytest
import torch
from optim_cases import network, same, train

from marslab.errors import UsageError
from marslab.optim import RuleOptimizer
from marslab.rule import rule


@rule(memory=("m",))
def at_the_top(x, state, g, *, lr=0.1):
    """A rule that a pickle finds again."""
    return x - lr * g, dict(m=g)


@pytest.mark.parametrize("place", ["here", "__main__"])
def test_a_rule_of_ones_own_is_found_again(place, monkeypatch):
    mine = at_the_top
    if place == "__main__":
        function = types.FunctionType(at_the_top.function.__code__, {}, "mine")
        function.__kwdefaults__, function.__module__ = {"lr": 0.1}, "__main__"
        mine = rule(memory=("m",))(function)
        monkeypatch.setattr(sys.modules["__main__"], "my_rule", mine, raising=False)
    model = network()
    optimizer = RuleOptimizer(model, mine, lr=0.05)
    train(model, optimizer, 2)
    text = pickle.dumps([model, optimizer])
    for one, its in (copy.deepcopy([model, optimizer]), pickle.loads(text)):
        assert its.rule is mine and its.known[mine.name] is mine
        its.add_param_group({"params": [("x", torch.nn.Parameter(torch.ones(2)))], "rule": mine})
        its.add_param_group({"params": [("y", torch.nn.Parameter(torch.ones(2)))], "rule": mine.name})
        assert [group["lr"] for group in its.param_groups] == [0.05] * 3
        train(one, its, 1)
    if place == "__main__":
        monkeypatch.undo()
        with pytest.raises(UsageError, match="not there; define it"):
            pickle.loads(text)


def test_a_rule_that_no_module_holds_is_copied_but_not_pickled():
    @rule(memory=("m",))
    def local(x, state, g, *, lr=0.1):
        return x - lr * g, dict(m=g)

    model = network()
    optimizer = RuleOptimizer(model, local, lr=0.05)
    one, its = copy.deepcopy([model, optimizer])
    same(train(one, its, 2), train(model, optimizer, 2), tolerance=0)
    with pytest.raises(UsageError, match=r"rule local cannot be pickled.*top of one"):
        pickle.dumps(optimizer)
