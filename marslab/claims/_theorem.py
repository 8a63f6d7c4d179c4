"""What the claims about theorem B.5 share: its schedule as repaired, its bounds, and exact averages over the steps."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from marslab import optimizers
from marslab.moments import propagate
from marslab.problems import quadratic
from marslab.record import log_grid
from marslab.schedules import PowerLaw, TheoremBeta, smallest_feasible_s

__all__ = ["LEVELS", "SMOOTHNESS", "TIGHTEST", "Setting", "column", "curves", "problem_of", "running_mean", "worst_ratio"]

TIGHTEST = 32**-0.5  # the L / rho at which c^2 / L^2, and with it the bound, is smallest: c = 2
SMOOTHNESS = (TIGHTEST, 0.5, 1.0)
LEVELS = (1.0, 0.05)  # sigma: noise rules, or the start does
GAP = 0.5


@dataclass(frozen=True)
class Setting:
    """The constants of theorem B.5 with c at its smallest and s at the smallest that keeps beta in [0, 1).

    sigma may be a column of noise levels; every bound then has a row for each.
    """

    L: float
    sigma: float | np.ndarray = 1.0
    rho: float = 1.0
    gap: float = GAP

    @property
    def c(self) -> float:
        """32 L^2 / rho^2 + 1."""
        return 32 * (self.L / self.rho) ** 2 + 1

    @property
    def s(self) -> float:
        """The smallest whole s of at least 1 with s + 1 >= c^(3/2)."""
        return max(1.0, math.ceil(smallest_feasible_s(self.c) - 1e-9))

    @property
    def schedules(self) -> dict:
        """Step and beta; H = rho I divides the step by rho."""
        return {"lr": PowerLaw(1 / self.rho, 1 / 3, self.s), "beta1": TheoremBeta(self.c, self.s)}

    @property
    def G(self) -> float:
        """F(x_1) - min F + rho s^(1/3) sigma^2 / (16 L^2)."""
        return self.gap + self.rho * self.s ** (1 / 3) * self.sigma**2 / (16 * self.L**2)

    def error_bound(self, T, power: int = 2):
        """The bound on the mean of E|grad F - m|^2 with rho^power before c^2 sigma^2 (printed: 1, corrected: 2)."""
        noise = self.rho**power * (self.c * self.sigma / self.L) ** 2 / 4
        return (2 * self.rho * self.G + noise * np.log(self.s + T)) * T ** (-2 / 3)

    def step_bound(self, T):
        """The bound on the mean of E|x_{t+1} - x_t|^2 / eta_t^2, which is E|m|^2 / rho^2."""
        noise = 2 * (self.c * self.sigma / self.L) ** 2 / 3
        return (16 * self.G / (3 * self.rho) + noise * np.log(self.s + T)) * T ** (-2 / 3)


def problem_of(L: float):
    """A quadratic of smoothness L with F(x_1) - min F = GAP and curvatures L, L / 4 and L / 40."""
    spectrum = (L, L / 4, L / 40)
    return quadratic(spectrum=spectrum, start_scale=math.sqrt(2 * GAP / sum(spectrum)))


def column(noise) -> np.ndarray:
    """The noise levels of a law, shape (levels, 1)."""
    return np.atleast_1d(noise.sigma).reshape(-1, 1)


def grid(steps: int) -> list[int]:
    """Every step up to 100, then 40 a decade."""
    return sorted({*range(1, min(steps, 100) + 1), *log_grid(steps, 240)})


def doubled(rule):
    """The same rule with 2 m as its estimate: E|2m - F'|^2 - 2 E|m - F'|^2 + E|F'|^2 = 2 E|m|^2."""
    return dataclasses.replace(rule, estimator=lambda state, g: 2 * state["m"])


def curves(rule, *, squared_estimate: bool = False, record=None, **options) -> dict[str, np.ndarray]:
    """Exact E|m - F'|^2, E|F'|^2 and F - min F at the recorded steps, with E|m|^2 where it is asked for."""
    rule = optimizers.find_rule(rule)
    record = grid(options["steps"]) if record is None else record
    first = propagate(rule, record=record, **options)
    found = {"t": first.step.values.astype(float)}
    found |= {name: first[name].values for name in ("error_squared", "grad_norm_squared", "loss_gap")}
    if squared_estimate:
        twice = propagate(doubled(rule), record=record, **options).error_squared.values
        found["estimate_squared"] = (twice - 2 * found["error_squared"] + found["grad_norm_squared"]) / 2
    return found


def running_mean(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean over the steps 1..t by trapezoids between records, each of which stands for the steps it closes.

    Exact where every step is recorded; on a convex falling curve the trapezoids can only be too large.
    """
    before, after = values[..., :-1], values[..., 1:]
    inside = (after + before) / 2 * np.diff(t) + (after - before) / 2  # the steps from one record, left out, to the next
    return np.concatenate([values[..., :1], values[..., :1] + np.cumsum(inside, axis=-1)], axis=-1) / t


def worst_ratio(rule, noise, exact, steps, mean_of: str, bound: str) -> tuple[float, float]:
    """The largest and the smallest ratio of a running mean to its bound, over smoothnesses, noise levels and T >= s."""
    ratios = []
    for L in SMOOTHNESS:
        setting = Setting(L, column(noise))
        options = dict(problem=problem_of(L), noise=noise, exact=exact, steps=steps, gamma=1.0, **setting.schedules)
        found = curves(rule, squared_estimate=mean_of == "estimate_squared", **options)
        covered = found["t"] >= setting.s
        ratios.append((running_mean(found["t"], found[mean_of]) / getattr(setting, bound)(found["t"]))[:, covered])
    return max(float(r.max()) for r in ratios), min(float(r.min()) for r in ratios)
