r"""SGD with a step size of t^(-1/2): the rate T^(-1/4) of the gradient norm.

On a quadratic E|grad F(x_t)|^2 is about eta_t lambda sigma^2 / 2, so with eta = t^(-1/2) the root mean square falls
like T^(-1/4): on this problem the general guarantee for SGD is attained, not beaten. Measured by exact moments to T =
10^6.
"""

from marslab.claims._curves import EXPONENT, beside, exact_slope
from marslab.claims.base import Claim, Finding, Plant
from marslab.schedules import PowerLaw, theorem
from marslab.verdicts import Measurement


def measure(data):
    """Slope of the exact moments over the last two decades."""
    runs = data["rate_sgd"]
    slope = exact_slope(runs["moments"], "grad_norm_squared")
    note = beside(runs["monte_carlo"], runs["moments"], "grad_norm")
    return Finding(Measurement(slope, kind="exact"), steps=1_000_000, evaluations=1_000_000, note=note)


sgd_rate = Claim(
    name="sgd_rate",
    statement="SGD with a step size of t^(-1/2): the gradient norm falls like T^(-1/4).",
    source="arXiv 2411.10438, section 2; arXiv 1912.02365 for the lower bound",
    predict=lambda: -1 / 4,
    measure=measure,
    experiments=("rate_sgd",),
    **EXPONENT,
    plants={
        "the step falls like t^(-1/3)": Plant(runs={"rate_sgd": {"moments": {"lr": PowerLaw(1.0, 1 / 3)}}}),
        "it is exact MARS": Plant(
            runs={"rate_sgd": {"moments": dict(rule="mars", exact=True, gamma=1.0, **theorem(c=1, s=1))}}
        ),
    },
)
