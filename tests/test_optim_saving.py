"""What is saved is what goes on: types, rules and settings that differ, damaged files, hooks, pickles, checkpoints of torch."""

import copy
import io
import warnings

import pytest
import torch
from optim_cases import closure_of, loss_of, network, same, train, weights

from marslab.errors import UsageError
from marslab.optim import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, RuleOptimizer, Shampoo, released

CLASSES = [MarsAdamW, MarsLion, MarsShampoo, AdamW, Lion, Muon, Shampoo]
every_class = pytest.mark.parametrize("make", CLASSES, ids=lambda c: c.__name__)


@pytest.mark.parametrize(
    "theirs, ours, sentence",
    [
        (MarsAdamW, MarsLion, "rule = 'mars_adamw', this optimizer 'mars_lion'; construct it with 'mars_adamw'"),
        (AdamW, lambda p: AdamW(p, amsgrad=True), "rule = 'adamw', this optimizer 'amsgrad'"),
        (MarsShampoo, lambda p: MarsShampoo(p, fallback="lion"), "saved group 1 has rule = 'adamw', this optimizer 'lion'"),
        (MarsAdamW, lambda p: MarsAdamW(p, exact=True), "mode = 'approximate', this optimizer 'exact'"),
        (lambda p: MarsAdamW(p, first="zero"), MarsAdamW, "first = 'zero', this optimizer 'equal'"),
        (lambda p: MarsAdamW(p, clip_scope="global"), MarsAdamW, "clip_scope = 'global', this optimizer 'tensor'"),
        (lambda p: MarsAdamW(p, rounding="nearest"), MarsAdamW, "rounding = 'nearest', this optimizer 'master'"),
        (lambda p: torch.optim.AdamW(p.parameters()), AdamW, "names no rule, so another optimizer made it"),
    ],
)
def test_state_of_another_convention_is_refused(theirs, ours, sentence):
    model, other = network(), network()
    optimizer, mine = theirs(model), ours(other)
    if not isinstance(optimizer, RuleOptimizer) or "exact" not in optimizer.param_groups[0].values():
        train(model, optimizer, 1)
    train(other, mine, 2)
    before = copy.deepcopy(mine.state_dict())
    with pytest.raises(UsageError, match=sentence):
        mine.load_state_dict(optimizer.state_dict())
    assert same_nest(mine.state_dict(), before)


def same_nest(one, two):
    """Whether two nests of dictionaries, lists and tensors are equal."""
    if torch.is_tensor(one):
        return torch.is_tensor(two) and one.dtype == two.dtype and torch.equal(one, two)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same_nest(value, two[name]) for name, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same_nest, one, two))
    return one == two


def test_a_dictionary_without_the_settings_loads():
    model, other = network(), network()
    optimizer = MarsAdamW(model, clip_scope="global")
    train(model, optimizer, 2)
    saved = optimizer.state_dict()
    assert (saved.pop("clip_scope"), saved.pop("rounding")) == ("global", "master")
    MarsAdamW(other, clip_scope="tensor").load_state_dict(saved)


def broken(change):
    """A change of one state dictionary, on its first parameter's state and first group."""
    return lambda saved: change(saved, saved["state"][0], saved["param_groups"][0])


DAMAGE = {
    "empty": (lambda s: s.clear(), "no 'state'"),
    "no groups": (lambda s: s.pop("param_groups"), "no 'param_groups'"),
    "groups that are none": (lambda s: s.update(param_groups=[3]), "no list of 'params'"),
    "unknown rule": (broken(lambda s, p, g: g.update(rule="adan2")), "rule = 'adan2'"),
    "no rate": (broken(lambda s, p, g: g.pop("lr")), "saved group 0 lacks 'lr'"),
    "no gamma": (broken(lambda s, p, g: g.pop("gamma")), "saved group 0 lacks 'gamma'"),
    "bad rate": (broken(lambda s, p, g: g.update(lr=-1.0)), "lr = -1 lies outside"),
    "bad word": (broken(lambda s, p, g: g.update(second_moment="x")), "second_moment = 'x' is unknown"),
    "no memory": (broken(lambda s, p, g: p.pop("memory")), "has no 'memory'"),
    "no m": (broken(lambda s, p, g: p["memory"].pop("m")), "lacks 'm'"),
    "no product": (broken(lambda s, p, g: p["memory"].pop("beta1_product")), "lacks 'beta1_product'"),
    "memory is a number": (broken(lambda s, p, g: p["memory"].update(m=3.0)), "m = 3.0, which is no tensor"),
    "no count": (broken(lambda s, p, g: p.pop("t")), "t = None, which counts no steps"),
    "bad count": (broken(lambda s, p, g: p.update(t=-1)), "t = -1, which counts no steps"),
    "shape of m": (broken(lambda s, p, g: p["memory"].update(m=torch.ones(3))), r"shape \(3,\) \(m\)"),
    "shape of previous": (broken(lambda s, p, g: p.update(previous=torch.ones(3))), r"shape \(3,\) \(previous\)"),
    "shape of master": (broken(lambda s, p, g: p.update(master=torch.ones(3))), r"shape \(3,\) \(master\)"),
    "shape of last": (broken(lambda s, p, g: p.update(last=torch.ones(3))), r"shape \(3,\) \(last\)"),
    "state is a list": (broken(lambda s, p, g: s["state"].update({0: [1]})), "has no 'memory'"),
    "stranger": (broken(lambda s, p, g: s["state"].update({99: p})), "in none of its groups"),
}


