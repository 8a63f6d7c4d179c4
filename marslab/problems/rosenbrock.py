"""The chained Rosenbrock valley: curved, badly scaled, without noise constants of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from marslab.problems import _checks
from marslab.problems.base import Point, Problem

__all__ = ["Rosenbrock"]


@dataclass(frozen=True)
class Rosenbrock(Problem):
    """F(x) = sum_{i<d} 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2, on all of R^d.

    L: None, since the second derivative 1200 x_i^2 - 400 x_{i+1} + 2 is unbounded, so no global constant exists.
    f_min = 0, exact, attained at (1, ..., 1). Start: the usual (-1.2, 1, -1.2, 1, ...). All operations elementwise.

    Args:
        dimension: d, at least 2.

    Raises:
        UsageError: a dimension below 2.
    """

    dimension: int = 2

    certainty: ClassVar = {"f_min": "exact"}
    f_min: ClassVar = 0.0

    def __post_init__(self):
        self._set(dimension=_checks.whole("dimension", self.dimension, 2))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """One vector, x."""
        return {"x": (self.dimension,)}

    def start(self) -> Point:
        """Return (-1.2, 1, -1.2, 1, ...)."""
        x = torch.ones(self.dimension, dtype=torch.float64)
        x[::2] = -1.2
        return {"x": x}

    def minimizer(self) -> Point:
        """Return (1, ..., 1)."""
        return {"x": torch.ones(self.dimension, dtype=torch.float64)}

    def value(self, x: Point, rows: Tensor | None = None) -> Tensor:
        """Return F at every lane."""
        self._refuse_rows(rows)
        left, right = x["x"][..., :-1], x["x"][..., 1:]
        return (100 * (right - left * left).square() + (1 - left).square()).sum(-1)

    def gradient(self, x: Point, rows: Tensor | None = None) -> Point:
        """Return the gradient at every lane: each link of the chain pulls its left and its right coordinate."""
        self._refuse_rows(rows)
        left, right = x["x"][..., :-1], x["x"][..., 1:]
        pull = 200 * (right - left * left)
        on_left = torch.nn.functional.pad(-2 * left * pull - 2 * (1 - left), (0, 1))
        return {"x": on_left + torch.nn.functional.pad(pull, (1, 0))}
