r"""Every beta of the theorem's schedule lies in [0, 1) exactly where c <= (s + 1)^(2/3).

beta_{t+1} = 1 - c (s + t)^(-2/3) increases with t and stays below 1 for c > 0, so all of them lie in [0, 1) if and only if
the first, beta_2 = 1 - c (s + 1)^(-2/3), is not negative. Equivalently s + 1 >= c^(3/2), which repairs theorem B.5: with c
= 32 L^2 / rho^2 + 1 it asks for s >= (32 u^2 + 1)^(3/2) - 1 at u = L / rho, where the theorem states s >= 8 u^3; for large
u that is 181 u^3. Found by running MARS on the schedule over a map of c and s, with points a millionth to either side of
the border, where a run refuses a beta outside [0, 1); the measurement counts the points at which run and formula disagree.
"""

import itertools

from marslab import optimizers
from marslab.claims.base import Claim, Finding, Plant
from marslab.errors import UsageError
from marslab.moments import propagate
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import PowerLaw, TheoremBeta
from marslab.verdicts import Measurement

WEIGHTS = (1.5, 3.0, 9.0, 33.0, 129.0, 513.0)  # c; 32 u^2 + 1 at u = 1/4, 1/2, 1, 2, 4 from the second on
SHIFTS = (0.0, 8.0, 64.0, 190.0, 1_000.0, 20_000.0)
BESIDE = 1e-6
STEPS = 40
PROBLEM = quadratic(spectrum=(1.0,))


def measure(data, rule, schedule):
    """Run over the map and count the disagreements."""
    border = [(c, (c**1.5 - 1) * (1 + side)) for c in WEIGHTS for side in (-BESIDE, BESIDE)]
    points = [*itertools.product(WEIGHTS, SHIFTS), *border]
    ran = [runs(rule, schedule(c, s), s) for c, s in points]
    predicted = [c <= (s + 1) ** (2 / 3) for c, s in points]
    wrong = sum(a != b for a, b in zip(ran, predicted, strict=True))
    stated = sum(runs(rule, schedule(c, 8 * ((c - 1) / 32) ** 1.5), 8 * ((c - 1) / 32) ** 1.5) for c in WEIGHTS)
    note = f"{sum(ran)} of {len(points)} points run; of {len(WEIGHTS)} at the theorem's smallest s = 8 u^3: {stated}"
    return Finding(Measurement(float(wrong), kind="exact"), steps=STEPS, note=note)


def runs(rule, beta, s: float) -> bool:
    """Whether MARS takes the schedule for its first steps."""
    try:
        propagate(optimizers.find_rule(rule), problem=PROBLEM, steps=STEPS, record=[STEPS], exact=True, gamma=1.0,
                  lr=PowerLaw(1.0, 1 / 3, s + 1), beta1=beta)  # fmt: skip
    except UsageError:
        return False
    return True


def late(c, s):
    """Beta one step late, from eta_{t+1} in place of eta_t."""
    return TheoremBeta(c, s + 1)


def steep(c, s):
    """Beta with eta in place of its square."""
    return lambda t: 1 - c * (s + t) ** (-1 / 3)


schedule_feasible_region = Claim(
    name="schedule_feasible_region",
    statement="Every β of the theorem's schedule lies in [0, 1) if and only if c ≤ (s + 1)^(2/3), that is s + 1 ≥ c^(3/2).",
    source="derived here, on arXiv 2411.10438, theorem B.5",
    kind="exact",
    unit="disagreements",
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "schedule": TheoremBeta},
    plants={
        "beta is one step late": Plant({"schedule": late}),
        "beta is taken from eta, not its square": Plant({"schedule": steep}),
    },
)
