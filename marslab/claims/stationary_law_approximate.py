r"""The stationary law of approximate MARS on a quadratic with additive noise, in closed form.

As for the exact form, F = lambda x^2/2, g = u + z, a = eta lambda, k = 1 - beta, h = gamma beta. Now m' = beta m + (k +
h) g' - h g, and w = m - gamma g takes the last gradient in: w' = beta w + (1 - gamma) k g', m' = beta w + (k + h) g',
u' = u - a m'. The three moment equations of (u, w) have the solution

    R = N sigma^2 / [(k + h a)(1 + beta - k a/2 - h a)],    N = h^2 + (k + h)^2 - h (k + h)(2 beta - k a - 2 h a),
    P = (a / 2k) [R (1 + beta - h a) - 2 h (k + h) sigma^2].

At gamma = 0 it is the moving average's, and for small a it returns to that value at gamma = 1, being smaller between.
Formed from the rule's own weights and solved by sympy, as for the exact form, and held against the Lyapunov solution.
"""

from marslab import theory
from marslab.claims._forms import BETA, A, H, K
from marslab.claims._stationary import compare
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Plant
from marslab.optimizers import mars


def formulas():
    """(P, R) as stated, at sigma = 1."""
    mixed = H * (K + H)
    n = H**2 + (K + H) ** 2 - mixed * (2 * BETA - K * A - 2 * H * A)
    estimate = n / ((K + H * A) * (1 + BETA - K * A / 2 - H * A))
    return A / (2 * K) * (estimate * (1 + BETA - H * A) - 2 * mixed), estimate


def measure(data, rule, exact, noise):
    """The largest relative difference between closed form and Lyapunov solution; infinite where the algebra differs."""
    return compare(rule, exact, noise, formulas(), theory.stationary_approximate)


stationary_law_approximate = Claim(
    name="stationary_law_approximate",
    statement="Approximate MARS, additive noise: E(F′)² = (a/2k)[R(1 + β − ha) − 2h(k + h)σ²], with R in closed form.",
    source="derived here",
    kind="exact",
    unit="relative difference",
    margin=1e-8,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": False, "noise": {"sigma": 1.0}},
    plants={
        **FAULTY_MARS,
        "prev is of the same sample": Plant({"exact": True}),
        "the noise is correlated": Plant({"noise": {"sigma": 1.0, "correlation": 0.3}}),
    },
)
