"""What an optimizer does to each parameter, in words."""

from marslab.errors import UsageError
from marslab.kinds import is_number
from marslab.optim.base import RuleOptimizer

__all__ = ["Description", "describe", "numbers_of"]


class Description(str):
    """A text that a notebook and the interpreter show as it is."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def describe(optimizer: RuleOptimizer) -> Description:
    """Rule, mode, options and hyper-parameters of every group, and how many numbers of state each parameter gets (and keeps).

    The library prints nothing: ``print(describe(optimizer))``.
    """
    if not isinstance(optimizer, RuleOptimizer):
        raise UsageError(f"describe is for the optimizers of marslab.optim, not for a {type(optimizer).__name__}.")
    settings = ", ".join(f"{name}={value}" for name, value in optimizer.settings.items())
    lines = [f"{type(optimizer).__name__}: {settings}, skipped steps: {optimizer.skipped}"]
    for place, group in enumerate(optimizer.param_groups):
        lines += about_group(optimizer, place, group)
    return Description("\n".join(lines))


def about_group(optimizer, place, group) -> list:
    """A line on the group and one on each of its parameters."""
    rule = optimizer.rule_of(group)
    hyper = ", ".join(f"{name}={shown(group[name])}" for name in (*rule.hyper, *(n for n in ("lr_ratio",) if n in group)))
    up = ", maximize" if group["maximize"] else ""
    how = f"{group['mode']}, first={group['first']}" if group["mode"] != "single" else "one gradient"
    lines = [f"group {place}: {rule.name} ({how}{up}) {hyper}"]
    for p in group["params"]:
        parts = numbers_of(optimizer, p, group)
        total = sum(parts.values())
        told = " + ".join(f"{name} {count}" for name, count in parts.items()) or "none"
        lines.append(f"  {optimizer.name_of(p)}: {p.numel()} weights {tuple(p.shape)}, {total} numbers of state ({told})")
    return lines


def shown(value) -> str:
    """A number in short, a word as it is."""
    return f"{float(value):g}" if is_number(value) else str(value)


def numbers_of(optimizer, p, group) -> dict[str, int]:
    """{buffer: numbers} that the state of a parameter holds after a step, all processes together."""
    rule, size = optimizer.rule_of(group), p.numel() * (2 if p.is_complex() else 1)
    if not p.numel():
        return {}
    parts = dict.fromkeys(rule.memory, size)
    if getattr(rule, "factors", ()):
        rows, columns = p.shape[0], p.numel() // p.shape[0]
        parts |= dict(zip(rule.factors, (rows * rows, columns * columns), strict=True))
    parts |= dict.fromkeys(rule.scalars, 1)
    if group["mode"] == "approximate":
        parts["last gradient"] = size
    if any(other["mode"] == "exact" for other in optimizer.param_groups):  # then all weights move back
        parts["previous weights (closure only)"] = size
    if p.dtype.itemsize == 2 and optimizer.settings["rounding"] == "master":
        parts["master copy"] = size
    return parts
