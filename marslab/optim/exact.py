"""The exact mode: gradients at the previous weights, from the closure or handed over."""

import random
from contextlib import contextmanager

import numpy as np
import torch

from marslab.errors import UsageError

__all__ = ["earlier_gradients", "keep_places", "modules_of"]


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
        return handed_over(optimizer, list(prev_grads))
    if not exact:
        return {}
    if closure is None:
        raise UsageError(
            "the exact mode needs the gradients at the previous weights: call step(closure), which clears the gradients, runs "
            "backward and returns the loss, or step(prev_grads=[...])."
        )
    return graded_at_previous_weights(optimizer, closure)


def handed_over(optimizer, gradients: list) -> dict:
    """Check the list of the user and give each parameter its own entry."""
    params = optimizer.handed
    if len(gradients) != len(params):
        raise UsageError(
            f"prev_grads has {len(gradients)} entries for {len(params)} parameters; give one each, None where none."
        )
    for place, (p, gradient) in enumerate(zip(params, gradients, strict=True)):
        if gradient is None:
            continue
        if not torch.is_tensor(gradient) or gradient.shape != p.shape:
            found = f"shape {tuple(gradient.shape)}" if torch.is_tensor(gradient) else repr(gradient)
            raise UsageError(f"prev_grads[{place}] has {found} for a parameter of shape {tuple(p.shape)}; keep the order.")
        if gradient is p.grad:
            raise UsageError(f"prev_grads[{place}] is the parameter's own gradient, not an earlier one; hand over a copy.")
    return {p: g.detach() for p, g in zip(params, gradients, strict=True) if g is not None}


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
        elif "last" in state:
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
    """Buffers, such as the running statistics of batch norm, are afterwards as before."""
    buffers = [buffer for module in modules for buffer in module.buffers()]
    before = [buffer.detach().clone() for buffer in buffers]
    try:
        yield
    finally:
        overwrite(buffers, before)


@torch.no_grad()
def overwrite(tensors: list, values: list) -> None:
    """Copy the values into the tensors; None leaves one alone."""
    for tensor, value in zip(tensors, values, strict=True):
        if value is not None:
            tensor.copy_(value)
