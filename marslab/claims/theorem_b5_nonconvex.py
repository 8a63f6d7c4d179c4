r"""Theorem B.5, corrected, on a nonconvex problem whose samples differ in curvature.

On quadratics with additive noise (claim theorem_b5_error_bound) the noise of the difference vanishes. Here it does not: the
bowl F = sum phi(u_i), phi(u) = u^2 / (1 + u^2), is concave where |u| > 0.58, the start lies there, and each sample
multiplies every coordinate's slope by 1 + l w, w a fair sign, before additive noise is added. Then every sample is smooth
with (1 + l) 2 (assumption B.2), and since phi' <= 3 sqrt(3) / 8 the variance is at most sigma_a^2 + 27 l^2 d / 64
everywhere (B.1), so that the theorem's own assumptions hold with known constants. H = rho I with L / rho = 32^(-1/2), where
the bound is smallest (c = 2). Measured in every seed: the largest ratio, over recorded T >= s, of the running mean of |m -
grad F|^2 to the bound with rho^2 c^2 sigma^2 / (4 L^2); its mean over seeds is at least the largest ratio of means.
"""

import dataclasses
import math

import numpy as np

from marslab.claims._symbols import wrong_sign
from marslab.claims._theorem import TIGHTEST, Setting, grid, running_mean
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive, curvature
from marslab.optimizers import mars
from marslab.problems import bowl
from marslab.simulate import run
from marslab.verdicts import Measurement

LEVEL, ADDED, DIMENSION = 0.3, 0.9, 3
PROBLEM = bowl(heights=(1.0,) * DIMENSION, start_scale=1.0)
SMOOTHNESS = (1 + LEVEL) * PROBLEM.L
SETTING = Setting(
    L=SMOOTHNESS,
    sigma=math.sqrt(ADDED**2 + 27 / 64 * LEVEL**2 * DIMENSION),
    rho=SMOOTHNESS / TIGHTEST,
    gap=DIMENSION / 2,
)
CURVED = curvature(level=LEVEL, law="rademacher")


def measure(data, rule, noise, exact, steps, seeds):
    """The largest ratio over T, in each seed."""
    found = run(rule, problem=PROBLEM, noise=noise, steps=steps, seeds=seeds, exact=exact, gamma=1.0, record=grid(steps),
                **SETTING.schedules)  # fmt: skip
    t = found.step.values.astype(float)
    mean = running_mean(t, np.square(found.error.transpose("seed", "step").values))
    ratios = (mean / SETTING.error_bound(t))[:, t >= SETTING.s]
    note = f"at the last T the bound is {1 / ratios[:, -1].mean():.0f} times the mean"
    return Finding(Measurement.of(ratios.max(axis=1)), steps, int(found.evaluations[-1]), note)


theorem_b5_nonconvex = Claim(
    name="theorem_b5_nonconvex",
    statement="Theorem B.5, corrected, bounds the mean squared error on a nonconvex bowl whose samples differ in curvature.",
    source="arXiv 2411.10438, theorem B.5; s and the power of ρ as corrected here",
    kind="Monte Carlo",
    unit="largest ratio to the bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={
        "rule": mars,
        "noise": CURVED + additive(sigma=ADDED),
        "exact": True,
        "steps": Budget(16_000, 100_000),
        "seeds": Budget(16, 64),
    },
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "the difference is taken the other way round": Plant({"rule": dataclasses.replace(mars, function=wrong_sign)}),
    },
)
