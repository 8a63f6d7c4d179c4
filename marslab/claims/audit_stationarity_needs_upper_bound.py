r"""Theorem B.5 bounds the error and the scaled step; neither bounds the gradient unless H has an upper bound.

From H_t (x_t - x_{t+1})/eta_t = m_t = grad F(x_t) + eps_t follows, with |H_t| <= Gamma,

    E|grad F(x_t)|^2 <= 2 E|eps_t|^2 + 2 Gamma^2 E|x_{t+1} - x_t|^2/eta_t^2,

and nothing without Gamma. The theorem asks only for H >= rho I. Counterexample: H = h I with h = 10^4 >= rho = 1. All
assumptions hold, both bounds of the theorem shrink, and x hardly moves, since the steps are eta_t/h. Measured by exact
moments at T = 10^5 on F = x^2/2 from x = 10 with sigma = 0.1, gamma = 1, c = 33, s = 190: E|grad F(x_T)|^2 (which falls
with t, so that its mean is larger still) over 2 B_1 + 2 Gamma^2 B_2, with B_1 and B_2 the theorem's bounds on the two means
and Gamma = 1, that is without Gamma. Claimed: at most 1, which is what reading the theorem as a rate for the gradient
means. With Gamma = h it holds. For MARS-AdamW the clip provides |H| <= 1 + eps; the theorem does not say that it needs it.
"""

import math

from marslab import optimizers
from marslab.claims._audit import error_bound, scaled_theorem, starting_gap
from marslab.claims.base import Claim, Finding, Plant
from marslab.moments import propagate
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.verdicts import Measurement

STEPS, C, S, START = 100_000, 33, 190, 10.0


def step_bound(sigma: float, gap: float) -> float:
    """The theorem's bound on the mean of E|x_{t+1} - x_t|^2/eta_t^2 (see audit_power_of_eta) at L = rho = 1."""
    known = 16 / 3 * starting_gap(L=1, rho=1, sigma=sigma, s=S, gap=gap)
    return (known + 2 * C**2 * sigma**2 / 3 * math.log(S + STEPS)) * STEPS ** (-2 / 3)


def measure(data, rule, h, upper, sigma):
    """E|grad F|^2 at the end over what the two bounds allow with |H| <= upper."""
    run = propagate(
        optimizers.find_rule(rule),
        problem=quadratic([1.0], start_scale=START),
        noise=additive(sigma),
        steps=STEPS,
        exact=True,
        gamma=1.0,
        record=2,
        **scaled_theorem(C, S, h),
    )
    gradient, error = float(run.grad_norm_squared[-1]), float(run.error_squared[-1])
    bounds = error_bound(STEPS, L=1, rho=1, sigma=sigma, c=C, s=S, gap=START**2 / 2), step_bound(sigma, START**2 / 2)
    ratio = gradient / (2 * bounds[0] + 2 * upper**2 * bounds[1])
    note = f"E|∇F|² = {gradient:.3g}, bounds on the means {bounds[0]:.2g} and {bounds[1]:.2g}, error at the end {error:.2g}; "
    note += f"with Γ = h the ratio is {gradient / (2 * bounds[0] + 2 * h**2 * bounds[1]):.1e}"
    return Finding(Measurement(ratio, kind="exact"), STEPS, 2 * STEPS - 1, note)


audit_stationarity_needs_upper_bound = Claim(
    name="audit_stationarity_needs_upper_bound",
    statement="The two bounds of theorem B.5 make the gradient small for every preconditioner H ⪰ ρI, here H = 10⁴ I, ρ = 1.",
    source="arXiv 2411.10438, theorem B.5 read as a rate for the gradient",
    kind="exact",
    unit="E|∇F|² / what the bounds allow",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "h": 1e4, "upper": 1.0, "sigma": 0.1},
    plants={
        "the preconditioner is a hundred times larger": Plant({"h": 1e6}),
        "there is hardly any noise": Plant({"sigma": 0.001}),
    },
)
