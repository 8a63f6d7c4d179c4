"""The contract of every registered rule: documented, pure, and the same for one lane, many lanes and vmap."""

import importlib
import inspect
import pickle

import pytest
import torch

import marslab
from marslab import listing
from marslab.errors import UsageError
from marslab.kinds import is_number
from marslab.optimizers import RULES
from marslab.rule import Rule, check_range

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
LANES = 6


def event_shapes(rule):
    return [(4, 3), (3, 5), (2, 3, 3, 2)] if rule.matrix else [(), (1,), (5,), (4, 3), (2, 3, 3, 2)]


every_shape = pytest.mark.parametrize(
    ("rule", "event"), [pytest.param(r, e, id=f"{r.name}-{e}") for r in RULES.values() for e in event_shapes(r)]
)


def normal(generator, *shape, dtype=torch.float64):
    return torch.randn(shape, generator=generator, dtype=dtype)


def numbers(rule):
    return {name: value for name, value in rule.hyper.items() if is_number(value)}


def travelled(rule, x, generator, steps=3, **call):
    """A point and state that the rule reaches from its start, so that every entry has a value it can have."""
    state, prev = rule.init(x), torch.zeros_like(x)
    for t in range(1, steps + 1):
        g = normal(generator, *x.shape, dtype=x.dtype)
        x, state = rule(x, state, g, prev, t=torch.tensor(float(t), dtype=torch.float64), **seen(rule, g), **call)
        prev = g
    return x, state, normal(generator, *x.shape, dtype=x.dtype), prev


def seen(rule, g):
    """Declared observations that go with a gradient: itself at the snapshot, its square for the Hessian's diagonal."""
    return {name: value for name, value in (("full", g), ("hess", g * g)) if name in rule.accepts}


def trailing(event):
    return tuple(range(-len(event), 0))


def varied(rule, event, generator):
    """Every numeric hyper-parameter spread over the lanes within its range, shaped as the simulator shapes it."""
    shape = (LANES, *(1 for _ in event))
    spread = {name: 1 - 0.5 * torch.rand(shape, generator=generator, dtype=torch.float64) for name in numbers(rule)}
    return {name: value * spread[name] for name, value in numbers(rule).items()}


@every_rule
def test_docstring_states_equation_and_source(rule):
    assert ":math:" in rule.__doc__ or ".. math::" in rule.__doc__
    assert "arXiv" in rule.__doc__
    assert inspect.getmodule(rule.function).__doc__


@every_rule
def test_defaults_and_presets_lie_in_range(rule):
    for chosen in ({}, *rule.presets.values()):
        for name, value in rule.check(chosen).items():
            if is_number(value):
                check_range(name, torch.tensor(float(value)))
            else:
                assert value in rule.options[name]


@every_shape
def test_update_is_pure_and_keeps_shape_and_dtype(rule, event):
    for dtype in (torch.float32, torch.float64):
        generator = torch.Generator().manual_seed(1)
        axes = trailing(event)
        x, state, g, prev = travelled(rule, normal(generator, 3, *event, dtype=dtype), generator, axes=axes)
        before = pickle.dumps((x, state, g, prev))
        new_x, new_state = rule(x, state, g, prev, t=torch.tensor(4.0, dtype=torch.float64), axes=axes, **seen(rule, g))
        assert pickle.dumps((x, state, g, prev)) == before
        factors = getattr(rule, "factors", ())
        assert set(new_state) == {*rule.memory, *rule.scalars, *rule.diagnostics, *factors}
        given = {v.data_ptr() for v in (x, g, prev, *state.values()) if torch.is_tensor(v)}
        for name, value in (("x", new_x), *((n, new_state[n]) for n in (*rule.memory, *rule.scalars))):
            assert value.dtype == dtype
            assert value.data_ptr() not in given
            assert value.shape == (() if name in rule.scalars else x.shape)


