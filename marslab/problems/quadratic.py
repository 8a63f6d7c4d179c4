"""A convex quadratic, the problem on which every linear rule has exact moments."""

from __future__ import annotations

import math
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

__all__ = ["Quadratic"]


@dataclass(frozen=True)
class Quadratic(Rotated):
    """F(x) = 1/2 x' H x with H = Q diag(spectrum) Q', on all of R^d; x may be shaped as a matrix.

    L = max(spectrum), exact: |H (x - y)| <= lambda_max |x - y| with equality along its eigenvector.
    f_min = 0, exact, attained at 0, since every eigenvalue is at least 0.

    Args:
        spectrum: the d eigenvalues, finite and at least 0; a single number is repeated over `shape`.
        shape: event shape of x with product d; default (d,).
        rotation_seed: seed of the random orthogonal Q; None for Q = identity, then every operation is elementwise.
        start_scale: the start is this number times the all-ones vector in the eigenbasis.

    Raises:
        UsageError: a negative or infinite eigenvalue, or a spectrum that does not fill the shape.
    """

    spectrum: tuple[float, ...] = (1.0,)
    shape: tuple[int, ...] | None = None
    rotation_seed: int | None = None
    start_scale: float = 1.0

    certainty: ClassVar = {"L": "exact", "f_min": "exact"}
    f_min: ClassVar = 0.0

    def __post_init__(self):
        spectrum = _checks.weights("spectrum", self.spectrum)
        shape = _checks.sizes("shape", len(spectrum) if self.shape is None else self.shape)
        if np.ndim(self.spectrum) == 0:
            spectrum = spectrum * math.prod(shape)
        if len(spectrum) != math.prod(shape):
            raise UsageError(
                f"spectrum has length {len(spectrum)} where shape {shape} takes {math.prod(shape)}: "
                "give one eigenvalue a coordinate, or a single number"
            )
        self._set(spectrum=spectrum, shape=shape, rotation_seed=_checks.seed("rotation_seed", self.rotation_seed))
        self._set(start_scale=_checks.finite("start_scale", self.start_scale))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """One tensor, x."""
        return {"x": self.shape}

    @property
    def L(self) -> float:
        """Largest eigenvalue."""
        return max(self.spectrum)

    @cached_tensor
    def eigenvalues(self) -> Tensor:
        """The spectrum as a flat float64 tensor."""
        return torch.tensor(self.spectrum, dtype=torch.float64)

    @cached_tensor
    def diagonal(self) -> Tensor:
        """The eigenvalues in the shape of x."""
        return self.eigenvalues.reshape(self.shape)

    @cached_tensor
    def hessian(self) -> Tensor:
        """H, float64 (d, d), exactly symmetric."""
        product = (self.rotation * self.eigenvalues) @ self.rotation.T
        return (product + product.T) / 2

    def value(self, x: Point, rows: Tensor | None = None) -> Tensor:
        """Return 1/2 sum_i lambda_i (Q'x)_i^2 at every lane."""
        self._refuse_rows(rows)
        y = self._flat(self.to_eigenbasis(x)["x"])
        return inner(self.cast("eigenvalues", y) * y, y) / 2

    def gradient(self, x: Point, rows: Tensor | None = None) -> Point:
        """Return H x at every lane."""
        self._refuse_rows(rows)
        if self.rotation_seed is None:
            return {"x": self.cast("diagonal", x["x"]) * x["x"]}
        return self._times(self.cast("hessian", x["x"]), x)

    def tensors(self) -> Point:
        """Return the eigenvalues and Q."""
        return {"eigenvalues": self.eigenvalues, "rotation": self.rotation}
