r"""The exponents of approximate MARS at a fixed gamma under the theorem's schedule: every one ends at T^(-1/6).

The small-step stationary law of the approximate form is P = (a sigma^2/2) (k + a gamma^2)/(k + a gamma), a = eta
lambda, k = c eta^2. At first, while a gamma is below k, P is close to a sigma^2/2, then it falls like k/gamma while a
gamma^2 is below k, and in the end it is (a sigma^2/2) gamma: T^(-1/6) in norm at every fixed gamma, with a passage of
faster falls between t of about (c/gamma)^3 and (c/gamma^2)^3. The theorem does not cover this form. Measured as in
claim fixed_gamma_rates_exact, with c = 33, s = 190, lambda = 1.
"""

from marslab.claims._fixed_gamma import constant_beta, gaps
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.optimizers import mars
from marslab.schedules import theorem
from marslab.verdicts import Measurement


def measure(data, rule, exact, schedule, steps):
    """The largest difference of exponents over gamma."""
    worst, note = gaps(rule, exact, False, steps, 33, 190, schedule)
    return Finding(Measurement(worst, kind="exact"), steps, steps, note)


fixed_gamma_rates_approximate = Claim(
    name="fixed_gamma_rates_approximate",
    statement="Approximate MARS, the theorem's schedule: at every fixed gamma the gradient norm follows its quasi-static law.",
    source="derived here",
    kind="exact",
    unit="largest difference of exponents",
    margin=0.01,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": False, "schedule": theorem, "steps": Budget(1_000_000, 10_000_000)},
    plants={
        "prev is of the same sample": Plant({"exact": True}),
        "beta stays constant": Plant({"schedule": constant_beta}),
    },
)
