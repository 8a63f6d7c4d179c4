r"""Orthogonalised updates in the exact form at gamma = 1 reach T^(-1/3) with k = eta = T^(-2/3).

The bound of polar_descent_bound gives at most T^(-1/3), which MARS-M and Muon-MVR claim for their exact forms and Muon,
with one gradient, does not have (T^(-1/4)). On a quadratic it is attained as for signs (sign_descent_rate): every singular
value moves at the speed eta = k, enough to follow the error, so |grad F| is near |E| ~ sqrt(k / 2) sigma. At finite T the
slope lies above -1/3: near -0.309 up to T = 4000 and -0.315 up to 32000. The margin was chosen with the first in view; the
second, at the full budget, is the test. It tells -1/3 from -1/6, and not at these T from the -1/4 of k = eta = T^(-1/2),
which runs at -0.28. Measured on a 3 x 4 matrix with the exact polar factor at four horizons from T / 8 to T, each run with
its own constants, as the slope of the log mean norm against log T in each seed.
"""

from marslab.claims._descent import cube_root, horizon_slopes
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.optimizers import mars_shampoo
from marslab.verdicts import Measurement

POLAR = {"orthogonalization": "polar"}


def measure(data, rule, hyper, rate, steps, seeds):
    """The mean over seeds of the slope over four horizons."""
    horizons = [steps // 8, steps // 4, steps // 2, steps]
    slopes = horizon_slopes(rule, horizons, shape=(3, 4), rank=3, seeds=seeds, hyper=hyper, **rate)
    note = f"horizons {', '.join(map(str, horizons))}, each with eta = 1 - beta of its own"
    return Finding(Measurement.of(slopes), steps, 2 * sum(horizons) - 4, note)


polar_descent_rate = Claim(
    name="polar_descent_rate",
    statement="Orthogonalised MARS, exact, γ = 1, with 1 − β = η = T^(−2/3): the mean of |∇F| falls like T^(−1/3).",
    source="derived here, beside arXiv 2510.21800 and 2509.15816",
    kind="Monte Carlo",
    unit="exponent",
    margin=0.045,
    predict=lambda: -1 / 3,
    measure=measure,
    settings={"rule": mars_shampoo, "hyper": POLAR, "rate": {}, "steps": Budget(4_000, 32_000), "seeds": Budget(20, 64)},
    plants={
        "the correction is off": Plant({"hyper": {**POLAR, "gamma": 0.0}}),
        "step and 1 - beta are T^(-1/3)": Plant({"rate": {"rate": cube_root}}),
    },
)
