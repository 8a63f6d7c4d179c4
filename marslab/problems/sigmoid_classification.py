"""Nonconvex classification of real data with the sigmoid loss: a finite sum whose smoothness constants are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from marslab.problems import _datasets
from marslab.problems._cached import cached_tensor
from marslab.problems._rows import FiniteSum
from marslab.problems.base import Point

__all__ = ["SigmoidClassification"]

CURVATURE = 1 / (6 * math.sqrt(3))


@dataclass(frozen=True)
class SigmoidClassification(FiniteSum):
    """F(x) = 1/n sum_i 1 / (1 + exp(y_i a_i'x)), on all of R^d; nonconvex, 0 < F < 1.

    a_i: standardised features of row i and a last entry 1 (the bias); y_i in {-1, +1}: digits has +1 for the classes
    5..9, breast_cancer +1 for benign. With s the sigmoid, the second derivative of the loss in its margin is
    s (1 - s) (1 - 2 s) up to sign; its extremes, at s = (3 +- sqrt(3)) / 6, are +-1 / (6 sqrt(3)) = c. Hence bounds:

        L_max^2 = max_i (c |a_i|^2)^2,   L = c lambda_max(1/n sum_i a_i a_i'),
        L_mean_squared^2 = c^2 lambda_max(1/n sum_i |a_i|^2 a_i a_i'),
        sigma^2 = 1/16 1/n sum_i |a_i|^2, since |s (1 - s)| <= 1/4 bounds each gradient by |a_i| / 4.

    f_min: None, no closed form is known, and the infimum need not be attained. Start: 0.

    Args:
        data: 'breast_cancer' (n = 569, d = 31) or 'digits' (n = 1797, d = 62).

    Raises:
        UsageError: an unknown data set; the message names the closest.
    """

    data: str = "breast_cancer"

    certainty: ClassVar = {"L": "bound", "L_max": "bound", "L_mean_squared": "bound", "sigma": "bound"}

    def __post_init__(self):
        _datasets.check(self.data)

    @cached_tensor
    def signed(self) -> Tensor:
        """y_i a_i, float64 (n, d): the loss depends on nothing else."""
        features, classes = _datasets.load(self.data)
        positive = classes >= 5 if self.data == "digits" else classes == 1
        rows = torch.cat([features, torch.ones(len(features), 1, dtype=torch.float64)], dim=1)
        return torch.where(positive, 1.0, -1.0).to(torch.float64)[:, None] * rows

    @cached_property
    def examples(self) -> int:
        """Number of rows, n."""
        return len(self.signed)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """One vector, x; its last entry is the bias."""
        return {"x": (self.signed.shape[1],)}

    @cached_property
    def L(self) -> float:
        """Smoothness of F."""
        return CURVATURE * self._largest(torch.ones(self.examples, dtype=torch.float64))

    @cached_property
    def L_max(self) -> float:
        """Smoothness that every f_i has."""
        return CURVATURE * float(self._squares.max())

    @cached_property
    def L_mean_squared(self) -> float:
        """Mean-squared smoothness over rows."""
        return CURVATURE * math.sqrt(self._largest(self._squares))

    @cached_property
    def sigma(self) -> float:
        """Bound on the standard deviation of one row's gradient."""
        return math.sqrt(float(self._squares.mean())) / 4

    def start(self) -> Point:
        """Return 0."""
        return {"x": torch.zeros(self.shapes["x"], dtype=torch.float64)}

    def tensors(self) -> Point:
        """Return the signed features."""
        return {"signed": self.signed}

    @property
    def _squares(self) -> Tensor:
        return self.signed.square().sum(1)

    def _largest(self, weights: Tensor) -> float:
        """Return lambda_max(1/n sum_i weights_i a_i a_i')."""
        gram = (self.signed * weights[:, None]).mT @ self.signed / self.examples
        return float(torch.linalg.eigvalsh(gram)[-1])

    def _forward(self, weights: Point, rows: Tensor) -> Point:
        signed = self._gather("signed", rows, weights["x"])
        return {"signed": signed, "margins": weights["x"] @ signed.mT}

    def _loss(self, forward: Point) -> Tensor:
        return torch.sigmoid(-forward["margins"]).sum(-1)

    def _slope(self, weights: Point, forward: Point, count: int) -> Point:
        # both factors, not s (1 - s): the difference would lose every digit of a large margin
        slope = torch.sigmoid(forward["margins"]) * torch.sigmoid(-forward["margins"]) / -count
        return {"x": slope @ forward["signed"]}
