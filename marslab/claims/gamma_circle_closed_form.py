r"""The gamma that is best for approximate MARS under additive noise: (sqrt(k^2 + a k) - k) / a for small steps.

For small a and k = 1 - beta the stationary law of the approximate form tends to P = (a sigma^2/2) (k + a gamma^2)/(k +
a gamma): the value of a moving average at gamma = 0 and again, as plain SGD, at gamma = 1, smaller between. dP/dgamma =
0 means a gamma^2 + 2 k gamma - k = 0, so gamma = (sqrt(k^2 + a k) - k)/a, at most 1/2; there P = a sigma^2 gamma
(theory. variance_optimal_gamma). The neglected terms are of relative order k + a: at beta = 0.95 the formula is 3 %
above the exact minimum for a up to k, and twice it at a = 20 (claim gamma_published_value). Reported: the largest
relative difference to the minimum of the rule's exact moments for a in {0.001, 0.01} and beta = 0.99, granted 2 %; both
equations are solved by algebra.
"""

import sympy

from marslab import theory
from marslab.claims._stationary_gamma import best
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def measure(data, rule, exact, rates, beta1):
    """The largest relative difference between the closed form and the minimum of the exact moments."""
    found = [best(rule, a, exact=exact, beta1=beta1) for a in rates]
    gaps = [abs(gamma / float(theory.variance_optimal_gamma(a, beta=beta1)) - 1) for a, gamma in zip(rates, found, strict=True)]
    text = ", ".join(f"{gamma:.4f} at a = {a}" for a, gamma in zip(rates, found, strict=True))
    return Finding(Measurement(max(gaps), kind="exact"), note=f"minima: {text}; derived by algebra: {derived()}")


def derived() -> bool:
    """Whether the closed form is the stationary point of the small-step law, and P = a gamma there (sigma = 1)."""
    a, k, gamma = sympy.symbols("a k gamma", positive=True)
    law = a / 2 * (k + a * gamma**2) / (k + a * gamma)
    point = (sympy.sqrt(k**2 + a * k) - k) / a
    return all(sympy.simplify(e.subs(gamma, point)) == 0 for e in (sympy.diff(law, gamma), law - a * gamma))


gamma_circle_closed_form = Claim(
    name="gamma_circle_closed_form",
    statement="For small steps approximate MARS is best at γ = (√(k² + ak) − k)/a under additive noise, k = 1 − β.",
    source="derived here (theory.variance_optimal_gamma)",
    kind="exact",
    unit="largest relative difference of gamma",
    margin=0.02,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": False, "rates": (0.001, 0.01), "beta1": 0.99},
    plants={
        "prev is of the same sample": Plant({"exact": True}),
        "the factor 1/(1 - beta) of the correction is lost": FAULTY_MARS["the factor 1/(1 - beta) of the correction is lost"],
    },
)
