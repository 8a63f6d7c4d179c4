"""Problems that are sums over coordinates of Q'x for one orthogonal Q: quadratic and bowl."""

from __future__ import annotations

import torch
from torch import Tensor

from marslab.problems._cached import cached_tensor
from marslab.problems.base import Point, Problem, random_rotation

__all__ = ["Rotated"]


class Rotated(Problem):
    """Adds Q, drawn from the field `rotation_seed`; with None it is the identity and costs nothing."""

    rotation_seed: int | None
    start_scale: float

    @cached_tensor
    def rotation(self) -> Tensor:
        """Q, float64 (d, d); its columns are the eigenvectors of the Hessian."""
        eye = self.rotation_seed is None
        return torch.eye(self.size, dtype=torch.float64) if eye else random_rotation(self.size, self.rotation_seed)

    def start(self) -> Point:
        """Return start_scale times Q (1, ..., 1)'."""
        return self.from_eigenbasis({"x": torch.full(self.shapes["x"], self.start_scale, dtype=torch.float64)})

    def minimizer(self) -> Point:
        """Return 0."""
        return {"x": torch.zeros(self.shapes["x"], dtype=torch.float64)}

    def to_eigenbasis(self, g: Point) -> Point:
        """Return Q' g, in the shape of g."""
        return g if self.rotation_seed is None else self._times(self.cast("rotation", g["x"]), g)

    def from_eigenbasis(self, g: Point) -> Point:
        """Return Q g, in the shape of g."""
        return g if self.rotation_seed is None else self._times(self.cast("rotation", g["x"]).T, g)

    def _flat(self, x: Tensor) -> Tensor:
        return x.flatten(-len(self.shapes["x"]))

    def _times(self, matrix: Tensor, g: Point) -> Point:
        """Return each lane's flat row vector times `matrix`, in the shape of g."""
        return {"x": (self._flat(g["x"]) @ matrix).reshape(g["x"].shape)}
