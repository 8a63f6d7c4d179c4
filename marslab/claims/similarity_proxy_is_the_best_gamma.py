r"""The proxy L^2 / (L^2 + delta^2) is not the gamma with the smallest stationary gradient norm.

The follow-up sets gamma by the constants of gamma-similarity: L^2/(L^2 + delta^2) minimises lemma 1's bound, and its
complexity bound where the accuracy is moderate. On one eigenmode with additive noise and curvature noise of level s,
delta = s L and the proxy is 1 / (1 + s^2). The stationary law is known in closed form (theory.stationary_exact): with a
= eta lambda, k = 1 - beta, h = gamma beta,

    P = (a k sigma^2 / 2) u / [(k + h a)(u - k a/2) - s^2 a^2 h (k + h) - (s^2 k a/2) u],    u = 1 + beta - h a.

For small a the correction costs s^2 a^2 h^2 against a gain of h a (1 + beta), so the optimum is of order 1/(s^2 a), not
1/(1 + s^2): at s^2 = 10, a = 0.1, beta = 0.9 it is 0.93 against the proxy's 0.09, and the proxy has 1.58 times the
smallest P. The proxy weighs the error that one move adds; the stationary law also counts how long errors are
remembered, the factor k + h a, which the correction shortens. Measured by minimising the exact moments of the rule over
[0, 1]; a factor of two either way is granted. Near a = 1, s^2 = 3 the two agree.
"""

import math

from marslab import theory
from marslab.claims._stationary_gamma import best, power
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def measure(data, rule, exact, a, beta1, squared_level):
    """The log ratio of the best gamma to the proxy."""
    options, proxy = dict(exact=exact, beta1=beta1, level=math.sqrt(squared_level)), 1 / (1 + squared_level)
    found = best(rule, a, **options)
    share = power(rule, a, proxy, **options) / power(rule, a, found, **options)
    form = float(theory.stationary_exact(a, gamma=proxy, beta=beta1, level=math.sqrt(squared_level)))
    note = f"best gamma {found:.3f}, proxy {proxy:.3f}, whose P is {share:.2f} times the smallest (closed form {form:.5f})"
    return Finding(Measurement(math.log(found / proxy) if found > 0 else -math.inf, kind="exact"), note=note)


similarity_proxy_is_the_best_gamma = Claim(
    name="similarity_proxy_is_the_best_gamma",
    statement="The proxy γ = L²/(L² + δ²) is the γ in [0, 1] that minimises the stationary gradient norm.",
    source="Understanding MARS (ICML 2026), lemma 1, as a choice of gamma",
    kind="exact",
    unit="log ratio of gamma to the proxy",
    margin=math.log(2),
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": True, "a": 0.1, "beta1": 0.9, "squared_level": 10.0},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "the difference is taken the other way round": FAULTY_MARS["the difference is taken the other way round"],
    },
)
