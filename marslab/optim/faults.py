"""What a step may not be asked for: gradients of the wrong kind, inf or NaN, state that is not there."""

import sys

import torch

from marslab.errors import UsageError
from marslab.optim.view import agreed, local

__all__ = ["NonFiniteGradient", "check_call", "check_closure", "check_kinds", "check_rounding", "is_to_be_skipped"]


class NonFiniteGradient(UsageError):
    """A gradient has an inf or NaN under the policy nonfinite="raise"."""


def check_closure() -> None:
    """Refuse a closure that GradScaler passes on: its gradients would be scaled ones, and nothing in a step tells that."""
    frame = sys._getframe(1)
    for _ in range(6):  # hooks of torch and a scheduler's counter may stand between
        if frame is None:
            return
        if frame.f_code.co_name == "_maybe_opt_step":
            raise UsageError(
                "a closure cannot be combined with GradScaler, whose scale its gradients would carry; "
                "call scaler.step(optimizer), or in the exact mode scaler.step(optimizer, prev_grads=[...]) with unscaled ones."
            )
        frame = frame.f_back


def check_call(closure) -> None:
    """Refuse a loss, or a list of gradients, in the closure's place."""
    if closure is not None and not callable(closure):
        remedy = "step(prev_grads=[...])" if isinstance(closure, list | tuple) else "step() after backward, or step(closure)"
        raise UsageError(f"step takes a closure, not a {type(closure).__name__}; call {remedy}.")


def check_rounding(rounding: str, params: list) -> None:
    """Refuse types that the rounding is not for."""
    if rounding == "stochastic" and any(p.dtype == torch.float16 for p in params):
        raise UsageError("stochastic rounding is for bfloat16; use rounding='master' for float16.")


def check_kinds(optimizer, jobs, earlier) -> None:
    """Refuse sparse gradients, complex matrices under a matrix rule, and state with gaps, before anything is changed."""
    check_rounding(optimizer.settings["rounding"], [job.p for job in jobs])
    needed = {id(job.rule): entries_of_state(job.rule) for job in jobs}
    for job in jobs:
        for gradient in (job.p.grad, earlier.get(job.p)):
            if gradient is not None and gradient.layout != torch.strided:
                raise UsageError(f"{job.rule.name} takes dense gradients only; build the embedding with sparse=False.")
        if job.p.is_complex() and job.rule.matrix:
            raise UsageError(f"{job.rule.name} is defined for real matrices only; give complex parameters another rule.")
        state = optimizer.state.get(job.p)
        if state and "t" in state:
            check_memory(optimizer, job, state.get("memory"), needed[id(job.rule)])


def check_memory(optimizer, job, memory, needed) -> None:
    """Refuse state that lacks what the rule reads."""
    missing = [name for name in needed if not isinstance(memory, dict) or name not in memory]
    if missing:
        raise UsageError(
            f"the state of {optimizer.name_of(job.p)} lacks {missing[0]!r}, which {job.rule.name} needs; "
            "load a whole state_dict, or delete this parameter's state, which then starts anew."
        )


def entries_of_state(rule) -> tuple[str, ...]:
    """What a rule keeps from step to step."""
    return (*rule.memory, *rule.scalars, *getattr(rule, "factors", ()))


def is_to_be_skipped(optimizer, jobs, earlier) -> bool:
    """Whether the policy skips this step (then it is counted); raises where the policy is to raise."""
    policy = optimizer.settings["nonfinite"]
    if policy == "pass":
        return False
    bad = next((job.p for job in jobs if not is_finite(job.p.grad, earlier.get(job.p))), None)
    if agreed(bad is None, [job.p for job in jobs]):
        return False
    if policy == "raise":
        where = f"the gradient of {optimizer.name_of(bad)}" if bad is not None else "a gradient of another process"
        raise NonFiniteGradient(f"{where} has an inf or NaN; nothing was changed (nonfinite='skip' leaves such steps out).")
    optimizer.skipped += 1
    return True


def is_finite(*gradients) -> bool:
    """Whether all of this process's entries are finite."""
    return all(bool(torch.isfinite(local(g)).all()) for g in gradients if g is not None)
