r"""Curvature noise multiplies the stationary laws of both forms by one and the same factor.

Let g(x, xi) = lambda (1 + s w) x + z with Var w = 1 beside the additive noise z, and let G be the stationary E(F')^2 of
the approximate form at s = 0 and sigma = 1 (stationary_law_approximate). In the approximate form the noise z + s w u of
a step is white, of variance sigma^2 + s^2 E u^2, and enters like z alone: P = G (sigma^2 + s^2 P), so P = G sigma^2/(1
- s^2 G). In the exact form the sample's curvature error acts on the old point too and does not cancel: m' = (beta - h
a) m + k (u + z) + s w (k u - h a m). Its moment equations, formed from the rule's weights and solved by sympy, give
P(exact, s) = P(exact, 0)/(1 - s^2 G) with the G of the approximate form. So the ratio of the forms (stationary_ratio)
is the same at every level, and both lose their second moment at s^2 G = 1. Held against the Lyapunov solution of both
forms over a grid.
"""

import math

import numpy as np
import sympy

from marslab import moments, theory
from marslab.claims import _forms
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.errors import UsageError
from marslab.optimizers import mars
from marslab.verdicts import Measurement

LEVEL = sympy.Symbol("s", positive=True)
GAMMAS, BETAS, SHARES = (0.0, 0.025, 0.3, 1.0), (0.5, 0.9), (0.01, 0.1, 0.4)  # of the stability limit without noise
STRENGTHS = [0.1, 0.5, 0.9]  # s^2 G


def measure(data, rule, forms, correlation):
    """The largest relative deviation of both laws from their own at s = 0 times the factor; infinite where algebra differs."""
    exact, other = _forms.moments(rule, True)[0], _forms.moments(rule, False)[0]
    gap = sympy.cancel(_forms.bent(rule, LEVEL) * (1 - LEVEL**2 * other) / exact - 1)
    worst = max(deviation(rule, forms, correlation, gamma, beta) for gamma in GAMMAS for beta in BETAS)
    cells = len(GAMMAS) * len(BETAS) * len(SHARES) * len(STRENGTHS)
    note = f"{worst:.1e} over {cells} cells; algebra of the exact form: gap {gap}"
    return Finding(Measurement(worst if gap == 0 else math.inf, kind="exact"), note=note)


def deviation(rule, forms, correlation, gamma, beta) -> float:
    """The largest over a, s and both forms."""
    worst = 0.0
    for a in np.array(SHARES) * theory.stability_limit(gamma=gamma, beta=beta):
        unit = float(theory.stationary_approximate(a, gamma=gamma, beta=beta))
        levels = [0.0, *np.sqrt(np.array(STRENGTHS) / unit).tolist()]
        options = dict(curvature=float(a), lr=1.0, level=levels, gamma=gamma, beta1=beta, correlation=correlation)
        try:
            found = [moments.stationary(rule, exact=form, **options).grad_norm_squared for form in forms]
        except UsageError:
            return math.inf
        worst = max(worst, *(np.max(np.abs(law[1:] / law[0] * (1 - np.array(STRENGTHS)) - 1)) for law in found))
    return float(worst)


curvature_noise_same_factor = Claim(
    name="curvature_noise_same_factor",
    statement="Curvature noise s multiplies both stationary laws by 1/(1 − s²G), G the approximate form's at unit noise.",
    source="derived here",
    kind="exact",
    unit="relative difference",
    margin=1e-6,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "forms": (True, False), "correlation": 0.0},
    plants={**FAULTY_MARS, "the noise is correlated": Plant({"correlation": 0.3})},
)
