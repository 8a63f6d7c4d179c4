"""The exact mode: gradients at the previous weights, from the closure or handed over, and those at the current ones."""

import random
from contextlib import contextmanager

import numpy as np
import torch

from marslab.errors import UsageError
from marslab.optim.view import is_sharded, local

__all__ = ["earlier_gradients", "graded", "graded_here", "keep_places", "modules_of"]


def modules_of(buffers) -> list:
    """The modules whose buffers are to be restored."""
    modules = [] if buffers is None else list(buffers) if isinstance(buffers, list | tuple) else [buffers]
    for module in modules:
        if not isinstance(module, torch.nn.Module):
            raise UsageError(f"buffers = {module!r} is no module; give the model, whose buffers are then restored.")
    return modules


def earlier_gradients(optimizer, closure, prev_grads, exact: bool) -> dict:
    """{parameter: gradient at the previous weights on this step's sample}; parameters without one are left out."""
    if prev_grads is not None:
        if not exact:
            raise UsageError("prev_grads belongs to the exact mode; construct the optimizer with exact=True.")
        return handed_over(optimizer, prev_grads)
    if not exact or (closure is None and is_start_at_rate_zero(optimizer)):
        return {}
    if closure is None:
        raise UsageError(
            "the exact mode needs the gradients at the previous weights: call step(closure), which clears the gradients, runs "
            "backward and returns the loss, or step(prev_grads=[...])."
        )
    return graded_at_previous_weights(optimizer, closure)


def is_start_at_rate_zero(optimizer) -> bool:
    """Whether torch.distributed.checkpoint makes the state: by a first step at rate 0, which moves nothing and has no past."""
    return not any(optimizer.state.values()) and all(
        "lr" in group and float(group["lr"]) == 0 for group in optimizer.param_groups
    )


def handed_over(optimizer, gradients) -> dict:
    """Check the list of the user and give each parameter its own entry."""
    if torch.is_tensor(gradients) or not hasattr(gradients, "__iter__") or isinstance(gradients, str | dict):
        raise UsageError(f"prev_grads is a {type(gradients).__name__}; give a list with one gradient for each parameter.")
    params, gradients = optimizer.handed, list(gradients)
    if len(gradients) != len(params):
        raise UsageError(
            f"prev_grads has {len(gradients)} entries for {len(params)} parameters; give one each, None where none."
        )
    taken = {storage(p.grad) for p in params if p.grad is not None} - {None}
    for place, (p, gradient) in enumerate(zip(params, gradients, strict=True)):
        if gradient is not None:
            check_entry(f"prev_grads[{place}]", p, gradient, taken)
    return {p: g.detach() for p, g in zip(params, gradients, strict=True) if g is not None}


def check_entry(name: str, p, gradient, taken: set) -> None:
    """Refuse what is no earlier gradient of this parameter."""
    if not torch.is_tensor(gradient) or gradient.shape != p.shape:
        found = f"shape {tuple(gradient.shape)}" if torch.is_tensor(gradient) else repr(gradient)
        raise UsageError(f"{name} has {found} for a parameter of shape {tuple(p.shape)}; keep the order.")
    types = [p.dtype] if p.grad is None else [p.dtype, p.grad.dtype]
    if gradient.dtype not in types:
        raise UsageError(f"{name} has type {gradient.dtype} for a parameter of {p.dtype}; hand over a gradient of that type.")
    if gradient.device != p.device or is_sharded(gradient) != is_sharded(p):
        here, there = (f"{t.device}{', sharded' if is_sharded(t) else ''}" for t in (gradient, p))
        raise UsageError(f"{name} lies on {here} and its parameter on {there}; bring it there.")
    if gradient.layout == torch.strided and storage(gradient) in taken:
        raise UsageError(f"{name} shares its memory with a parameter's own gradient, not an earlier one; hand over a copy.")


def storage(tensor) -> int | None:
    """Where the values of a tensor lie; None where it has none of its own."""
    tensor = local(tensor)
    return tensor.untyped_storage().data_ptr() or None if tensor.layout == torch.strided else None


def graded(closure):
    """The loss of the closure, which leaves gradients behind."""
    with torch.enable_grad():
        return closure()


def graded_here(optimizer, closure):
    """The loss at the current weights; the gradients are afterwards the closure's alone, as at the previous weights."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    before = [p.grad for p in params]
    try:
        for p in params:
            p.grad = None
        loss = graded(closure)
        if any(g is not None for g in before) and all(p.grad is None for p in params):
            raise UsageError(
                "the closure left no gradient, but there was one before it; in the exact mode the closure itself runs backward."
            )
        return loss
    except BaseException:
        for p, gradient in zip(params, before, strict=True):
            p.grad = gradient
        raise


def graded_at_previous_weights(optimizer, closure) -> dict:
    """Run the closure where the last step was taken from; weights, buffers, gradients and random state stay as they were."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    last = [optimizer.state[p].get("last") if p in optimizer.state else None for p in params]
    if all(place is None for place in last):
        return {}
    here = [None if place is None else p.detach().clone() for p, place in zip(params, last, strict=True)]
    current = [p.grad for p in params]
    try:
        overwrite(params, last)
        for p in params:
            p.grad = None
        with same_random_state(params), restored(optimizer.buffers), torch.enable_grad():
            closure()
        return {p: p.grad.detach() for p in params if p.grad is not None}
    finally:
        overwrite(params, here)
        for p, gradient in zip(params, current, strict=True):
            p.grad = gradient


def keep_places(optimizer, jobs, needed: bool) -> None:
    """Remember where this step is taken from; a parameter that does not move needs no memory of its place."""
    moving = {id(job.p) for job in jobs}
    for state in [state for p, state in optimizer.state.items() if id(p) not in moving]:
        state.pop("last", None)
    for job in jobs:
        state = optimizer.state[job.p]
        if not needed:
            state.pop("last", None)
        elif "last" in state and state["last"].dtype == job.p.dtype:
            state["last"].copy_(job.p)
        else:
            state["last"] = job.p.detach().clone()


@contextmanager
def same_random_state(params):
    """What is drawn inside is drawn again after it: torch on all devices in use, numpy and random."""
    devices = {p.device for p in params if p.device.type not in ("cpu", "meta")}
    kinds = {device.type for device in devices}
    python, arrays = random.getstate(), np.random.get_state()  # noqa: NPY002  (the closure may use the global generator)
    kind = kinds.pop() if kinds else "cuda"
    try:
        with torch.random.fork_rng([d.index or 0 for d in devices], device_type=kind):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(arrays)  # noqa: NPY002


@contextmanager
def restored(modules):
    """Buffers, such as the running statistics of batch norm, are afterwards as before, also where forward put new tensors."""
    found = {id(part): part for module in modules for part in module.modules()}
    before = [(part, dict(part._buffers)) for part in found.values()]
    buffers = [b for _, names in before for b in names.values() if b is not None]
    values = [b.detach().clone() for b in buffers]
    try:
        yield
    finally:
        for part, names in before:
            part._buffers.clear()
            part._buffers.update(names)
        for buffer, value in zip(buffers, values, strict=True):
            if buffer.shape == value.shape:
                overwrite([buffer], [value])
            else:
                buffer.data = value


@torch.no_grad()
def overwrite(tensors: list, values: list) -> None:
    """Copy the values into the tensors; None leaves one alone."""
    for tensor, value in zip(tensors, values, strict=True):
        if value is not None:
            tensor.copy_(value)
