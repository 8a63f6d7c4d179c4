"""Large tensors run compiled: one pass for the norm and one for everything else, by the same rule.

Every number enters in a tensor, so schedules recompile nothing. What is compiled depends on sizes alone, never on the number
of steps, so that a resumed run takes the same path: tensors of at least LARGE elements, one graph a size, and, where an
optimizer has one of these for a rule, those of at least MEDIUM, one graph for all.
"""

import math
import warnings

import torch

from marslab.kinds import is_number

__all__ = ["LARGE", "is_infinite", "run"]

LARGE, MEDIUM = 1 << 20, 1 << 14  # elements
_graphs: dict = {}
_reasons: list = []  # why compiling failed; then everything runs eagerly


def is_infinite(radius) -> bool:
    """Whether the clip is switched off, which is a Python branch of the rule."""
    return isinstance(radius, float) and math.isinf(radius)


def rules_with_large_tensors(groups: list) -> set:
    """The names of the rules that an optimizer with these groups compiles."""
    return {group["rule"] for group in groups if any(p.numel() >= LARGE for p in group["params"])}


def run(step, norm) -> bool:
    """Take the step compiled, in place; False where the tensor is not contiguous or compiling does not work here."""
    if _reasons:
        return False
    kept, rule = step.state["memory"], step.job.rule
    memory = {name: step.view.load(kept[name]) for name in rule.memory}
    keep = None if step.keep is None else step.view.load(step.keep)
    prev = None if keep is not None else step.g.clone() if step.prev is step.g else step.prev
    tensors = [step.x, step.g, keep, prev, *memory.values()]
    if not all(tensor is None or tensor.is_contiguous() for tensor in tensors):
        return False
    x, g, keep, prev = (None if tensor is None else tensor.view(-1) for tensor in tensors[:4])
    memory, scalars = {name: value.view(-1) for name, value in memory.items()}, {name: kept[name] for name in rule.scalars}
    shared, key = step.job.shared, (id(step.job.group), step.state["t"])
    if key not in shared:
        shared[key] = sorted_hyper(step.job.hyper, step.state["t"])
    static, names, values = shared[key]
    try:
        kept.update(graph(rule, static, names, step.x.numel())(x, g, prev, keep, memory, scalars, values, norm))
    except Exception as problem:  # whatever torch.compile may raise: no compiler, no space, an operation it does not know
        _reasons.append(problem)
        text = f"{type(problem).__name__}: {problem}".splitlines()[0][:300]
        warnings.warn(f"large tensors run without torch.compile, which fails here ({text}).", RuntimeWarning, stacklevel=2)
        return False
    return True


def sorted_hyper(hyper: dict, t: int) -> tuple[tuple, tuple, torch.Tensor]:
    """Words and an infinite radius, which make another graph; names of numbers, and t and the numbers, which do not."""
    numbers = {name: value for name, value in hyper.items() if is_number(value) and not is_infinite(value)}
    words = tuple((name, value) for name, value in hyper.items() if name not in numbers)
    return words, tuple(numbers), torch.tensor([t, *map(float, numbers.values())], dtype=torch.float64)


def graph(rule, static: tuple, names: tuple, size: int):
    """The compiled update of a rule with the given words; ``names``: the numbers that come after t."""
    key = rule, static, names, size if size >= LARGE else None
    if key not in _graphs:
        update = update_of(rule, dict(static), names)
        # torch counts compilations by code object, and gives up after eight: every graph gets a code of its own
        update.__code__ = update.__code__.replace(co_name=f"update_{rule.name}_{len(_graphs)}")
        _graphs[key] = torch.compile(update, dynamic=size < LARGE, fullgraph=True)
    return _graphs[key]


def update_of(rule, words: dict, names: tuple):
    """The rule in place, on flat tensors; returns the scalars, since tensors without axes are not written in place."""

    def update(x, g, prev, keep, memory, scalars, values, norm):
        t, *numbers = values.unbind()
        hyper = dict(zip(names, numbers, strict=True))
        new, found = rule(x, memory | scalars, g, keep if prev is None else prev, t=t, axes=(0,), norm=norm, **hyper, **words)
        for name, old in memory.items():
            old.copy_(found[name])
        if keep is not None:
            keep.copy_(g)
        x.copy_(new)
        return {name: found[name] for name in scalars}

    return update
