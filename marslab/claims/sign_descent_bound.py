r"""A bound for MARS-Lion in the exact form at gamma = 1 without clip: a theorem that the paper does not have.

x_{t+1} = x_t - eta sign(m_t), d coordinates, samples L-smooth, variance at most sigma^2, m_1 = g_1, k = 1 - beta constant.
Smoothness of F gives F(x_{t+1}) <= F(x_t) - eta <grad F, sign m> + L eta^2 d / 2. With e = m - grad F: <grad F, sign m> =
|m|_1 - <e, sign m> >= |grad F|_1 - 2 |e|_1, and |e|_1 <= sqrt(d) |e|. The error obeys E|e'|^2 <= beta^2 E|e|^2 + 2 k^2
sigma^2 + 2 beta^2 L^2 eta^2 d, since |x' - x|^2 <= eta^2 d; as 1 - beta^2 >= k, E|e_t| <= beta^(t-1) sigma + sqrt(2 k)
sigma + sqrt(2 d / k) L eta. Summed over T steps, with Delta = F(x_1) - min F,

    1/T sum E|grad F|_1 <= Delta / (eta T) + L eta d / 2 + 2 sqrt(d) [sigma / (k T) + sqrt(2 k) sigma + sqrt(2 d / k) L eta].

k = eta = T^(-2/3) makes it O(T^(-1/3)). No lower bound on H is needed. Held on a quadratic of four coordinates with
additive noise, k = eta = T^(-2/3); in place of |grad F|_1 the larger sqrt(d) |grad F| is compared with the bound.
"""

from marslab.claims._descent import long_step, ratio, uphill
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.optimizers import mars_lion
from marslab.verdicts import Measurement


def measure(data, rule, hyper, rate, steps, seeds):
    """The ratio of the mean norm to the bound, in each seed."""
    found = Measurement.of(ratio(rule, shape=(4,), rank=4, steps=steps, seeds=seeds, hyper=hyper, **rate))
    return Finding(found, steps, 2 * steps - 1, f"the bound is {1 / found.estimate:.1f} times the measured mean")


sign_descent_bound = Claim(
    name="sign_descent_bound",
    statement="MARS-Lion, exact, γ = 1, no clip: the mean of E‖∇F‖₁ stays below a bound of order T^(−1/3) (k = η = T^(−2/3)).",
    source="derived here",
    kind="Monte Carlo",
    unit="ratio to the bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars_lion, "hyper": {}, "rate": {}, "steps": Budget(2_000, 50_000), "seeds": Budget(16, 64)},
    plants={
        "the step does not shrink": Plant({"rate": {"rate": long_step}}),
        "the step goes uphill": Plant({"rule": uphill(mars_lion)}),
    },
)
