"""Multiplicative curvature noise: the sample changes the slope, not the minimum."""

import math
from dataclasses import dataclass
from typing import ClassVar

from marslab.errors import UsageError
from marslab.noise.base import Noise, checked_correlation, checked_levels, named_parts
from marslab.streams import BLOCK

__all__ = ["Curvature"]


@dataclass(frozen=True)
class Curvature(Noise):
    r""":math:`g_i(x,\xi) = (1 + s\,w_i)\,\nabla_i F(x)` in the problem's eigenbasis, w independent with unit variance.

    level        s, a number >= 0, a list or a schedule
    shared       one w for all coordinates
    law          "gaussian" | "rademacher"
    correlation  AR(1) coefficient over time

    :math:`\delta = sL` and :math:`\bar L^2 = (1 + s^2) L^2`: the differences of one sample are (1 + s w) times the true
    ones. The variance :math:`s^2\|\nabla F(x)\|^2` (shared or not) has no bound unless the gradient has one: sigma = inf
    on quadratics, None elsewhere.
    """

    level: float = 0.5
    shared: bool = False
    law: str = "gaussian"
    correlation: float = 0.0

    purpose: ClassVar[str] = "curvature"
    order: ClassVar[int] = 1
    levels: ClassVar[tuple[str, ...]] = ("level",)

    def __post_init__(self):
        checked_levels(self)
        checked_correlation(self)
        if self.law not in ("gaussian", "rademacher"):
            raise UsageError(f"law = {self.law!r} is unknown; choose gaussian or rademacher.")

    def draw(self, problem, stream):
        """Unit-variance factors for BLOCK steps, shape (BLOCK, D), or (BLOCK, 1) where shared."""
        shape = (BLOCK, 1 if self.shared else problem.size)
        return stream.normal(shape) if self.law == "gaussian" else stream.rademacher(shape)

    def at_sample(self, problem, xi, levels):
        """Multiply by 1 + s w in the eigenbasis."""
        w = xi.expand(*xi.shape[:-1], problem.size) if self.shared else xi
        factors = {name: 1 + levels(len(problem.shapes[name]))["level"] * part for name, part in named_parts(problem, w)}

        def bend(g):
            turned = problem.to_eigenbasis(g)
            return problem.from_eigenbasis({name: turned[name] * factor for name, factor in factors.items()})

        return bend

    def constants(self, problem):
        """delta = s L, mean_squared_L = sqrt(1 + s^2) L; sigma is unbounded on quadratics."""
        level = self.level if isinstance(self.level, int | float) else None
        if level is None or problem.L is None:
            return {"sigma": None, "delta": None, "mean_squared_L": None}
        sigma = 0.0 if level == 0 else math.inf if problem.spectrum is not None else None
        return {"sigma": sigma, "delta": level * problem.L, "mean_squared_L": math.hypot(1, level) * problem.L}
