"""Rules as an optimizer takes them: found, tried once, and kept through copies and pickles."""

import sys
from importlib import import_module

import torch

from marslab.errors import UsageError
from marslab.optim.groups import OWN_KEYS
from marslab.optimizers import RULES, find_rule
from marslab.rule import Rule

__all__ = ["Kept", "known_together", "usable"]


def usable(rule: Rule | str, known: dict) -> Rule:
    """The rule, by name or itself, refused where a step on a module cannot feed it or cannot use what it returns."""
    rule = known[rule] if isinstance(rule, str) and rule in known else find_rule(rule)
    observed = [name for name in rule.needs if name != "large_batch"]  # a large batch is the loop's own affair
    if observed:
        what = {"full": "the gradient over all data at a snapshot", "hess": "the Hessian's diagonal"}[observed[0]]
        raise UsageError(f"{rule.name} observes {what}, which only the simulator supplies; use marslab.run, or another rule.")
    if RULES.get(rule.name) is not rule and known.get(rule.name) is not rule:
        tried(rule)
    return rule


def known_together(known: dict, rules: list) -> dict:
    """{name: rule} with the new ones; groups and state dictionaries know rules by name, so a name means one rule."""
    found = dict(known)
    for rule in rules:
        if found.setdefault(rule.name, rule) is not rule:
            raise UsageError(f"two different rules are named {rule.name!r}; rename one of them.")
    return found


def tried(rule: Rule) -> None:
    """One step of a rule of the user's own on ones, so that what it does wrong is told before a weight has moved."""
    taken = [name for name in rule.hyper if name in OWN_KEYS]
    if taken:
        raise UsageError(f"rule {rule.name} has a hyper-parameter {taken[0]!r}, which a group needs for itself; rename it.")
    for shape in ((2, 2),) if rule.matrix else ((2,), (2, 2)):
        x, g, prev = (torch.ones(shape, dtype=torch.float64) for _ in range(3))
        state, t = rule.init(x), torch.tensor(1.0, dtype=torch.float64)
        given = [x, g, prev, *state.values()]
        try:
            with torch.no_grad():
                result = rule(x, state, g, prev, t=t, axes=tuple(range(-len(shape), 0)), **rule.hyper)
        except Exception:  # not a shape that this rule takes; what fails on the user's own shapes fails there
            continue
        if any(tensor._version for tensor in given):
            raise UsageError(f"rule {rule.name} changes a tensor that it was given; compute new ones, for example x - lr * g.")
        return check_result(rule, state, x.shape, result)
    return None


def check_result(rule: Rule, state: dict, wanted, result) -> None:
    """Refuse what is no new point and new state."""
    if not (isinstance(result, tuple) and len(result) == 2 and torch.is_tensor(result[0]) and isinstance(result[1], dict)):
        raise UsageError(f"rule {rule.name} returns no pair (x_new, state_new); return for example x - lr * g, dict(m=m).")
    new, found = result
    missing = [name for name in state if name not in found]
    if missing:
        raise UsageError(f"rule {rule.name} declares {missing[0]!r} as state and does not return it; add it to the new state.")
    shapes = {"x_new": new.shape} | {name: torch.as_tensor(found[name]).shape for name in rule.memory}
    for name, shape in shapes.items():
        if shape != wanted:
            raise UsageError(
                f"rule {rule.name} returns {name} of shape {tuple(shape)} for x of {tuple(wanted)}; keep the shape."
            )


class Kept:
    """A rule in the state of an optimizer: the same object in a deep copy, found again by its name in a pickle."""

    def __init__(self, rule: Rule):
        self.rule = rule

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        module = sys.modules.get(self.rule.function.__module__)
        place = next((name for name, value in vars(module).items() if value is self.rule), None) if module else None
        if place is None:
            raise UsageError(f"rule {self.rule.name} cannot be pickled, since no module holds it; define it at the top of one.")
        return found_again, (module.__name__, place)


def found_again(module: str, name: str) -> Kept:
    """The rule that a pickle names."""
    try:
        return Kept(getattr(import_module(module), name))
    except (ImportError, AttributeError) as problem:
        raise UsageError(f"a pickled optimizer takes rule {name} of {module}, which is not there; define it.") from problem
