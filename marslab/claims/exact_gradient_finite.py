r"""The gradient norm of exact MARS at finite T is predicted without a free parameter.

If the slow variables follow the stationary law at every step, then E|grad F|^2 is (sigma^2 / 2) / (1/(eta lambda) +
gamma/(c eta^2)) with eta = (s + t)^(-1/3): `theory.quasi_static`. Both terms matter up to t of about (c / gamma
lambda)^3 = 36,000, so on [10^4, 10^6] its slope is not yet -1/3. The prediction is the slope of that closed form on
the recorded steps, the measurement is the slope of the exact moments.
"""

import numpy as np

from marslab import rates, theory
from marslab.claims._curves import EXPONENT, LATE, beside, exact_slope
from marslab.claims.base import Claim, Finding, Plant
from marslab.record import log_grid
from marslab.verdicts import Measurement


def predict():
    """Slope of the closed form on the steps that are recorded."""
    steps = np.array(log_grid(1_000_000, 300))
    return rates.fit(steps, np.sqrt(theory.quasi_static(steps, c=33, s=190)), LATE).slope


def measure(data):
    """Slope of the exact gradient norm over the last two decades."""
    runs = data["rate_exact"]
    slope = exact_slope(runs["moments"], "grad_norm_squared")
    note = beside(runs["monte_carlo"], runs["moments"], "grad_norm")
    return Finding(Measurement(slope, kind="exact"), steps=1_000_000, evaluations=1_999_999, note=note)


exact_gradient_finite = Claim(
    name="exact_gradient_finite",
    statement="The same run: up to T = 10^6 the gradient norm falls as the quasi-static law predicts, slower than T^(-1/3).",
    source="derived here (theory.quasi_static)",
    predict=predict,
    measure=measure,
    experiments=("rate_exact",),
    **EXPONENT,
    plants={
        "beta stays constant": Plant(runs={"rate_exact": {"moments": {"beta1": 0.95}}}),
        "half of the correction is lost": Plant(runs={"rate_exact": {"moments": {"gamma": 0.5}}}),
    },
)
