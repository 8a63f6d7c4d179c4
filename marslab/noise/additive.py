"""Additive noise: the same distribution at every point."""

import math
from dataclasses import dataclass
from typing import ClassVar

from marslab.errors import UsageError
from marslab.kinds import is_number
from marslab.noise.base import Noise, checked_correlation, checked_levels, named_parts
from marslab.streams import BLOCK

__all__ = ["Additive"]


@dataclass(frozen=True)
class Additive(Noise):
    r""":math:`g(x,\xi) = \nabla F(x) + \frac{\sigma}{\sqrt D}\,z`, z with D independent entries of unit variance.

    sigma        root of :math:`E\|g - \nabla F\|^2` over the whole variable (D coordinates); a number >= 0, list or schedule
    law          "gaussian" | "rademacher" (fair signs) | "student" (heavy tails)
    degrees      degrees of freedom of "student". At most 2: the variance is infinite, the bounded-variance assumption of
                 every theorem here fails, and sigma is only a scale (of the unscaled t). Above 2 it is scaled to variance 1.
    correlation  AR(1) coefficient phi over time, :math:`z_t = \phi z_{t-1} + \sqrt{1-\phi^2}\,w_t`, stationary

    delta = 0: the noise does not depend on x, so differences on one sample are free of it.
    """

    sigma: float = 1.0
    law: str = "gaussian"
    degrees: float = 3.0
    correlation: float = 0.0

    purpose: ClassVar[str] = "additive"
    order: ClassVar[int] = 2
    levels: ClassVar[tuple[str, ...]] = ("sigma",)

    def __post_init__(self):
        checked_levels(self)
        checked_correlation(self)
        if self.law not in ("gaussian", "rademacher", "student"):
            raise UsageError(f"law = {self.law!r} is unknown; choose gaussian, rademacher or student.")
        if not is_number(self.degrees) or not 0 < self.degrees < math.inf:
            raise UsageError(f"degrees = {self.degrees!r} must be a positive number; 3 gives heavy tails with a variance.")

    @property
    def bounded_variance(self) -> bool:
        """Whether E|noise|^2 is finite, as the theorems assume."""
        return self.law != "student" or self.degrees > 2

    def draw(self, problem, stream):
        """Unit-variance entries for BLOCK steps, shape (BLOCK, D)."""
        shape = (BLOCK, problem.size)
        if self.law == "student":
            scale = math.sqrt((self.degrees - 2) / self.degrees) if self.degrees > 2 else 1.0
            return stream.student_t(shape, self.degrees) * scale
        return stream.normal(shape) if self.law == "gaussian" else stream.rademacher(shape)

    def at_sample(self, problem, xi, levels):
        """Add sigma / sqrt(D) times the sample."""
        unit = 1 / math.sqrt(problem.size)
        parts = {name: (levels(len(problem.shapes[name]))["sigma"] * unit) * z for name, z in named_parts(problem, xi)}
        return lambda g: {name: g[name] + part for name, part in parts.items()}

    def constants(self, problem):
        """sigma as given, delta = 0, mean_squared_L = L."""
        sigma = self.sigma if isinstance(self.sigma, int | float) else None
        return {"sigma": sigma if self.bounded_variance else math.inf, "delta": 0.0, "mean_squared_L": problem.L}
