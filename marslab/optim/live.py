"""Parameter groups are open to schedulers and users: what they hold now, checked before a step moves anything."""

from numbers import Number

import torch

from marslab.errors import UsageError
from marslab.kinds import is_number, one_of
from marslab.optim.groups import OWN_KEYS, check_names, check_values
from marslab.optim.planning import MODES, truth

__all__ = ["check_group", "check_groups"]


def check_groups(optimizer) -> None:
    """Refuse a group that cannot be stepped with; one that holds what it held at the last step is not looked at again."""
    for place, group in enumerate(optimizer.param_groups):
        found = [(name, as_seen(value)) for name, value in group.items() if name not in ("params", "param_names")]
        if optimizer.seen.get(place) != found:
            check_group(optimizer, group, f"group {place}")
            optimizer.seen[place] = found


def as_seen(value) -> tuple:
    """What a value is compared by: tensors by what they hold, as they may be written in place."""
    if (torch.is_tensor(value) or hasattr(value, "item")) and not getattr(value, "ndim", 1):
        return type(value), value.item()
    return (type(value), value) if isinstance(value, Number | str | None) else (type(value), object())


def check_group(optimizer, group: dict, where: str) -> None:
    """Refuse missing and mistaken keys, and values that are none; ``where`` names the group."""
    if not isinstance(group.get("rule"), str):
        raise UsageError(f"{where} names no rule (rule = {group.get('rule')!r}); put back the name that it was made with.")
    rule = optimizer.rule_of(group)
    for name in ("mode", "first", "maximize", *rule.hyper):
        if name not in group:
            raise UsageError(f"{where} lacks {name!r}, which {rule.name} needs; put it back.")
    others = [name for name in group if name not in OWN_KEYS]
    check_names(rule, others, tags=True)
    if "exact" in group:
        raise UsageError(f"{where} has 'exact', which is read at construction only; make an optimizer with it.")
    rule.mode(MODES[one_of("mode", group["mode"], MODES)])
    one_of("first", group["first"], ("equal", "zero"))
    truth("maximize", group["maximize"])
    check_values(rule, {name: group[name] for name in rule.hyper})
    if "lr_ratio" in group and not is_number(group["lr_ratio"]):
        raise UsageError(f"{where} has lr_ratio = {group['lr_ratio']!r}, which is no number; put back the number.")
