r"""MARS-AdamW's second moment is built from the corrected gradient, so its approximate form takes shorter steps.

Where noise dominates, v is about E c^2. In the approximate form c_t = (1 + kappa) g_t - kappa g_{t-1} with independent
noises, so Var(c)/Var(g) = (1 + kappa)^2 + kappa^2, kappa = gamma beta_1/(1 - beta_1): 2.401 at (0.95, 0.025). In the
exact form the noise of the correction cancels (additive noise) and Var(c) = Var(g). The mean of m is the true gradient
in both, so at the same lr the approximate form moves along the gradient 1/sqrt(2.401) = 0.645 times as far as the exact
one: a comparison of the two at equal lr compares learning rates.

Measured: a slope of a twentieth of the noise's size, the same everywhere (a quadratic so flat that nothing bends), and
how far 500 coordinates go down on average between the steps 300 and 900. Margin 0.015: v is an average of finitely many
squares and contains the slope, which together is below 1 %.
"""

import math

from marslab import theory
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars_adamw
from marslab.problems import quadratic
from marslab.simulate import run
from marslab.verdicts import Measurement

COORDINATES, CURVATURE, SLOPE = 500, 1e-6, 0.05
BEGIN, END = 300, 900


def predict():
    """1 / sqrt((1 + kappa)^2 + kappa^2)."""
    return 1 / math.sqrt(theory.effective_variance_ratio(gamma=0.025, beta=0.95))


def measure(data, rule, noise, second_moment, seeds):
    """Distance of the approximate form over that of the exact one, seed by seed on common noise."""
    shared = dict(noise=noise, seeds=seeds, second_moment=second_moment)
    ours, other = (descent(rule, exact=form, **shared) for form in (False, True))
    note = f"the exact form goes {other.mean() / (END - BEGIN) / SLOPE:.3f} lr slope / sigma a step"
    return Finding(Measurement.of(ours / other), END, 2 * END - 1, note)


def descent(rule, **options):
    """How far the coordinates went down on average, in units of lr: from the loss, whose square part is below 1e-6 of it."""
    problem = quadratic(CURVATURE, shape=(COORDINATES,), start_scale=SLOPE / CURVATURE)
    lr = 1e-3
    loss = run(rule, problem=problem, steps=END, record=[BEGIN, END], lr=lr, clip_radius=math.inf, **options).loss.values
    return (loss[:, 0] - loss[:, 1]) / (COORDINATES * SLOPE * lr)


effective_learning_rate = Claim(
    name="effective_learning_rate",
    statement="In noise MARS-AdamW's approximate form steps 0.645 times as far as the exact one, since v averages c².",
    source="derived here",
    kind="Monte Carlo",
    unit="ratio of distances",
    margin=0.015,
    predict=predict,
    measure=measure,
    settings={
        "rule": mars_adamw,
        "noise": additive(math.sqrt(COORDINATES)),
        "second_moment": "clipped",
        "seeds": Budget(12, 128),
    },
    plants={
        "v averages the raw gradient": Plant({"second_moment": "raw"}),
        "the noise is correlated": Plant({"noise": additive(math.sqrt(COORDINATES), correlation=0.5)}),
    },
)
