r"""M_{t+1} is negative outside an interval of gamma: the correction can do harm.

With Delta = g(x_{t+1}, xi) - g(x_t, xi), S = E|Delta|^2 and the optimal gamma* = 1 - A/beta, the gain over gamma = 1 is M =
S [A^2 - (beta (1 - gamma) - A)^2] = S beta^2 (1 - gamma)(1 + gamma - 2 gamma*): a parabola in gamma with zeros at 1 and 2
gamma* - 1. It is positive between these two and negative elsewhere. A constant gamma = 0.025 gives M < 0 wherever gamma* >
0.5125. At gamma = gamma* it is S A^2 >= 0, and only there is its sign known beforehand.

Measured exactly at the second step of the theorem's schedule (c = 33, s = 1500), for every sequence of signs of additive and
curvature noise: M is the fall of E|m_2 - grad F(x_2)|^2 from gamma = 1 to gamma, through the rule itself, on 16 settings
(levels of the curvature noise, distances of the start) and 21 values of gamma from -1 to 3. gamma* is that of the parabola.
"""

import numpy as np
import sympy

from marslab.claims import _audit_chain as chain
from marslab.claims._audit import CoinCurvature, Coins, every, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.verdicts import Measurement

GRID = tuple(round(-1 + 0.2 * k, 3) for k in range(21))
LEVELS, STARTS = (0.0, 0.5, 2.0, 10.0), (0.1, 1.0, 3.0, 10.0)


def gains(rule, gammas, start: float, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """M_2 at each gamma, shape (gammas, levels), and gamma* at each level."""
    noise = Coins(sigma) + CoinCurvature(LEVELS)
    given = [-1.0, 0.0, 1.0, *(g for g in gammas if g not in (-1.0, 0.0, 1.0))]
    run = dict(problem=quadratic([1.0], start_scale=start), noise=noise, steps=2, seeds=every(4), exact=True)
    *_, second = walk(rule, gamma=given, **run, **theorem(33, 1500))
    x, m = second.x["x"], second.states["x"]["m"]
    errors = (m - x).square().mean(dim=(-2, -1)).numpy()
    bend, slope = (errors[0] + errors[2]) / 2 - errors[1], (errors[2] - errors[0]) / 2
    return errors[2] - errors[[given.index(g) for g in gammas]], -slope / (2 * bend)


def at_the_optimum(rule, start, sigma) -> tuple[np.ndarray, np.ndarray]:
    """M_2 at each level's own gamma*, (1, levels), and the gamma* there."""
    _, best = gains(rule, GRID, start, sigma)
    return np.array([[gains(rule, (float(g),), start, sigma)[0][0, k] for k, g in enumerate(best)]]), best


def signs(gammas, best) -> np.ndarray:
    """The sign of M that the derivation gives, (gammas, levels); 0 where it is too near to a change of sign."""
    gamma = np.array(gammas)[:, None]
    value = (1 - gamma) * (1 + gamma - 2 * best)
    return np.where(np.abs(value) > 1e-6, np.sign(value), 0)


def remaining(rule) -> sympy.Expr:
    """What M of the rule's recursion leaves beside S beta^2 (1 - gamma)(1 + gamma - 2 gamma*)."""
    gamma, best = chain.gamma, chain.optimal_gamma(rule)
    return sympy.simplify(chain.gain(rule) - chain.S * chain.beta**2 * (1 - gamma) * (1 + gamma - 2 * best))


def measure(data, rule, gammas, sigma):
    """The share of settings with M < 0, and how often the sign is that of the derivation."""
    sampled = [at_the_optimum(rule, start, sigma) if gammas is None else gains(rule, gammas, start, sigma) for start in STARTS]
    every = [gains(rule, GRID, start, sigma) for start in STARTS]
    share = float(np.mean([found < -1e-12 for found, _ in sampled]))
    agree = np.concatenate([(np.sign(m) == signs(GRID, best))[signs(GRID, best) != 0] for m, best in every])
    best = np.concatenate([best for _, best in every])
    note = f"γ* from {best.min():.3f} to {best.max():.3f}; the sign is that of (1 − γ)(1 + γ − 2γ*) in {agree.mean():.0%} of "
    note += f"{agree.size} settings; sympy: M − Sβ²(1 − γ)(1 + γ − 2γ*) = {remaining(rule)}"
    return Finding(Measurement(share, kind="exact"), 2, 3, note)


audit_m_is_never_negative = Claim(
    name="audit_m_is_never_negative",
    statement="M_{t+1} ≥ 0 always: whatever γ, the corrected error is no larger than at γ = 1.",
    source="arXiv 2411.10438, remark on lemma C.2",
    kind="exact",
    unit="share of settings with M < 0",
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "gammas": GRID, "sigma": 1.0},
    plants={
        "gamma is the published 0.025": Plant({"gammas": (0.025,)}),
        "the additive noise is weak": Plant({"sigma": 0.1}),
    },
)