@pytest.mark.parametrize("change, sentence", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_dictionary_is_refused_and_changes_nothing(change, sentence):
    model = network()
    optimizer = MarsAdamW(model)
    train(model, optimizer, 2)
    before, saved = optimizer.state_dict(), optimizer.state_dict()
    change(saved)
    with pytest.raises(UsageError, match=sentence):
        optimizer.load_state_dict(saved)
    assert same_nest(optimizer.state_dict(), before)
    for odd in (None, 3, "file.pt", [saved]):
        with pytest.raises(UsageError, match="no state_dict"):
            optimizer.load_state_dict(odd)


def test_factors_of_another_shape_are_refused():
    model = network()
    optimizer = Shampoo(model)
    train(model, optimizer, 1)
    saved = optimizer.state_dict()
    name = next(name for name, value in saved["state"][0]["memory"].items() if value.ndim == 2)
    saved["state"][0]["memory"][name] = torch.ones(2, 2)
    with pytest.raises(UsageError, match=r"shape \(2, 2\)"):
        optimizer.load_state_dict(saved)


@every_class
def test_state_with_gaps_is_refused_before_anything_moves(make):
    model = network()
    optimizer = make(model)
    train(model, optimizer, 1)
    before, memory = weights(model), optimizer.state[optimizer.handed[-1]]["memory"]
    memory.pop(next(iter(memory)))
    with pytest.raises(UsageError, match=r"lacks .*, which"):
        train(model, optimizer, 1)
    same(weights(model), before, tolerance=0)
    del optimizer.state[optimizer.handed[-1]]
    train(model, optimizer, 1)


def test_hooks_after_loading_see_what_was_loaded_and_their_changes_stay():
    model = network().bfloat16()
    optimizer, again, seen = AdamW(model), AdamW(network().bfloat16()), []
    for p in optimizer.handed:
        p.grad = torch.ones_like(p)
    optimizer.step()

    def look(one):
        state = one.state[one.handed[0]]
        seen.append((state["master"].dtype, type(one.param_groups[0]).__name__, one.param_groups[0]["betas"]))
        state["memory"]["m"].fill_(3.0)
        one.param_groups[0]["lr"] = 0.5

    again.register_load_state_dict_post_hook(look)
    again.load_state_dict(optimizer.state_dict())
    assert seen == [(torch.float32, "Group", (0.9, 0.999))]
    assert (again.state[again.handed[0]]["memory"]["m"] == 3).all() and again.param_groups[0]["lr"] == 0.5


def test_saving_leaves_live_state_alone():
    model = network()
    optimizer = MarsAdamW(model)
    train(model, optimizer, 1)
    old = optimizer.param_groups[0]["params"][0]
    optimizer.param_groups[0]["params"][0] = torch.nn.Parameter(old.detach().clone())
    state = dict(optimizer.state)
    assert len(optimizer.state_dict()["state"]) == 3
    assert dict(optimizer.state) == state and old in optimizer.state
    optimizer.param_groups[0]["params"][0] = old
    assert len(optimizer.state_dict()["state"]) == 4


MODES = {
    "approximate": lambda m: MarsAdamW(m),
    "exact": lambda m: MarsAdamW(m, exact=True),
    "exact shampoo": lambda m: MarsShampoo(m, exact=True),
    "storm": lambda m: RuleOptimizer(m, "storm"),
    "muon": lambda m: Muon(m),
    "shampoo": lambda m: Shampoo(m),
    "adamw": lambda m: AdamW(m),
    "sgd": lambda m: RuleOptimizer(m, "sgd"),
    "released": lambda m: released(m, is_approx=False),
}


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("make", MODES.values(), ids=MODES)
def test_torchs_checkpoints_save_and_load(make, flat):
    """torch.distributed.checkpoint makes the state by a step at rate 0 without a closure, and keys it by names."""
    from torch.distributed.checkpoint import state_dict as checkpoint

    options = checkpoint.StateDictOptions(flatten_optimizer_state_dict=flat)
    model, other = network(), network()
    optimizer, again = make(model), make(other)
    train(model, optimizer, 3)
    saved = copy.deepcopy(checkpoint.get_optimizer_state_dict(model, optimizer, options=options))
    other.load_state_dict(model.state_dict())
    before = weights(other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpoint.set_optimizer_state_dict(other, again, saved, options=options)
    same(weights(other), before, tolerance=0)
    same(train(other, again, 3, begin=4), train(model, optimizer, 3, begin=4), tolerance=0)


def test_only_a_first_step_at_rate_zero_does_without_a_closure():
    model = network()
    optimizer = MarsAdamW(model, exact=True, lr=0.0)
    loss_of(model, 1).backward()
    optimizer.step()
    with pytest.raises(UsageError, match=r"step\(closure\)"):
        optimizer.step()
    optimizer = MarsAdamW([{"params": model[0].parameters(), "lr": 0.0}, {"params": model[3].parameters()}], exact=True)
    with pytest.raises(UsageError, match=r"step\(closure\)"):
        optimizer.step()
    assert optimizer.step(closure_of(model, optimizer, 1)) is not None
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    optimizer.load_state_dict(torch.load(file, weights_only=True))
