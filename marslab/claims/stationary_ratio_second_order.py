r"""Is the difference between the two forms of second order in gamma, 1 + a gamma^2/k, at the published settings?

In the limit of small steps P(exact) -> (a sigma^2/2) k/(k + a gamma) and P(approximate) -> (a sigma^2/2)(k + a
gamma^2)/(k + a gamma), whose quotient is 1 + a gamma^2/k. But both limits drop factors 1 + O(a gamma), and the quotient
differs from 1 by no more than that: the limit may not be taken before the division. The exact ratio (stationary_ratio)
is 1 + 2 a h (k + h)/(k (1 + beta - h a)), of first order in gamma. It comes down to 1 + a gamma^2/k only for gamma much
larger than k; at the published 0.95 and 0.025, gamma is half of k and the excess is 2 beta (k + gamma beta)/(gamma (1 +
beta)) = 2.87 times as large.
"""

from marslab import moments, symbolic
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars, momentum
from marslab.verdicts import Measurement

CURVATURE = 0.01


def measure(data, rule, gamma, beta):
    """(ratio - 1) / (a gamma^2 / k) at small a, and the order in gamma from a halved gamma."""
    found = excess(rule, gamma, beta)
    order = found / excess(rule, gamma / 2, beta)
    equal = symbolic.difference(rule, momentum, gamma=0, exact=False, first="equal")
    note = (
        f"halving gamma divides the excess by {order:.2f} (2: first order, 4: second); at gamma = 0 the forms differ by {equal}"
    )
    return Finding(Measurement(found * (1 - beta) / (CURVATURE * gamma**2), kind="exact"), note=note)


def excess(rule, gamma, beta) -> float:
    """P(approximate) / P(exact) - 1 at a = CURVATURE."""
    options = dict(curvature=CURVATURE, lr=1.0, gamma=gamma, beta1=beta)
    ours, other = (moments.stationary(rule, exact=form, **options).grad_norm_squared for form in (False, True))
    return ours / other - 1


stationary_ratio_second_order = Claim(
    name="stationary_ratio_second_order",
    statement="At β = 0.95, γ = 0.025 and small a the stationary ratio of the forms is 1 + aγ²/k, second order in γ.",
    source="derived here: the quotient of the two small-step limits",
    kind="exact",
    unit="excess over a gamma^2 / k",
    margin=0.05,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "gamma": 0.025, "beta": 0.95},
    plants={"the average is longer": Plant({"beta": 0.99})},
)
