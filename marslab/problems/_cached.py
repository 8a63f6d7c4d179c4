"""Derived tensors of frozen problems, kept between calls."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["cached_tensor", "keepable"]


def keepable(tensor: Tensor) -> bool:
    """Return False for a tensor made inside torch.func: it dies with its transform, so no cache may hold it."""
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


class cached_tensor:
    """`functools.cached_property` for tensors that keeps only what outlives a torch.func transform."""

    def __init__(self, build: Callable[[object], Tensor]):
        self.build, self.__doc__ = build, build.__doc__

    def __set_name__(self, owner: type, name: str):
        self.name = name

    def __get__(self, problem: object | None, owner: type | None = None):
        if problem is None:
            return self
        tensor = self.build(problem)
        if keepable(tensor):
            problem.__dict__[self.name] = tensor
        return tensor
