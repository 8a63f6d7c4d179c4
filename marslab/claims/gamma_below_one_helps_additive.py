r"""Where the noise does not depend on the point, scaling the correction down never helps the exact form.

The paper presents gamma_t < 1 as an improvement over STORM's gamma = 1 (lemma C.2) and finds 0.025 best (appendix E).
With additive noise the correction is free of noise, and the stationary gradient norm of the exact form is P = a k
sigma^2 (1 + beta - h a) / (2 (k + h a)(1 + beta - k a/2 - h a)), h = gamma beta, k = 1 - beta, a = eta lambda. d log P
/ dh = a [1/(1 + beta - k a/2 - h a) - 1/(1 + beta - h a) - 1/(k + h a)], negative where (k a/2)(k + h a) < (1 + beta -
k a/2 - h a)(1 + beta - h a). For a <= 1 and gamma in [0, 1] the second factor on the right is at least 1 and k + h a <=
1 <= 1 + beta - h a, and the first is at least 1 - k/2 > k/2: so P falls strictly from gamma = 0 to gamma = 1. (Close to
a = 2 it does not, since gamma = 1 is about to diverge.) In the limit of small steps P = (sigma^2/2) / (1/a + gamma/k).
The published gamma = 0.025 is asked for a gain of 5 % over gamma = 1 at a = 0.1, beta = 0.95; P is 2.8 times as large
there, from the exact moments of the rule.
"""

import numpy as np
import sympy

from marslab.claims._stationary_gamma import power
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def measure(data, rule, exact, gamma, a, beta1, level):
    """P at gamma over P at one; the sign of the derivative by algebra, and how P goes on a grid."""
    options = dict(exact=exact, beta1=beta1, level=level)
    grid = [power(rule, a, value, **options) for value in np.linspace(0, 1, 11)]
    falls = "falls at every step" if (np.diff(grid) < 0).all() else "does not fall at every step"
    note = f"P {falls} from gamma = 0 to 1; d log P / dh is as derived: {derived()}"
    return Finding(Measurement(power(rule, a, gamma, **options) / grid[-1], kind="exact"), note=note)


def derived() -> bool:
    """Whether the derivative of log P is negative exactly where the docstring says."""
    a, h, k = sympy.symbols("a h k", positive=True)
    inner, outer, fresh = 2 - k - h * a, 2 - k - k * a / 2 - h * a, k + h * a
    slope = sympy.diff(sympy.log(inner) - sympy.log(fresh) - sympy.log(outer), h)
    return sympy.simplify(slope * inner * outer * fresh / a - (k * a / 2 * fresh - outer * inner)) == 0


gamma_below_one_helps_additive = Claim(
    name="gamma_below_one_helps_additive",
    statement="Under additive noise γ = 0.025 has a smaller stationary gradient norm than γ = 1, in the exact form.",
    source="arXiv 2411.10438, lemma C.2 and appendix E, read as a statement for every noise",
    kind="exact",
    unit="ratio of E|∇F|²",
    margin=0.05,
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "exact": True, "gamma": 0.025, "a": 0.1, "beta1": 0.95, "level": 0.0},
    plants={
        "the correction is formed and forgotten": FAULTY_MARS["the correction is formed and forgotten"],
        "there is a little curvature noise": Plant({"level": 0.5}),
    },
)
