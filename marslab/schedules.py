"""Schedules: functions of the step t (counted from 1) that stand where a number may stand.

Each is a frozen dataclass, so a declared experiment can be hashed; ``t`` may be a float, a numpy array or a tensor.
"""

import math
from dataclasses import dataclass

import torch

from marslab.errors import UsageError
from marslab.kinds import is_number

__all__ = ["Cosine", "PowerLaw", "TheoremBeta", "Warmup", "feasible", "smallest_feasible_s", "theorem"]

ROUNDING = 1e-12


@dataclass(frozen=True)
class PowerLaw:
    r""":math:`a\,(s + t)^{-p}` with scale a, exponent p and shift s > -1."""

    scale: float
    exponent: float
    shift: float = 0.0

    def __call__(self, t):
        """The value at step t."""
        return self.scale * (self.shift + t) ** (-self.exponent)


@dataclass(frozen=True)
class Cosine:
    r"""From ``peak`` at t = 1 to ``floor`` at t = ``steps`` along half a cosine; ``floor`` afterwards."""

    peak: float
    steps: int
    floor: float = 0.0

    def __call__(self, t):
        """The value at step t."""
        share = ((torch.as_tensor(t, dtype=torch.float64) - 1) / max(self.steps - 1, 1)).clamp(0, 1)
        return self.floor + 0.5 * (self.peak - self.floor) * (1 + torch.cos(math.pi * share))


@dataclass(frozen=True)
class Warmup:
    """``after(t)`` (a schedule or a number) times min(1, t / steps)."""

    after: object
    steps: int

    def __call__(self, t):
        """The value at step t."""
        t = torch.as_tensor(t, dtype=torch.float64)
        value = self.after(t) if callable(self.after) else self.after
        return value * (t / self.steps).clamp(max=1)


@dataclass(frozen=True)
class TheoremBeta:
    r""":math:`\beta_{1,1} = 0` and :math:`\beta_{1,t+1} = 1 - c\,\eta_t^2` with :math:`\eta_t = (s+t)^{-1/3}`."""

    c: float
    s: float

    def __call__(self, t):
        """The value at step t."""
        t = torch.as_tensor(t, dtype=torch.float64)
        later = 1 - self.c * (self.s + (t - 1).clamp(min=1)) ** (-2 / 3)
        none = (t <= 1) | (later.abs() < ROUNDING)  # at the smallest feasible s, beta_2 is zero up to rounding
        return torch.where(none, torch.zeros_like(later), later)


def smallest_feasible_s(c: float) -> float:
    r"""The smallest s for which :math:`\beta_{1,2} = 1 - c\,(s+1)^{-2/3} \ge 0`, that is :math:`c^{3/2} - 1`."""
    return max(c, 0.0) ** 1.5 - 1


def feasible(c: float, s: float) -> bool:
    """Whether every beta of the theorem's schedule lies in [0, 1)."""
    return is_number(c) and is_number(s) and 0 < c < math.inf and s >= 0 and bool(TheoremBeta(c, s)(2) >= 0)


def theorem(c: float, s: float) -> dict:
    r"""The schedules of theorem B.5 as keyword arguments: ``run("mars", **theorem(c=33, s=190), gamma=1, ...)``.

    :math:`\eta_t = (s+t)^{-1/3},\; \beta_{1,1} = 0,\; \beta_{1,t+1} = 1 - c\,\eta_t^2` (arXiv 2411.10438, theorem B.5).
    Refused where a beta would be negative: c <= (s+1)^(2/3) is needed, which the theorem's own smallest s violates.
    """
    if not (is_number(c) and 0 < c < math.inf):
        raise UsageError(f"theorem(c={c!r}, s={s!r}) needs a positive number c; the theorem takes c >= 32 L^2 / rho^2 + 1.")
    if not feasible(c, s):
        need = math.ceil(max(smallest_feasible_s(c), 0.0) * 1000) / 1000  # rounded up, so that the advice holds
        raise UsageError(f"theorem(c={c!r}, s={s!r}) makes beta1 leave [0, 1) at t = 2; choose s >= {need:.15g}.")
    return {"lr": PowerLaw(1.0, 1 / 3, s), "beta1": TheoremBeta(c, s)}
