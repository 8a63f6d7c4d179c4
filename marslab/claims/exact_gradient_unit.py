r"""With c = s = 1 the gradient norm of exact MARS reaches -1/3 early.

c = s = 1 violates the theorem's conditions on c and s (c >= 32 L^2 / rho^2 + 1), yet its betas lie in [0, 1). The
quasi-static law puts the crossover at t of about (c / gamma lambda)^3 = 1, so by T = 10^6 the asymptotic exponent
must be seen.
"""

from marslab.claims._curves import EXPONENT, exact_slope
from marslab.claims.base import Claim, Finding, Plant
from marslab.verdicts import Measurement


def measure(data):
    """Slopes for c = s = 1 over the last two decades."""
    unit = data["rate_exact"]["moments_unit"]
    error = exact_slope(unit, "error_squared")
    slope = exact_slope(unit, "grad_norm_squared")
    return Finding(Measurement(slope, kind="exact"), 1_000_000, 1_999_999, f"the estimator's error has the slope {error:.4f}")


exact_gradient_unit = Claim(
    name="exact_gradient_unit",
    statement="Exact MARS, gamma = 1, c = s = 1: the gradient norm falls like T^(-1/3) by T = 10^6.",
    source="derived here (theory.quasi_static)",
    predict=lambda: -1 / 3,
    measure=measure,
    experiments=("rate_exact",),
    **EXPONENT,
    plants={
        "prev is of another sample": Plant(runs={"rate_exact": {"moments_unit": {"exact": False}}}),
        "most of the correction is lost": Plant(runs={"rate_exact": {"moments_unit": {"gamma": 0.1}}}),
    },
)
