r"""Where one sample's curvature varies much, scaling the correction down does help: gamma = 1/2 beats gamma = 1.

The paper brings in gamma_t to scale the correction, and reports small values as best (appendix E); the follow-up
explains it by curvature that differs between samples. With curvature noise of level s the correction injects gamma beta
s w lambda (x_{t+1} - x_t), and the stationary P of claim similarity_proxy_is_the_best_gamma has an interior optimum
once s^2 a is above about one. At s^2 = 15, a = 0.1, beta = 0.95 the best gamma is 0.63, and gamma = 1/2 has 0.76 times
the P of gamma = 1. The claim asks for a gain of 10 % at least, in P, from the exact moments of the rule. At s^2 = 10
gamma = 1/2 would already be worse than gamma = 1, so the help is of sharp or noisy directions only.
"""

import math

from marslab.claims._stationary_gamma import best, power
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def measure(data, rule, exact, gamma, a, beta1, level):
    """P at gamma over P at one, and the best gamma in [0, 1.5]."""
    options = dict(exact=exact, beta1=beta1, level=level)
    ratio = power(rule, a, gamma, **options) / power(rule, a, 1.0, **options)
    found = best(rule, a, highest=1.5, **options)
    note = f"the best gamma up to 1.5 is {found:.3f}, with {power(rule, a, found, **options):.4f} as P"
    return Finding(Measurement(ratio, kind="exact"), note=note)


gamma_below_one_helps_curvature = Claim(
    name="gamma_below_one_helps_curvature",
    statement="Under strong curvature noise γ = 1/2 has a smaller stationary gradient norm than γ = 1, in the exact form.",
    source="arXiv 2411.10438, section 3 and appendix E; the law derived here",
    kind="exact",
    unit="ratio of E|∇F|²",
    margin=0.1,
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "exact": True, "gamma": 0.5, "a": 0.1, "beta1": 0.95, "level": math.sqrt(15.0)},
    plants={
        "the curvature noise is missing": Plant({"level": 0.0}),
        "the correction is formed and forgotten": FAULTY_MARS["the correction is formed and forgotten"],
    },
)
