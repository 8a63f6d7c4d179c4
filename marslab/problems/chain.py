"""The hard instance of the lower bounds: a chain whose coordinates must be found one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from marslab.errors import UsageError
from marslab.problems import _checks
from marslab.problems.base import Point, Problem

__all__ = ["Chain"]

LIPSCHITZ, STEEPEST, DROP = 152.0, 23.0, 12.0
FLAT = 0.02  # below this 2 y - 1, exp(1 - 1/(2 y - 1)^2) is zero in double precision


@dataclass(frozen=True)
class Chain(Problem):
    r"""F(x) = h F_T(x / u) with h = L u^2 / 152, the instance of arXiv 1912.02365, y = x / u, y_0 = 1:

    F_T(y) = sum_{i<=T} Psi(-y_{i-1}) Phi(-y_i) - Psi(y_{i-1}) Phi(y_i), with
    Psi(y) = exp(1 - 1/(2y - 1)^2) for y > 1/2 and 0 below, Phi(y) = sqrt(e) int_{-inf}^y exp(-s^2/2) ds.

    Coordinate i + 1 has no slope while |y_i|, |y_{i+1}| <= 1/2: a method whose points lie in the span of the gradients seen
    finds one coordinate after the other, and while one is unfound, some |dF_T/dy_i| > 1. L: a bound (of F_T: 152).
    Stated there as well: |dF_T/dy_i| <= 23 and F_T(0) - inf F_T <= 12 T. f_min: None. Start: 0.

    Args:
        dimension: T, at least 1.
        smoothness: L, above 0.
        unit: u, above 0: the length of one link.

    Raises:
        UsageError: a dimension below 1, or a smoothness or unit that is not positive.
    """

    dimension: int = 10
    smoothness: float = LIPSCHITZ
    unit: float = 1.0

    certainty: ClassVar = {"L": "bound"}

    def __post_init__(self):
        self._set(dimension=_checks.whole("dimension", self.dimension, 1))
        self._set(**{name: positive(name, getattr(self, name)) for name in ("smoothness", "unit")})

    @classmethod
    def hard(cls, *, gap: float, smoothness: float, sigma: float, accuracy: float) -> tuple[Chain, float]:
        r"""The chain with F(0) - inf F <= gap whose gradient exceeds 2 accuracy until its end, and the p of noise ``unlock``.

        u = 304 accuracy / L, T = floor(152 gap / (12 L u^2)), p = min(1, (46 accuracy / sigma)^2). Then the variance of the
        noise is at most sigma^2, and T / p grows like accuracy^-4.
        """
        unit = 2 * LIPSCHITZ * positive("accuracy", accuracy) / positive("smoothness", smoothness)
        dimension = math.floor(LIPSCHITZ * positive("gap", gap) / (DROP * smoothness * unit**2) * (1 + 1e-12))
        chance = min(1.0, (2 * STEEPEST * accuracy / positive("sigma", sigma)) ** 2)
        return cls(dimension, smoothness, unit), chance

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """One vector, x."""
        return {"x": (self.dimension,)}

    @property
    def L(self) -> float:
        """The smoothness as given: a bound."""
        return self.smoothness

    @property
    def steepest(self) -> float:
        """Bound on each partial derivative: 23 L u / 152."""
        return STEEPEST * self.smoothness * self.unit / LIPSCHITZ

    @property
    def drop(self) -> float:
        """Bound on F(0) - inf F: 12 T L u^2 / 152."""
        return DROP * self.dimension * self.smoothness * self.unit**2 / LIPSCHITZ

    def start(self) -> Point:
        """Return 0, where no coordinate is found."""
        return {"x": torch.zeros(self.dimension, dtype=torch.float64)}

    def value(self, x: Point, rows: Tensor | None = None) -> Tensor:
        """Return F at every lane."""
        self._refuse_rows(rows)
        y = x["x"] / self.unit
        before = torch.nn.functional.pad(y[..., :-1], (1, 0), value=1.0)
        links = psi(-before) * phi(-y) - psi(before) * phi(y)
        return self.smoothness * self.unit**2 / LIPSCHITZ * links.sum(-1)

    def gradient(self, x: Point, rows: Tensor | None = None) -> Point:
        """Return -h/u [Psi(|y_{i-1}|) Phi'(y_i) + Psi'(|y_i|) Phi(sign(y_i) y_{i+1})], the last part for i < T."""
        self._refuse_rows(rows)
        y = x["x"] / self.unit
        size = y.abs()
        step, slope = psi_and_slope(size)
        before = torch.nn.functional.pad(step[..., :-1], (1, 0), value=1.0)
        onward = slope[..., :-1] * phi(torch.where(y[..., :-1] < 0, -y[..., 1:], y[..., 1:]))
        total = before * (0.5 - 0.5 * y * y).exp() + torch.nn.functional.pad(onward, (0, 1))
        return {"x": -self.smoothness * self.unit / LIPSCHITZ * total}

    def progress(self, x: Point, threshold: float = 0.0) -> Tensor:
        """Return the last coordinate i with |x_i / u| above the threshold, counted from 1; 0 where there is none."""
        places = torch.arange(1, self.dimension + 1, device=x["x"].device)
        return (((x["x"] / self.unit).abs() > threshold) * places).amax(-1)


def psi(y: Tensor) -> Tensor:
    """exp(1 - 1/(2y - 1)^2) above 1/2, else 0."""
    return psi_and_slope(y)[0]


def psi_and_slope(y: Tensor) -> tuple[Tensor, Tensor]:
    """Psi and Psi' = 4 Psi / (2y - 1)^3; the clamp keeps both finite where they are zero."""
    inverse = (2 * y - 1).clamp(min=FLAT).reciprocal()
    value = (1 - inverse * inverse).exp()
    return value, 4 * value * inverse**3


def phi(y: Tensor) -> Tensor:
    """sqrt(2 pi e) times the normal distribution function."""
    return math.sqrt(math.pi * math.e / 2) * torch.erfc(y * -math.sqrt(0.5))


def positive(name: str, value: object) -> float:
    """Return a finite float above 0."""
    number = _checks.finite(name, value)
    if number <= 0:
        raise UsageError(f"{name} is {value!r}: give a number above 0")
    return number
