"""What the claims that audit the theorems share: exact expectations, the walk itself, and both bounds of theorem B.5.

The assumptions of the theorem: f is smooth with L on every sample, E|g - grad F|^2 <= sigma^2, H >= rho I. Its schedule is
eta_t = (s + t)^(-1/3) and beta_{1,t+1} = 1 - c eta_t^2, its first estimate m_1 = g_1.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch

from marslab import optimizers, simulate
from marslab.noise.additive import Additive
from marslab.noise.curvature import Curvature
from marslab.oracle import Oracle
from marslab.plan import Clock, Plan
from marslab.samples import Samples
from marslab.schedules import PowerLaw, theorem
from marslab.streams import BLOCK

__all__ = ["CoinCurvature", "Coins", "Visit", "error_bound", "every", "scaled_theorem", "starting_gap", "walk"]


class Visit(NamedTuple):
    """Step t: the point before it, the states and the point after it, and the gradients that it saw."""

    t: int
    x: dict
    states: dict
    new: dict
    seen: object


def walk(rule, *, problem, noise=None, steps, seeds=1, exact=None, first=None, **hyper):
    """Yield the steps of ``marslab.run`` one by one, points and states included; options and lanes are the same."""
    rule = optimizers.find_rule(rule)
    plan = Plan(rule, problem, noise, steps, seeds, exact, first, "tensor", None, None, "float64", hyper)
    x = plan.start()
    states = {name: simulate.started(plan.parts[name].rule, value) for name, value in x.items()}
    samples, clock = Samples(problem, noise, plan.seeds, plan.dtype), Clock(plan)
    oracle = Oracle(problem, noise, plan.mode, plan.first, clock.levels, plan.extras())
    with torch.no_grad():
        for t in range(1, steps + 1):
            clock.tick(t)
            seen = oracle.observe(x, samples.at(t))
            new, states = simulate.step(plan, clock, x, states, seen)
            yield Visit(t, x, states, new, seen)
            x = new


# expectations without sampling: the seeds 0 .. 2^n - 1 are all sequences of n fair signs


def signs(stream, bits: tuple[int, ...]) -> torch.Tensor:
    """The signs (BLOCK, 1) of one sequence: step t takes the binary digit bits[t] of the seed; beyond them all are 1."""
    found = torch.ones(BLOCK, 1)
    for step, bit in enumerate(bits):
        found[step] = 1 - 2 * (stream.key.entropy >> bit & 1)
    return found


@dataclass(frozen=True)
class Coins(Additive):
    """Additive noise of one coordinate, +-sigma with equal chances: the mean over ``every(...)`` is the expectation."""

    bits: tuple[int, ...] = (0, 1)

    def draw(self, problem, stream):
        """The signs that the seed spells."""
        return signs(stream, self.bits)


@dataclass(frozen=True)
class CoinCurvature(Curvature):
    """Curvature noise of one coordinate, w = +-1 with equal chances, on further digits of the seed."""

    bits: tuple[int, ...] = (2, 3)

    def draw(self, problem, stream):
        """The signs that the seed spells."""
        return signs(stream, self.bits)


def every(bits: int) -> int:
    """How many seeds spell all sequences of so many signs."""
    return 2**bits


# the two sides of theorem B.5


def starting_gap(*, L, rho, sigma, s, gap=0.0) -> float:
    """G = F(x_1) - min F + rho s^(1/3) sigma^2 / (16 L^2)."""
    return gap + rho * s ** (1 / 3) * sigma**2 / (16 * L**2)


def error_bound(steps, *, L, rho, sigma, c, s, gap=0.0, power=1) -> float:
    """The bound on the mean of E|m_t - grad F(x_t)|^2 without its term in M, with rho^power before c^2 sigma^2 (printed: 1)."""
    noise = rho**power * c**2 * sigma**2 / (4 * L**2) * math.log(s + steps)
    return (2 * rho * starting_gap(L=L, rho=rho, sigma=sigma, s=s, gap=gap) + noise) * steps ** (-2 / 3)


def scaled_theorem(c, s, rho) -> dict:
    """The theorem's schedule for H = rho I: the plain rule with eta_t / rho."""
    return theorem(c, s) | {"lr": PowerLaw(1 / rho, 1 / 3, s)}
