r"""Proposition 1 of the follow-up: the gamma in [0, 1] that minimises its bound on the number of gradients.

J(gamma) = A sqrt(gamma^2 delta^2 + (1 - gamma)^2 L^2) + B (1 - gamma). Put D = L^2 + delta^2. J is convex; J'(1) = A
delta - B, so if B >= A delta the minimum over [0, 1] is at 1, of value A delta. Else J' = 0 means A (gamma D - L^2) = B
sqrt(gamma^2 D - 2 gamma L^2 + L^2); with u = gamma D - L^2 the root is sqrt((u^2 + L^2 delta^2) / D), so u = B L delta
/ sqrt(A^2 D - B^2) and

    gamma* = L^2 / D + B L delta / (D sqrt(A^2 D - B^2)),    J(gamma*) = delta (L sqrt(A^2 D - B^2) + B delta) / D <= A delta.

At B = 0 it is L^2 / (L^2 + delta^2). It compares upper bounds, not runs (claim similarity_proxy_is_the_best_gamma).
Here J is formed from what the rule's correction does to a pair of samples of curvature L + delta and L - delta, whose
root mean square distance from L is sqrt(gamma^2 delta^2 + (1 - gamma)^2 L^2) and whose bias is (1 - gamma) L, and
minimised on refined grids of [0, 1] for 200 random (A, B, L, delta). Reported: the larger of the largest difference of
gamma* and the largest relative one of J; a minimum is flat, so that its place is known to about 1e-7 only.
"""

import numpy as np
import torch

from marslab.claims._similarity import corrected
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars
from marslab.verdicts import Measurement

POINTS, ROUNDS, CASES = 101, 5, 200


def measure(data, rule):
    """The largest difference of the minimum of J on the grids from the closed form, in its place and in its value."""
    cases = 10 ** np.random.default_rng(0).uniform(-1, 1, size=(CASES, 4))
    found = [(*minimum(rule, *case), *closed_form(*case)) for case in cases]
    value, place = max(abs(v / wanted - 1) for _, v, _, wanted in found), max(abs(g - wanted) for g, _, wanted, _ in found)
    note = f"{CASES} cases, {sum(g < 1 for *_, g, _ in found)} inside (0, 1); J within {value:.1e}, gamma* within {place:.1e}"
    return Finding(Measurement(max(value, place), kind="exact"), note=note)


def bound(rule, gamma, a, b, smooth, delta):
    """J from the rule's corrections of two samples, at the gammas (n,)."""
    pair = torch.tensor([[smooth + delta], [smooth - delta]], dtype=torch.float64)
    gap = corrected(rule, pair.expand(2, len(gamma)), gamma) - smooth
    return a * gap.square().mean(0).sqrt() + b * gap.mean(0).abs() / smooth


def minimum(rule, a, b, smooth, delta) -> tuple[float, float]:
    """Where J is least on [0, 1] and its value, on grids that close in on the lowest point."""
    low, high = 0.0, 1.0
    for _ in range(ROUNDS):
        grid = torch.linspace(low, high, POINTS, dtype=torch.float64)
        values = bound(rule, grid, a, b, smooth, delta)
        best = int(values.argmin())
        low, high = grid[max(best - 1, 0)].item(), grid[min(best + 1, POINTS - 1)].item()
    return grid[best].item(), values[best].item()


def closed_form(a, b, smooth, delta) -> tuple[float, float]:
    """gamma* and J(gamma*) of the proposition."""
    if b >= a * delta:
        return 1.0, a * delta
    total = smooth**2 + delta**2
    root = (a**2 * total - b**2) ** 0.5
    return smooth**2 / total + b * smooth * delta / (total * root), delta * (smooth * root + b * delta) / total


similarity_proposition_1 = Claim(
    name="similarity_proposition_1",
    statement="Proposition 1: the closed form of the gamma in [0, 1] that minimises the bound J, and its value.",
    source="Understanding MARS (ICML 2026), proposition 1",
    kind="exact",
    unit="difference of gamma* and J",
    margin=1e-5,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
)
