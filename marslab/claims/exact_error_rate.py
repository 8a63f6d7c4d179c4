r"""The estimator's error of exact MARS at gamma = 1 under the theorem's schedule.

Theorem B.5 bounds the mean of E|grad F(x_t) - m_t|^2 by O(T^(-2/3) log T), so the root mean square error should fall
like T^(-1/3). On a quadratic with additive noise the second moments are propagated exactly (no sampling) to T = 10^6,
with c = 33, s = 190, curvature 1 (L = rho = 1, the repaired s). The exponent is the slope of the root mean square at
step t.
"""

from marslab.claims._curves import EXPONENT, beside, exact_slope
from marslab.claims.base import Claim, Finding, Plant
from marslab.verdicts import Measurement


def measure(data):
    """Slope of the exact error over the last two decades."""
    runs = data["rate_exact"]
    slope = exact_slope(runs["moments"], "error_squared")
    note = beside(runs["monte_carlo"], runs["moments"], "error")
    return Finding(Measurement(slope, kind="exact"), steps=1_000_000, evaluations=1_999_999, note=note)


exact_error_rate = Claim(
    name="exact_error_rate",
    statement="Exact MARS, gamma = 1, the theorem's schedule: the estimator's error falls like T^(-1/3).",
    source="arXiv 2411.10438, theorem B.5",
    predict=lambda: -1 / 3,
    measure=measure,
    experiments=("rate_exact",),
    **EXPONENT,
    plants={
        "prev is of another sample": Plant(runs={"rate_exact": {"moments": {"exact": False}}}),
        "beta stays constant": Plant(runs={"rate_exact": {"moments": {"beta1": 0.95}}}),
        "half of the correction is lost": Plant(runs={"rate_exact": {"moments": {"gamma": 0.5}}}),
    },
)
