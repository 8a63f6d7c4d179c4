r"""A bound for MARS with orthogonalised updates (exact polar factor, exact form, gamma = 1, no clip).

X_{t+1} = X_t - eta O_t with O = U V' of M = U S V', r = min(rows, columns), samples L-smooth in the Frobenius norm,
variance at most sigma^2, M_1 = g_1, k = 1 - beta constant. <M, O> is the nuclear norm |M|_* and |O|_F^2 <= r, so smoothness
gives F(X') <= F(X) - eta <grad F, O> + L eta^2 r / 2. With E = M - grad F: <grad F, O> = |M|_* - <E, O> >= |grad F|_* -
|E|_* - sqrt(r) |E|_F, and |E|_* <= sqrt(r) |E|_F. The error obeys E|E'|^2 <= beta^2 E|E|^2 + 2 k^2 sigma^2 + 2 beta^2 L^2
eta^2 r; as 1 - beta^2 >= k, E|E_t| <= beta^(t-1) sigma + sqrt(2 k) sigma + sqrt(2 r / k) L eta. Summed, with Delta = F(X_1)
- min F,

    1/T sum E|grad F|_* <= Delta / (eta T) + L eta r / 2 + 2 sqrt(r) [sigma / (k T) + sqrt(2 k) sigma + sqrt(2 r / k) L eta].

k = eta = T^(-2/3) makes it O(T^(-1/3)), where MARS-M and Muon-MVR claim the same rate. The factor's lack of a lower bound
on H does no harm. Held on a quadratic of a 3 x 4 matrix with additive noise; in place of the nuclear norm the larger
sqrt(r) |grad F|_F is compared with the bound.
"""

from marslab.claims._descent import long_step, ratio, uphill
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.optimizers import mars_shampoo
from marslab.verdicts import Measurement


def measure(data, rule, hyper, rate, steps, seeds):
    """The ratio of the mean norm to the bound, in each seed."""
    found = Measurement.of(ratio(rule, shape=(3, 4), rank=3, steps=steps, seeds=seeds, hyper=hyper, **rate))
    return Finding(found, steps, 2 * steps - 1, f"the bound is {1 / found.estimate:.1f} times the measured mean")


polar_descent_bound = Claim(
    name="polar_descent_bound",
    statement="Orthogonalised MARS, exact, γ = 1: the mean nuclear norm of ∇F stays below a bound of order T^(−1/3).",
    source="derived here, beside arXiv 2510.21800 and 2509.15816",
    kind="Monte Carlo",
    unit="ratio to the bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={
        "rule": mars_shampoo,
        "hyper": {"orthogonalization": "polar"},
        "rate": {},
        "steps": Budget(2_000, 20_000),
        "seeds": Budget(12, 32),
    },
    plants={
        "the step does not shrink": Plant({"rate": {"rate": long_step}}),
        "the step goes uphill": Plant({"rule": uphill(mars_shampoo)}),
    },
)
