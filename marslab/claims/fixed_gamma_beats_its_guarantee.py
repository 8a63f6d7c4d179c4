r"""A fixed gamma below one can fall faster than the T^(-1/4) that is guaranteed: nearly T^(-1/3) at gamma = 1/2.

Corollary 1 of the follow-up guarantees T^(-1/4) for every fixed gamma != 1, and the paper's lemma C.2 gives no rate at
all there, since M may be negative. Both are upper bounds. Under the theorem's schedule, eta = (s + t)^(-1/3), 1 - beta
= c eta^2, with additive noise, the quasi-static law is (sigma^2/2) / (1/(eta lambda) + gamma/(c eta^2)): T^(-1/3) for
every fixed gamma > 0, with the constant 1/gamma, and T^(-1/6) at gamma = 0. So what is missing at gamma != 1 is the
guarantee, not the rate: the bound charges the bias (1 - gamma) d of every move at its full length, while here
successive moves largely cancel. Whether some problem of the class forces T^(-1/4) this does not say. Measured: the
exponent of the exact moments at gamma = 1/2, c = s = 1, from 10^4 to 10^6; it must be at least 0.05 steeper than -1/4,
half way to -1/3 and more.
"""

from marslab.claims._fixed_gamma import constant_beta, slopes
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.optimizers import mars
from marslab.schedules import theorem
from marslab.verdicts import Measurement


def measure(data, rule, exact, schedule, gamma, steps):
    """The exponent at gamma = 1/2."""
    _, (found,) = slopes(rule, exact, steps, schedule(1, 1), gammas=(gamma,))
    return Finding(Measurement(found, kind="exact"), steps, 2 * steps - 1, f"gamma = {gamma}, c = s = 1, window to {steps:.0e}")


fixed_gamma_beats_its_guarantee = Claim(
    name="fixed_gamma_beats_its_guarantee",
    statement="Under additive noise and the theorem's schedule exact MARS at a fixed γ = 1/2 falls faster than T^(-1/4).",
    source="derived here, beside corollary 1 of Understanding MARS (ICML 2026)",
    kind="exact",
    unit="exponent",
    margin=0.05,
    side="below",
    predict=lambda: -0.25,
    measure=measure,
    settings={"rule": mars, "exact": True, "schedule": theorem, "gamma": 0.5, "steps": Budget(1_000_000, 10_000_000)},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "beta stays constant": Plant({"schedule": constant_beta}),
    },
)
