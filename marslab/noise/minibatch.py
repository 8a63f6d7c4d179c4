"""Minibatch noise: the gradient on a few rows of a finite sum."""

import math
from dataclasses import dataclass
from typing import ClassVar

from marslab.errors import UsageError
from marslab.kinds import whole
from marslab.noise.base import Noise
from marslab.streams import BLOCK

__all__ = ["Minibatch"]


@dataclass(frozen=True)
class Minibatch(Noise):
    r""":math:`g(x,\xi) = \frac1b\sum_{i\in\xi}\nabla f_i(x)`, b rows drawn with replacement.

    batch  b >= 1. The rows of a smaller batch are the first rows of a larger one with the same seed.

    The variance is :math:`\sigma_1^2(x)/b` with the problem's per-row variance; delta^2 is the per-row one divided by b.
    """

    batch: int = 32

    purpose: ClassVar[str] = "rows"
    order: ClassVar[int] = 0
    uses_rows: ClassVar[bool] = True

    def __post_init__(self):
        object.__setattr__(self, "batch", whole("batch", self.batch))

    def check(self, problem):
        """Refuse a problem without rows."""
        if problem.examples is None:
            raise UsageError(f"{problem.name} is no sum over rows, so it has no minibatches; use additive noise.")

    def draw(self, problem, stream):
        """Row indices for BLOCK steps, shape (BLOCK, b): drawn column by column, so smaller batches are prefixes."""
        return stream.integers(problem.examples, (self.batch, BLOCK)).T

    def constants(self, problem):
        """The problem's per-row constants over sqrt(b), where it knows them; L_mean_squared^2 = L^2 + delta^2 at b = 1."""
        sigma = None if problem.sigma is None else problem.sigma / math.sqrt(self.batch)
        single = getattr(problem, "L_mean_squared", None)
        # L_mean_squared bounds delta at b = 1 as well, since a variance is at most the second moment
        delta = None if single is None else single / math.sqrt(self.batch)
        bound = None if single is None or problem.L is None else math.hypot(problem.L, delta)
        return {"sigma": sigma, "delta": delta, "mean_squared_L": bound}
