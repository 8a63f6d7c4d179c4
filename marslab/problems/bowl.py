"""A smooth bounded nonconvex bowl: every constant of the theorems is exact, and no curvature is constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from marslab.errors import UsageError
from marslab.problems import _checks
from marslab.problems._cached import cached_tensor
from marslab.problems._rotated import Rotated
from marslab.problems.base import Point, inner

__all__ = ["Bowl"]


@dataclass(frozen=True)
class Bowl(Rotated):
    """F(x) = sum_i h_i phi((Q'x)_i) with phi(u) = u^2 / (1 + u^2), on all of R^d; 0 <= F < sum_i h_i.

    phi'(u) = 2 u / (1 + u^2)^2 and phi''(u) = (2 - 6 u^2) / (1 + u^2)^3, whose extremes are 2 at u = 0 and -1/2 at
    u = +-1 (phi''' = 24 u (u^2 - 1) / (1 + u^2)^4). So L = 2 max(h), exact: the Hessian at 0 is Q diag(2 h) Q'.
    f_min = 0, exact, attained at 0. Concave along coordinate i where |u_i| > 1 / sqrt(3).

    Args:
        dimension: d; default the number of heights, or 20.
        heights: the d numbers h_i, finite and at least 0; default log-spaced from 0.1 to 1.
        rotation_seed: seed of the random orthogonal Q; None for Q = identity, then every operation is elementwise.
        start_scale: the start is this number times the all-ones vector in the basis of Q.

    Raises:
        UsageError: a negative or infinite height, or a number of heights that is not the dimension.
    """

    dimension: int | None = None
    heights: tuple[float, ...] | None = None
    rotation_seed: int | None = 0
    start_scale: float = 1.0

    certainty: ClassVar = {"L": "exact", "f_min": "exact"}
    f_min: ClassVar = 0.0

    def __post_init__(self):
        heights = None if self.heights is None else _checks.weights("heights", self.heights)
        usual = 20 if heights is None else len(heights)
        dimension = _checks.whole("dimension", usual if self.dimension is None else self.dimension, 1)
        heights = tuple(np.geomspace(0.1, 1.0, dimension).tolist()) if heights is None else heights
        if len(heights) != dimension:
            raise UsageError(f"heights has length {len(heights)} where dimension is {dimension}: make them equal")
        self._set(dimension=dimension, heights=heights)
        self._set(rotation_seed=_checks.seed("rotation_seed", self.rotation_seed))
        self._set(start_scale=_checks.finite("start_scale", self.start_scale))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """One vector, x."""
        return {"x": (self.dimension,)}

    @property
    def L(self) -> float:
        """Twice the largest height."""
        return 2 * max(self.heights)

    @cached_tensor
    def weights(self) -> Tensor:
        """The heights as a float64 tensor."""
        return torch.tensor(self.heights, dtype=torch.float64)

    def value(self, x: Point, rows: Tensor | None = None) -> Tensor:
        """Return F at every lane."""
        self._refuse_rows(rows)
        u = self.to_eigenbasis(x)["x"]
        square = (u * u).clamp(max=1e30)  # phi is 1 to rounding there; an infinite square would give inf / inf
        return inner(self.cast("weights", u), square / (1 + square))

    def gradient(self, x: Point, rows: Tensor | None = None) -> Point:
        """Return Q (h_i phi'(u_i)) with u = Q'x, at every lane."""
        self._refuse_rows(rows)
        u = self.to_eigenbasis(x)["x"]
        slope = 2 * u / (1 + u * u).square()
        return self.from_eigenbasis({"x": self.cast("weights", u) * slope})

    def tensors(self) -> Point:
        """Return the heights and Q."""
        return {"heights": self.weights, "rotation": self.rotation}
