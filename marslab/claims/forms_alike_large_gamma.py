r"""The same test near gamma = 1, where the theorem lives: no clear effect of the approximation?

At gamma = 0.9, a = 0.5, beta = 0.95 the ratio of stationary_ratio is 1 + 2 a h (k + h)/(k (1 + beta - h a)) = 11.2: the
exact form averages over what the approximate one, close to plain SGD, keeps. (Additive noise; the paper compares the
forms at gamma = 0.025 alone and draws no line, so this is its finding read for every gamma.) The same procedure as for
small gamma, on the map gamma in (0.5, 0.9) times a in (0.1, 0.5).
"""

import math

from marslab.claims._map import furthest
from marslab.claims.base import Claim, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars

LAWS = {"gaussian": additive(math.sqrt(40)), "heavy tails": additive(math.sqrt(40), law="student", degrees=5.0)}


def measure(data, rule, laws, gammas, rates, seeds):
    """The mean log ratio of the cell that is furthest from 1."""
    return furthest(rule, laws, gammas, rates, seeds)


forms_alike_large_gamma = Claim(
    name="forms_alike_large_gamma",
    statement="For γ up to 0.9, ηλ up to 0.5 exact and approximate MARS keep the same stationary |∇F|² within 5 %.",
    source="arXiv 2411.10438, appendix E: exact against approximate, read beyond its gamma",
    kind="Monte Carlo",
    unit="log ratio",
    margin=math.log(1.05),
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "laws": LAWS, "gammas": [0.5, 0.9], "rates": [0.1, 0.5], "seeds": Budget(32, 256)},
    plants={"the noise is correlated": Plant({"laws": {"correlated": additive(math.sqrt(40), correlation=-0.5)}})},
)
