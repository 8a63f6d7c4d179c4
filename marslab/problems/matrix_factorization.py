"""Low-rank matrix factorisation: two tensors, saddles, and a minimum known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from marslab.errors import UsageError
from marslab.problems import _checks
from marslab.problems._cached import cached_tensor
from marslab.problems.base import Point, Problem

__all__ = ["MatrixFactorization"]


@dataclass(frozen=True)
class MatrixFactorization(Problem):
    """F(U, V) = 1/2 ||U V' - M||_F^2 with U (rows, rank), V (columns, rank), on all of both spaces.

    M = A B' / sqrt(target_rank) with standard normal A (rows, target_rank), B (columns, target_rank).
    L: None, since the curvature in U is V'V, which is unbounded, so no global constant exists.
    f_min, exact: 0 for target_rank <= rank, else 1/2 sum_{i > rank} s_i(M)^2 over the singular values left out
    (Eckart-Young). The origin is a saddle; the start is normal with standard deviation start_scale.

    Args:
        rows, columns: shape of M.
        rank: columns of U and V, at most min(rows, columns).
        target_rank: rank of M, at most min(rows, columns); default `rank`, which makes the minimum 0.
        seed: seed of M and of the start.
        start_scale: standard deviation of the start's entries.

    Raises:
        UsageError: a size below 1, or a rank above min(rows, columns).
    """

    rows: int = 8
    columns: int = 6
    rank: int = 2
    target_rank: int | None = None
    seed: int = 0
    start_scale: float = 0.5

    certainty: ClassVar = {"f_min": "exact"}

    def __post_init__(self):
        target = self.rank if self.target_rank is None else self.target_rank
        sizes = dict(rows=self.rows, columns=self.columns, rank=self.rank, target_rank=target)
        self._set(**{name: _checks.whole(name, value, 1) for name, value in sizes.items()})
        limit = min(self.rows, self.columns)
        for name in ("rank", "target_rank"):
            if getattr(self, name) > limit:
                raise UsageError(f"{name} is {getattr(self, name)}: give at most min(rows, columns) = {limit}")
        self._set(seed=_checks.whole("seed", self.seed, 0), start_scale=_checks.finite("start_scale", self.start_scale))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The two factors U and V."""
        return {"U": (self.rows, self.rank), "V": (self.columns, self.rank)}

    @cached_tensor
    def target(self) -> Tensor:
        """M, float64 (rows, columns)."""
        left, right = self._normals(0, self.target_rank)
        return left @ right.T / self.target_rank**0.5

    @cached_property
    def f_min(self) -> float:
        """Half the squared singular values that `rank` cannot reach."""
        if self.target_rank <= self.rank:
            return 0.0
        return float(torch.linalg.svdvals(self.target)[self.rank :].square().sum() / 2)

    def start(self) -> Point:
        """Return normal factors, drawn from `seed`."""
        left, right = self._normals(1, self.rank)
        return {"U": self.start_scale * left, "V": self.start_scale * right}

    def minimizer(self) -> Point:
        """Return the balanced best factors: singular vectors times the square roots of the singular values."""
        left, values, right = torch.linalg.svd(self.target, full_matrices=False)
        roots = values[: self.rank].sqrt()
        return {"U": left[:, : self.rank] * roots, "V": right.mT[:, : self.rank] * roots}

    def value(self, x: Point, rows: Tensor | None = None) -> Tensor:
        """Return F at every lane."""
        self._refuse_rows(rows)
        return self._residual(x).square().sum((-2, -1)) / 2

    def gradient(self, x: Point, rows: Tensor | None = None) -> Point:
        """Return (R V, R' U) with R = U V' - M, at every lane."""
        self._refuse_rows(rows)
        residual = self._residual(x)
        return {"U": residual @ x["V"], "V": residual.mT @ x["U"]}

    def tensors(self) -> Point:
        """Return M."""
        return {"target": self.target}

    def _residual(self, x: Point) -> Tensor:
        return x["U"] @ x["V"].mT - self.cast("target", x["U"])

    def _normals(self, stream: int, width: int) -> tuple[Tensor, Tensor]:
        """Return standard normals (rows, width), (columns, width); target and start draw from separate streams."""
        generator = np.random.default_rng((self.seed, stream))
        shapes = (self.rows, width), (self.columns, width)
        return tuple(torch.from_numpy(generator.standard_normal(shape)) for shape in shapes)
