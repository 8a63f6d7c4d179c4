r"""Approximate MARS at gamma = 1 under the theorem's schedule falls only like T^(-1/6).

At gamma = 1 the approximate form is plain SGD (claim approximate_is_sgd), so with eta = (s + t)^(-1/3)
E|grad F|^2 is about eta lambda sigma^2 / 2: the root mean square falls like T^(-1/6), slower than SGD with its own best
schedule. The theorem does not cover the approximate form; this is what is lost when its schedule is kept.
"""

from marslab.claims._curves import EXPONENT, beside, exact_slope
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive
from marslab.verdicts import Measurement


def measure(data):
    """Slope of the exact moments over the last two decades."""
    runs = data["rate_approximate"]
    slope = exact_slope(runs["moments"], "grad_norm_squared")
    note = beside(runs["monte_carlo"], runs["moments"], "grad_norm")
    return Finding(Measurement(slope, kind="exact"), steps=1_000_000, evaluations=1_000_000, note=note)


approximate_rate = Claim(
    name="approximate_rate",
    statement="Approximate MARS, gamma = 1, the theorem's schedule: the gradient norm falls only like T^(-1/6).",
    source="derived here",
    predict=lambda: -1 / 6,
    measure=measure,
    experiments=("rate_approximate",),
    **EXPONENT,
    plants={
        "prev is of the same sample": Plant(runs={"rate_approximate": {"moments": {"exact": True}}}),
        "half of the correction is lost": Plant(runs={"rate_approximate": {"moments": {"gamma": 0.5}}}),
        "the noise is correlated": Plant(runs={"rate_approximate": {"moments": {"noise": additive(1.0, correlation=0.9)}}}),
    },
)
