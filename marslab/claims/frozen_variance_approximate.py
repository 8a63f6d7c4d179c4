r"""The variance of approximate MARS's estimate at a frozen point, in closed form.

By qhm_identity m_t = (1 - gamma) e_t + gamma g_t, with Var(e) = (1 - beta)/(1 + beta) and Cov(e_t, g_t) = 1 - beta (in
units of Var(g)), so Var(m)/Var(g) = (1 - gamma)^2 (1 - beta)/(1 + beta) + 2 gamma (1 - gamma)(1 - beta) + gamma^2. Its
excess over the moving average is gamma beta [2 (1 - beta) + 2 beta gamma]/(1 + beta) > 0 for every gamma > 0: factored
by sympy in the note. At beta = 0.95 and gamma = 0.025 the excess is 7.0 %.
"""

import numpy as np
import sympy

from marslab import symbolic, theory
from marslab.claims._frozen import BETA, variances
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.verdicts import Measurement

GAMMAS = (-0.025, 0.0, 0.025, 0.05, 0.3, 1.0)


def measure(data, rule, exact, noise):
    """The largest deviation from the closed form over gamma, relative to it."""
    seen = variances(rule, noise, exact, GAMMAS)
    formula = np.array([theory.frozen_variance(gamma=gamma, beta=BETA) for gamma in GAMMAS])
    excess = seen[GAMMAS.index(0.025)] * (1 + BETA) / (1 - BETA) - 1
    note = (
        f"{excess:+.2%} against the moving average at gamma = 0.025; excess over it: {sympy.sstr(excess_formula(rule, exact))}"
    )
    return Finding(Measurement(float(np.max(np.abs(seen / formula - 1))), kind="exact"), note=note)


def excess_formula(rule, exact):
    """Var(m) of the weights that the rule gives to past gradients, less that of the moving average, factored."""
    beta = sympy.Symbol("beta1")
    last = sympy.expand(symbolic.unroll(rule, 3, exact=exact, first="zero")[-1].estimate)
    newest, middle = (last.coeff(symbolic.gradient(t)) for t in (3, 2))
    # from the second newest on, the weights fall by beta a step
    total = newest**2 + sympy.cancel(middle**2 / (1 - beta**2))
    return sympy.factor(total - (1 - beta) / (1 + beta))


frozen_variance_approximate = Claim(
    name="frozen_variance_approximate",
    statement="At a frozen point approximate MARS has Var(m) = [(1−γ)²(1−β)/(1+β) + 2γ(1−γ)(1−β) + γ²] Var(g).",
    source="derived here",
    kind="exact",
    unit="relative difference",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": False, "noise": additive(1.0)},
    plants={
        "prev is of the same sample": Plant({"exact": True}),
        "the noise is correlated": Plant({"noise": additive(1.0, correlation=0.5)}),
    },
)
