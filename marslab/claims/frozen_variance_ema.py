r"""The variance of a moving average of independent gradients at a point that does not move.

m_t = (1 - beta) sum_j beta^j g_{t-j}, so Var(m)/Var(g) -> (1 - beta)^2 / (1 - beta^2) = (1 - beta)/(1 + beta): the
benchmark that a variance reduction at a frozen point would have to beat. 0.0256 at beta = 0.95. Measured by exact
moments of momentum with lr = 0; correlated noise breaks it: (1 - beta)(1 + beta phi)/((1 + beta)(1 - beta phi)) for
AR(1).
"""

import sympy

from marslab import symbolic
from marslab.claims._frozen import BETA, variances
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive
from marslab.optimizers import momentum, qhm
from marslab.verdicts import Measurement


def predict():
    """The geometric series."""
    return (1 - BETA) / (1 + BETA)


def measure(data, rule, noise):
    """Exact moments; the weights of the proof, squared and summed over 4 steps, in the note."""
    seen = variances(rule, noise, None, None)
    first = [step.estimate for step in symbolic.unroll(rule, 4)][-1]
    squares = sum(first.coeff(symbolic.gradient(t)) ** 2 for t in range(1, 5))
    note = f"squared weights of the last 4 gradients: {sympy.sstr(sympy.factor(squares))}"
    return Finding(Measurement(float(seen), kind="exact"), note=note)


frozen_variance_ema = Claim(
    name="frozen_variance_ema",
    statement="At a frozen point a moving average has (1 − β)/(1 + β) of the gradient's variance.",
    source="derived here",
    kind="exact",
    unit="Var(m) / Var(g)",
    margin=1e-10,
    predict=predict,
    measure=measure,
    settings={"rule": momentum, "noise": additive(1.0)},
    plants={
        "the noise is correlated": Plant({"noise": additive(1.0, correlation=0.5)}),
        "the gradient itself is mixed in": Plant({"rule": qhm}),
    },
)
