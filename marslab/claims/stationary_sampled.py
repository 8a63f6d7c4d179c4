r"""The stationary laws are met by simulation, with noise that is not Gaussian.

The closed forms need the variance of the noise alone, so fair signs must give them as well. A quadratic of curvature 1,
40 coordinates with unit noise each, a = 0.5, beta = 0.95, gamma = 0.3, started at its minimum and recorded after 200
steps (the slowest mode falls by half in a few steps). Measured: the mean of |grad F|^2 / 40 over the records,
approximate form, over its closed form, less 1. The margin is 5 %.
"""

import math

from marslab import theory
from marslab.claims._forms import late_squares
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.verdicts import Measurement

RATE, SETTING, COORDINATES = 0.5, {"gamma": 0.3, "beta": 0.95}, 40
RECORD = range(200, 401, 20)


def measure(data, rule, exact, noise, seeds):
    """The sampled law over the approximate form's closed form."""
    options = dict(steps=RECORD[-1], record=RECORD, coordinates=COORDINATES, lr=RATE, beta1=SETTING["beta"])
    seen = late_squares(noise, forms=(exact,), rule=rule, seeds=seeds, gamma=SETTING["gamma"], **options)[exact] / COORDINATES
    law = float(theory.stationary_approximate(RATE, **SETTING))
    note = f"E(F')^2 = {seen.mean():.4f}; closed forms {law:.4f}, exact form {theory.stationary_exact(RATE, **SETTING):.4f}"
    return Finding(Measurement.of(seen / law - 1), RECORD[-1], RECORD[-1], note)


stationary_sampled = Claim(
    name="stationary_sampled",
    statement="Simulated with fair signs for noise, approximate MARS keeps the gradient of its closed stationary law.",
    source="derived here",
    kind="Monte Carlo",
    unit="relative difference",
    margin=0.05,
    predict=lambda: 0.0,
    measure=measure,
    settings={
        "rule": mars,
        "noise": additive(math.sqrt(COORDINATES), law="rademacher"),
        "exact": False,
        "seeds": Budget(64, 1024),
    },
    plants={
        "prev is of the same sample": Plant({"exact": True}),
        "the noise is correlated": Plant({"noise": additive(math.sqrt(COORDINATES), law="rademacher", correlation=0.3)}),
        "the noise is 10 % louder": Plant({"noise": additive(1.1 * math.sqrt(COORDINATES), law="rademacher")}),
    },
)
