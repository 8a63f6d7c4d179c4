"""Small parameters of one shape, in one group, are lanes of one call of their rule: the same numbers, fewer calls."""

import torch

from marslab.optim.view import HALVES, is_sharded

__all__ = ["advance", "is_plain", "key"]


def is_plain(job) -> bool:
    """Whether the parameter is computed with as it stands."""
    p = job.p
    return not (job.rule.matrix or p.is_complex() or is_sharded(p) or p.dtype in HALVES or p.grad.dtype != p.dtype)


def key(job, state) -> tuple:
    """What parameters must share: group, shape, type, device, and the numbers in their state."""
    scalars = tuple(state["memory"][name].item() for name in job.rule.scalars) if "memory" in state else ()
    return id(job.group), job.p.shape, job.p.dtype, job.p.device, state.get("t", 0), state.get("history"), scalars


def advance(steps: list) -> None:
    """One call of the rule for all; every parameter keeps a state of its own."""
    job, states = steps[0].job, [step.state for step in steps]
    for state in states:
        state["t"] += 1
    rule, kept = job.rule, [state["memory"] for state in states]
    points = [step.job.p.detach() for step in steps]
    x, g = torch.stack(points), torch.stack([step.g for step in steps])
    prev = None if steps[0].prev is None else torch.stack([step.prev for step in steps])
    memory = {name: torch.stack([m[name] for m in kept]) for name in rule.memory} | {n: kept[0][n] for n in rule.scalars}
    t = torch.tensor(float(states[0]["t"]), dtype=torch.float64)
    new, found = rule(x, memory, g, prev, t=t, axes=tuple(range(1 - x.ndim, 0)), **job.hyper)
    torch._foreach_copy_(points, list(new.unbind()))
    for name in rule.memory:
        torch._foreach_copy_([m[name] for m in kept], list(torch.as_tensor(found[name]).expand_as(x).unbind()))
    for name in rule.scalars:
        for m in kept:
            m[name] = torch.as_tensor(found[name], dtype=m[name].dtype, device=m[name].device).clone()
    if steps[0].keep is not None:
        torch._foreach_copy_([step.keep for step in steps], list(g.unbind()))
    if job.group["mode"] != "single":
        for state in states:
            state["history"] = True
