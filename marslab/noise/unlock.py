"""Noise that hides the next coordinate of a chain: the oracles of the lower bounds."""

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from marslab.errors import UsageError
from marslab.kinds import is_number
from marslab.noise.base import Noise
from marslab.problems.chain import LIPSCHITZ, Chain
from marslab.streams import BLOCK

__all__ = ["Unlock"]

MEAN_SQUARED = 328.0
POINTS = 1 << 14  # linear interpolation of Gamma between them errs by less than 1e-7


@dataclass(frozen=True)
class Unlock(Noise):
    r""":math:`g_i(x,z) = \nabla_iF(x)\big(1 + \Theta_i(x)(\tfrac zp - 1)\big)`, z Bernoulli(p), on ``problems.chain`` alone.

    p       chance, in (0, 1], that one sample shows the next coordinate
    smooth  False: :math:`\Theta_i = 1` beyond the last coordinate with :math:`|y| > \frac14` and 0 before: the oracle
            of bounded variance of arXiv 1912.02365. True: its smooth version, for mean-squared smoothness as well,
            :math:`\Theta_i = \Gamma\big(1 - (\sum_{k\ge i}\Gamma(|y_k|)^2)^{1/2}\big)`, :math:`\Gamma` rising from 0 at 1/4 to
            1 at 1/2 like :math:`\int\exp(-1/(100\,(t-\frac14)(\frac12-t)))\,dt`.

    Unbiased, as E z = p. At most one coordinate has both a slope and :math:`\Theta > 0`, so sigma is the steepest slope times
    :math:`\sqrt{(1-p)/p}`; mean_squared_L is :math:`328L/(152\sqrt p)` where smooth, and none (inf) where not.
    """

    p: float = 0.1
    smooth: bool = False

    purpose: ClassVar[str] = "curvature"
    order: ClassVar[int] = 1
    uses_point: ClassVar[bool] = True

    def __post_init__(self):
        if not is_number(self.p) or not 0 < self.p <= 1:
            raise UsageError(f"p = {self.p!r} lies outside (0, 1]; give the chance of seeing the next coordinate.")

    def check(self, problem):
        """Refuse every problem but a chain."""
        if not isinstance(problem, Chain):
            raise UsageError(f"{problem.name} has no coordinates to unlock; use problems.chain, or another noise.")

    def draw(self, problem, stream):
        """z / p for BLOCK steps, shape (BLOCK, 1): mean 1."""
        return torch.from_numpy((stream.numpy.random((BLOCK, 1)) < self.p) / self.p)

    def at_sample(self, problem, xi, levels):
        """Multiply by 1 + Theta(x) (z/p - 1); the act takes the point beside the gradient."""
        return lambda g, x: {"x": g["x"] * (1 + self.hidden(problem, x) * (xi - 1))}

    def hidden(self, problem, x) -> torch.Tensor:
        """Theta at every lane, one number a coordinate."""
        size = (x["x"] / problem.unit).abs()
        if not self.smooth:
            return 1 - (size > 0.25).to(size.dtype).flip(-1).cummax(-1).values.flip(-1)  # 0 up to the last one found
        # sums over k >= i of squares that lie between 0 and 1
        return gamma(1 - gamma(size).square().flip(-1).cumsum(-1).flip(-1).sqrt())

    def constants(self, problem):
        """sigma from the steepest slope; delta is bounded by mean_squared_L."""
        if not isinstance(problem, Chain):
            return dict.fromkeys(("sigma", "delta", "mean_squared_L"))
        bound = MEAN_SQUARED * problem.L / (LIPSCHITZ * math.sqrt(self.p)) if self.smooth else math.inf
        noiseless = {"sigma": 0.0, "delta": 0.0, "mean_squared_L": problem.L}
        sigma = problem.steepest * math.sqrt((1 - self.p) / self.p)
        return noiseless if self.p == 1 else {"sigma": sigma, "delta": bound, "mean_squared_L": bound}


@functools.cache
def table() -> torch.Tensor:
    """Gamma at POINTS + 1 equally spaced points of [1/4, 1/2], by the trapezoid rule, exact to rounding at flat ends."""
    t = np.linspace(0.25, 0.5, POINTS + 1)[1:-1]
    bump = np.concatenate([[0.0], np.exp(-1 / (100 * (t - 0.25) * (0.5 - t))), [0.0]])
    total = np.concatenate([[0.0], np.cumsum((bump[1:] + bump[:-1]) / 2)])
    return torch.from_numpy(total / total[-1])


def gamma(t: torch.Tensor) -> torch.Tensor:
    """The smooth step from 0 at 1/4 to 1 at 1/2."""
    place = ((t - 0.25) * (4 * POINTS)).clamp(0, POINTS)
    left = place.floor().clamp(max=POINTS - 1)
    values, index = table().to(t.dtype), left.long()
    return torch.lerp(values[index], values[index + 1], place - left)
