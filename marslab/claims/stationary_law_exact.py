r"""The stationary law of exact MARS on a quadratic with additive noise, in closed form.

F = lambda x^2/2, g = lambda x + z, Var z = sigma^2, x <- x - eta m; a = eta lambda, k = 1 - beta, h = gamma beta, u =
lambda x. The gradient at the point before, on the sample of this step, is u + a m + z: its noise cancels in the
correction, so m' = (beta - h a) m + k (u + z) and u' = u - a m'. The three moment equations of (u, m) have the solution

    R = E m^2 = k^2 sigma^2 / [(k + h a)(1 + beta - k a/2 - h a)],    P = E u^2 = (a R / 2k)(1 + beta - h a),

strictly decreasing in gamma. The equations are formed here from the rule's own weights and solved by sympy; the
solution must equal both formulas, and the library's formula must equal the Lyapunov solution of the rule's step on a
grid of (gamma, beta, a) that fills the stable range.
"""

from marslab import theory
from marslab.claims._forms import BETA, A, H, K
from marslab.claims._stationary import compare
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Plant
from marslab.optimizers import mars


def formulas():
    """(P, R) as stated, at sigma = 1."""
    estimate = K**2 / ((K + H * A) * (1 + BETA - K * A / 2 - H * A))
    return A * estimate / (2 * K) * (1 + BETA - H * A), estimate


def measure(data, rule, exact, noise):
    """The largest relative difference between closed form and Lyapunov solution; infinite where the algebra differs."""
    return compare(rule, exact, noise, formulas(), theory.stationary_exact)


stationary_law_exact = Claim(
    name="stationary_law_exact",
    statement="Exact MARS, additive noise: E(F′)² = (aR/2k)(1 + β − ha), R = k²σ²/[(k + ha)(1 + β − ka/2 − ha)].",
    source="derived here",
    kind="exact",
    unit="relative difference",
    margin=1e-8,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": True, "noise": {"sigma": 1.0}},
    plants={
        **FAULTY_MARS,
        "prev is of another sample": Plant({"exact": False}),
        "the noise is correlated": Plant({"noise": {"sigma": 1.0, "correlation": 0.3}}),
    },
)
