"""What a gradient may not be: sparse, of the wrong kind, inf or NaN."""

import sys

import torch

from marslab.errors import UsageError
from marslab.optim.view import agreed, local

__all__ = ["NonFiniteGradient", "check_closure", "check_kinds", "is_to_be_skipped"]


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


def check_kinds(jobs, earlier) -> None:
    """Refuse sparse gradients, and complex matrices under a matrix rule, before anything is changed."""
    for job in jobs:
        for gradient in (job.p.grad, earlier.get(job.p)):
            if gradient is not None and gradient.layout != torch.strided:
                raise UsageError(f"{job.rule.name} takes dense gradients only; build the embedding with sparse=False.")
        if job.p.is_complex() and job.rule.matrix:
            raise UsageError(f"{job.rule.name} is defined for real matrices only; give complex parameters another rule.")


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
