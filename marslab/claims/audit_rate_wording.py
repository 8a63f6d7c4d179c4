r"""The paper's summary O(log T/T^(1/3)) is right for norms, and not sharp.

Theorem B.5 bounds means of squares by C log(s + T) T^(-2/3) (the chain: the noise gives sum eta_t^3 <= log(s + T), the
division 1/(T eta_T) <= 2 T^(-2/3)). By Jensen's inequality the means of the norms are at most the roots: sqrt(C log(s + T))
T^(-1/3), that is O(sqrt(log T)/T^(1/3)). log T/T^(1/3) is larger by sqrt(log T) and so true as well; read on the squared
quantities themselves it would give away T^(1/3). With other exponents of the step size nothing as good follows: eta =
t^(-p) gives the norms the exponent -(1 - p)/2 for p >= 1/3 and -p for p <= 1/3, best at p = 1/3.

The exponent of the root of the chain's bound is derived with sympy (limit of d log/d log T); claimed: at most -1/3.
"""

import sympy

from marslab.claims import _audit_chain as chain
from marslab.claims._curves import exact_slope
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def error_bound(rule, exponent) -> sympy.Expr:
    """The chain's bound on the mean of E|eps_t|^2 at G = 0, eta_t = (s + t)^-exponent."""
    found = chain.chain(rule)
    noise = sympy.simplify(found.noise / chain.eta**3) * chain.integral(3 * exponent)
    return noise * chain.rho / chain.T * (chain.s + chain.T) ** exponent


def measure(data, rule, exponent):
    """The exponent of the root of the bound, and the power of the logarithm that goes with it."""
    bound = error_bound(rule, sympy.Rational(exponent))
    root = chain.growth(bound) / 2
    rest = sympy.limit(bound / chain.T ** (2 * root) / sympy.log(chain.T), chain.T, sympy.oo)
    wording = "√(log T)" if rest != 0 else "no logarithm"
    slope = exact_slope(data["rate_exact"]["moments"], "error_squared")
    note = f"norms: T^({root}) with {wording}; the error measured by exact moments, 10⁴ to 10⁶ steps: {slope:.3f}"
    return Finding(Measurement(float(root), kind="symbolic"), note=note)


audit_rate_wording = Claim(
    name="audit_rate_wording",
    statement="Theorem B.5's bounds put the norms in O(log T/T^(1/3)), the rate of the paper's summary.",
    source="arXiv 2411.10438, section 1 and theorem B.5",
    kind="symbolic",
    unit="exponent",
    side="below",
    predict=lambda: -1 / 3,
    measure=measure,
    experiments=("rate_exact",),
    settings={"rule": mars, "exponent": "1/3"},
    plants={
        "the step falls like t^(-1/2)": Plant({"exponent": "1/2"}),
        "the step falls like t^(-1/4)": Plant({"exponent": "1/4"}),
    },
)