@every_shape
def test_lanes_equal_a_loop_and_vmap(rule, event):
    generator = torch.Generator().manual_seed(2)
    hyper = varied(rule, event, generator)
    axes = trailing(event)
    x, state, g, prev = travelled(rule, normal(generator, LANES, *event), generator, axes=axes, **hyper)
    t = torch.tensor(4.0, dtype=torch.float64)
    together = rule(x, state, g, prev, t=t, axes=axes, **seen(rule, g), **hyper)
    bare = torch.func.vmap(lambda x, state, g, prev, hyper: rule(x, state, g, prev, t=t, **seen(rule, g), **hyper))
    mapped = bare(x, state, g, prev, {n: v.reshape(LANES, *(1 for _ in event)) for n, v in hyper.items()})
    for lane in range(LANES):
        own = {name: value[lane] for name, value in state.items()}
        floats = {name: value[lane].item() for name, value in hyper.items()}
        alone = rule(x[lane], own, g[lane], prev[lane], t=t, **seen(rule, g[lane]), **floats)
        for other in (together, mapped):
            new = (other[0][lane], *(other[1][name][lane] for name in rule.memory))
            for value, expected in zip(new, (alone[0], *(alone[1][name] for name in rule.memory)), strict=True):
                value = value.reshape(expected.shape)
                if rule.matrix:  # matrix products may sum in another order
                    torch.testing.assert_close(value, expected, rtol=0, atol=1e-12)
                else:
                    assert torch.equal(value, expected)


@every_shape
def test_lanes_may_stand_last(rule, event):
    generator = torch.Generator().manual_seed(3)
    axes = trailing(event)
    x, state, g, prev = travelled(rule, normal(generator, LANES, *event), generator, axes=axes)
    new_x, _ = rule(x, state, g, prev, t=torch.tensor(4.0, dtype=torch.float64), axes=axes, **seen(rule, g))
    last = [v.movedim(0, -1) for v in (x, g, prev)]
    moved = {name: v.movedim(0, -1) if torch.is_tensor(v) and v.ndim else v for name, v in state.items()}
    call = {"t": torch.tensor(4.0, dtype=torch.float64), "axes": tuple(range(len(event))), **seen(rule, last[1])}
    flipped, _ = rule(last[0], moved, last[1], last[2], **call)
    torch.testing.assert_close(flipped.movedim(-1, 0), new_x, rtol=0, atol=1e-12)


@every_shape
def test_zero_gradient_only_decays(rule, event):
    x = normal(torch.Generator().manual_seed(4), *event)
    zero, state, start = torch.zeros_like(x), rule.init(x), x
    decay = {"weight_decay": 0.1, "lr": 0.5} if "weight_decay" in rule.hyper else {}
    for t in range(1, 4):
        x, state = rule(x, state, zero, zero, t=torch.tensor(float(t), dtype=torch.float64), **seen(rule, zero), **decay)
    shrink = 1 / 1.05 if rule.name == "adan" else 0.95  # adan's decay is proximal
    torch.testing.assert_close(x, start * (shrink**3 if decay else 1.0), rtol=1e-14, atol=0)
    assert all(not state[name].any() for name in rule.memory)


@every_shape
def test_constant_gradient_is_descended(rule, event):
    generator = torch.Generator().manual_seed(5)
    x = start = normal(generator, *event)
    g, state = normal(generator, *event), rule.init(x)
    decay = {"weight_decay": 0.0} if "weight_decay" in rule.hyper else {}
    for t in range(1, 31):
        x, state = rule(x, state, g, g, t=torch.tensor(float(t), dtype=torch.float64), **seen(rule, g), **decay)
    moved = start - x
    assert (moved * g).sum() > 0
    if not rule.matrix:
        assert torch.equal(moved.sign(), g.sign())


@every_rule
def test_the_list_says_what_is_uncertain(rule):
    line = listing.rules()[rule.name]
    assert rule.uncertain in line and ("uncertain" in line) == bool(rule.uncertain)


@every_rule
def test_pickle_gives_the_same_object(rule):
    assert pickle.loads(pickle.dumps(rule)) is rule


def test_decorator_is_public_and_refuses_a_bad_declaration():
    importlib.import_module("marslab.rule")  # the submodule bears the decorator's name
    made = marslab.rule(memory=("m",))(lambda x, state, g, *, lr=0.1: (x - lr * g, {"m": g}))
    assert isinstance(made, Rule) and dict(made.hyper) == {"lr": 0.1}
    with pytest.raises(UsageError, match="'lr' a default"):
        marslab.rule()(lambda x, state, g, *, lr: (x, {}))
    with pytest.raises(UsageError, match="'sideways' is unknown; use one of none, last"):
        marslab.rule(prev="sideways")(lambda x, state, g, prev: (x, {}))
    for prev, function in (("either", lambda x, state, g: (x, {})), ("none", lambda x, state, g, prev: (x, {}))):
        with pytest.raises(UsageError, match="disagree"):
            marslab.rule(prev=prev)(function)
