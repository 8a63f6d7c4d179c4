"""Hyper-parameters, noise levels and running scalars over a stretch of steps at once."""

from collections.abc import Mapping

import torch

from marslab.errors import UsageError
from marslab.lanes import Lanes, evaluate
from marslab.moments.compose import prefix, product
from marslab.rule import Rule

__all__ = ["Scalars", "steps_tensor", "values"]


def steps_tensor(first: int, last: int, lanes: int) -> torch.Tensor:
    """The steps first..last as (time, 1, ..., 1) with ``lanes`` axes and one for modes."""
    return torch.arange(first, last + 1, dtype=torch.float64).reshape(-1, *(1,) * (lanes + 1))


def values(lanes: Lanes, first: int, last: int) -> dict:
    """Name -> float, option or tensor (time or 1, \\*lanes, 1) at the steps first..last."""
    found = {name: v.unsqueeze(0) if torch.is_tensor(v) else v for name, v in lanes.constant.items()}
    for name, entries in lanes.scheduled.items():
        rows = [evaluate(e if callable(e) else lambda t, e=e: float(e), first, last) for e in entries]
        shape = [1] * len(lanes.axes)
        if name in lanes.axes:
            shape[list(lanes.axes).index(name)] = len(rows)
        found[name] = torch.stack(rows, dim=-1).reshape(-1, *shape, 1)
    return found


class Scalars:
    """The path of a rule's scalar state (running products of betas): an affine recursion s -> a s + c of its own."""

    def __init__(self, rule: Rule, lanes: int):
        self.rule, self.names = rule, rule.scalars
        self.now = torch.ones(len(self.names), 1, 1, *(1,) * (lanes + 1), dtype=torch.float64)

    def path(self, t: torch.Tensor, hyper: Mapping) -> dict:
        """The values before each of the steps t; afterwards the state stands behind the last of them."""
        if not self.names:
            return {}
        a, c = prefix(*self.recursion(t, hyper))
        later = product(a, self.now.expand(-1, -1, 1, *a.shape[3:])) + c
        before = torch.cat([self.now.expand(-1, -1, 1, *later.shape[3:]), later[:, :, :-1]], dim=2)
        self.now = later[:, :, -1:]
        return {name: before[k, 0] for k, name in enumerate(self.names)}

    def limit(self, t: torch.Tensor, hyper: Mapping) -> dict:
        """The fixed point of the recursion where it has one."""
        if not self.names:
            return {}
        a, c = (part.movedim((0, 1), (-2, -1)) for part in self.recursion(t, hyper))
        if not bool((torch.linalg.eigvals(a).abs() < 1).all()):
            raise UsageError(f"{self.rule.name} has no stationary law: its scalar state {self.names[0]!r} does not settle.")
        fixed = torch.linalg.solve(torch.eye(len(self.names), dtype=a.dtype) - a, c)
        return {name: fixed[..., k, 0] for k, name in enumerate(self.names)}

    def recursion(self, t: torch.Tensor, hyper: Mapping) -> tuple[torch.Tensor, torch.Tensor]:
        """a (k, k, time, ...) and c (k, 1, time, ...): images of the basis vectors and of zero."""
        count = len(self.names)
        lanes = torch.broadcast_shapes(t.shape, *(v.shape for v in hyper.values() if torch.is_tensor(v)))
        basis = torch.cat([torch.eye(count), torch.zeros(count, 1)], dim=1).double()
        scalars = dict(zip(self.names, basis.reshape(count, count + 1, *(1,) * len(lanes)), strict=True))
        zero = torch.zeros((count + 1, *lanes), dtype=torch.float64)
        memory = {name: zero for name in self.rule.memory}
        state = self.rule(zero, {**memory, **scalars}, zero, zero, t=t, axes=(-1,), **hyper)[1]
        images = torch.stack([torch.as_tensor(state[name], dtype=torch.float64).expand_as(zero) for name in self.names])
        return images[:, :-1] - images[:, -1:], images[:, -1:]
