r"""The error bound of theorem B.5 as printed is not homogeneous, and large units break it.

Printed: mean E|m_t - grad F(x_t)|^2 <= [2 rho G + rho c^2 sigma^2 log(s + T)/(4 L^2)] T^(-2/3) - (term in M), with G =
F(x_1) - min F + rho s^(1/3) sigma^2/(16 L^2). The proof's chain gives rho^2 instead: the Lyapunov function falls by
(eta_t/rho) E|eps_t|^2 a step and gains rho c^2 eta_t^3 sigma^2/(8 L^2) (both derived with sympy from the rule's recursion),
so that (1/T) sum E|eps_t|^2 <= (rho/(T eta_T)) [G + rho c^2 sigma^2/(8 L^2) sum eta_t^3], with sum eta_t^3 <= log(s + T)
and 1/(T eta_T) <= 2 T^(-2/3) for T >= s.

Why the printed power cannot be right. Measure F, L, sigma and H in units that are a times smaller: c, s and every iterate
stay, the left side grows by a^2, rho G by a^2, but rho c^2 sigma^2/L^2 only by a. Let a grow: the printed theorem would
bound the error by 2 rho G T^(-2/3) alone. A counterexample therefore is any run whose mean error exceeds that: F = L x^2/2
from its minimum, additive noise, H = rho I, gamma = 1 (so that M = 0), beta_{1,1} = 0, c = 33, s = 190, L = rho = sigma =
a. The printed bound takes it for proved that the ratio is at most 1 (rho a hair smaller makes H > rho I strict).
"""

import sympy

from marslab import optimizers
from marslab.claims import _audit_chain as chain
from marslab.claims._audit import error_bound, scaled_theorem
from marslab.claims.base import Claim, Finding, Plant
from marslab.moments import propagate
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.verdicts import Measurement

STEPS = 1000


def mean_error(rule, size: float, s: float, gamma: float) -> float:
    """The mean of E|m_t - grad F(x_t)|^2 over t = 1..STEPS, every step from exact moments."""
    data = propagate(
        optimizers.find_rule(rule),
        problem=quadratic([size], start_scale=0.0),
        noise=additive(sigma=size),
        steps=STEPS,
        exact=True,
        record=list(range(1, STEPS + 1)),
        gamma=gamma,
        **scaled_theorem(33, s, size),
    )
    return float(data.error_squared.mean())


def power_in_the_chain(rule) -> int:
    """The power of rho before c^2 sigma^2 in the bound on the error: the chain's noise over its share of the error."""
    found = chain.chain(rule)
    return int(sympy.degree(sympy.numer(sympy.simplify(found.noise / found.error)), chain.rho))


def measure(data, rule, size, s, gamma, power):
    """Hold the exact mean error against the bound with the given power of rho."""
    known = dict(L=size, rho=size, sigma=size, c=33, s=s)
    error = mean_error(rule, size, s, gamma)
    ratio, corrected = (error / error_bound(STEPS, power=p, **known) for p in (power, 2))
    note = f"the chain's power of ρ is {power_in_the_chain(rule)}; with ρ² the ratio is {corrected:.3f}, for every unit"
    return Finding(Measurement(ratio, kind="exact"), STEPS, 2 * STEPS - 1, note)


audit_power_of_rho = Claim(
    name="audit_power_of_rho",
    statement="Theorem B.5's error bound with its printed ρ c²σ²/(4L²) holds in every unit, here L = ρ = σ = 1000.",
    source="arXiv 2411.10438, theorem B.5",
    kind="exact",
    unit="mean error / bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "size": 1000.0, "s": 190.0, "gamma": 1.0, "power": 1},
    plants={
        "the correction is off": Plant({"gamma": 0.0}),
        "the schedule has more room than it needs": Plant({"s": 400.0}),
    },
)
