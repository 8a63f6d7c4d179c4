r"""The exponents of exact MARS at a fixed gamma under the theorem's schedule, predicted without a free parameter.

If the gradient follows its stationary law at every step, E|grad F|^2 is (sigma^2/2) / (1/(eta lambda) + gamma/(c
eta^2)), eta = (s + t)^(-1/3) (theory.quasi_static). The first term gives T^(-1/6) in norm, the second T^(-1/3), and the
second takes over at t of about (c/(gamma lambda))^3. So with additive noise every fixed gamma > 0 ends at T^(-1/3),
gamma = 0 at T^(-1/6), and with the theorem's c = 33 no gamma below one is near its limit by 10^6: gamma = 0.025 would
need more than 10^9 steps. Measured: the exponents of the exact moments for gamma in {0, 0.025, 0.1, 0.5, 1} from 10^4
to 10^6 (10^7 at the full budget), c = 33, s = 190, L = rho = 1. Reported: their largest difference from the
quasi-static law on the same recorded steps; the law neglects terms of relative order eta, so 0.01 is granted.
"""

from marslab.claims._fixed_gamma import constant_beta, gaps
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.optimizers import mars
from marslab.schedules import theorem
from marslab.verdicts import Measurement


def measure(data, rule, exact, schedule, steps):
    """The largest difference of exponents over gamma."""
    worst, note = gaps(rule, exact, True, steps, 33, 190, schedule)
    return Finding(Measurement(worst, kind="exact"), steps, 2 * steps - 1, note)


fixed_gamma_rates_exact = Claim(
    name="fixed_gamma_rates_exact",
    statement="Exact MARS, the theorem's schedule: for every fixed gamma the gradient norm falls as the quasi-static law says.",
    source="derived here (theory.quasi_static)",
    kind="exact",
    unit="largest difference of exponents",
    margin=0.01,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": True, "schedule": theorem, "steps": Budget(1_000_000, 10_000_000)},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "beta stays constant": Plant({"schedule": constant_beta}),
    },
)
