r"""Lemma 2 of the follow-up: at one pair of points the best scaling is |d|^2 / E|d_xi|^2.

E|gamma d_xi - d|^2 = gamma^2 E|d_xi|^2 - 2 gamma |d|^2 + |d|^2, since E d_xi = d: a parabola with its minimum at gamma*
= |d|^2 / E|d_xi|^2, in (0, 1], of value |d|^2 (1 - gamma*). Checked on a nonconvex finite sum (the sigmoid loss on the
breast cancer data), where E is the mean over all rows: the parabola is taken from the rule's own corrections at gamma =
0, 1 and 2 for random pairs of points, near and far, and its minimum compared with the formula.
"""

import numpy as np
import torch

from marslab.claims._similarity import corrected, lowest
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars
from marslab.problems import sigmoid_classification
from marslab.verdicts import Measurement

DISTANCES, PAIRS = (1e-3, 0.1, 1.0), 3


def measure(data, rule):
    """The largest difference between the parabola's minimum and the formula."""
    problem, generator = sigmoid_classification(), np.random.default_rng(0)
    rows = torch.arange(problem.examples).reshape(-1, 1)
    pairs = [(distance, generator.normal(size=(2, problem.size))) for distance in DISTANCES for _ in range(PAIRS)]
    found = [both(rule, problem, rows, *torch.from_numpy(start + [[0], [1]] * move)) for start, move in steps(pairs)]
    gap, formulas = max(abs(a - b) for a, b in found), [formula for _, formula in found]
    note = f"{len(found)} pairs of points; gamma* between {min(formulas):.3f} and {max(formulas):.3f}"
    return Finding(Measurement(gap, kind="exact"), 0, 2 * len(found) * problem.examples, note)


def steps(pairs):
    """A start and a move of the given length for each pair."""
    return [(0.3 * a, distance * b / np.linalg.norm(b)) for distance, (a, b) in pairs]


def both(rule, problem, rows, x, y) -> tuple[float, float]:
    """The minimum of the measured parabola, and the formula."""
    g, h = (problem.gradient({"x": point}, rows)["x"] for point in (x, y))
    each, mean = g - h, (g - h).mean(0)
    errors = [((corrected(rule, each, gamma) - mean) ** 2).sum(-1).mean().item() for gamma in (0.0, 1.0, 2.0)]
    return lowest(errors), ((mean**2).sum() / (each**2).sum(-1).mean()).item()


similarity_lemma_2 = Claim(
    name="similarity_lemma_2",
    statement="At a pair of points the scaling that brings γ d_ξ closest to d is |d|² / E|d_ξ|².",
    source="Understanding MARS (ICML 2026), lemma 2",
    kind="exact",
    unit="difference of gamma",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
)
