r"""For MARS-AdamW as it is run, theorem B.6 begins to say something after more than 10^24 steps.

Assumption B.3, H_t >= rho I, is argued through the epsilon that Adam adds: rho = epsilon = 10^-8. The theorem asks for s >=
8 L^3/rho^3 and holds for T >= s, so for T >= 8 L^3 10^24; with the repair that beta_1 >= 0 needs, s >= c^(3/2) - 1 with c
>= 32 L^2/ rho^2 + 1, about 181 L^3/rho^3, for T >= 1.8 10^26 L^3. At that s the step size eta_t = (s + t)^(-1/3) is below
10^-8. The published runs take 10^5 steps. For them to be covered at this epsilon L may be at most epsilon (10^5/8)^(1/3) =
2.3 10^-7. epsilon is read off the rule. Claimed: the theorem covers a run of 10^5 steps at L = 1 (log10 of the smallest T
at most 5).
"""

import math

from marslab import optimizers
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.schedules import smallest_feasible_s
from marslab.verdicts import Measurement

PUBLISHED_STEPS = 100_000


def first_covered(L: float, rho: float) -> tuple[float, float]:
    """The smallest T that the theorem covers, as stated, and where its betas are not negative."""
    stated = 8 * L**3 / rho**3
    return max(stated, 1.0), max(stated, smallest_feasible_s(32 * L**2 / rho**2 + 1), 1.0)


def measure(data, rule, L, eps):
    """log10 of the smallest T that the stated conditions cover."""
    rho = optimizers.find_rule(rule).hyper["eps"] if eps is None else eps
    stated, feasible = first_covered(L, rho)
    note = f"ρ = ε = {rho:g}: T ≥ {stated:.1e} as stated, T ≥ {feasible:.1e} with β₁ ≥ 0, where η = "
    note += f"{feasible ** (-1 / 3):.1e}; 10⁵ steps are covered for L ≤ {rho * (PUBLISHED_STEPS / 8) ** (1 / 3):.1e}"
    return Finding(Measurement(math.log10(stated), kind="exact"), note=note)


audit_adamw_theorem_is_vacuous = Claim(
    name="audit_adamw_theorem_is_vacuous",
    statement="Theorem B.6 with ρ = ε covers a run of MARS-AdamW of 10⁵ steps at L = 1.",
    source="arXiv 2411.10438, theorem B.6 and assumption B.3",
    kind="exact",
    unit="log10 of the smallest T",
    side="below",
    predict=lambda: math.log10(PUBLISHED_STEPS),
    measure=measure,
    settings={"rule": mars_adamw, "L": 1.0, "eps": None},
    plants={
        "the problem is ten times as curved": Plant({"L": 10.0}),
        "epsilon is 1e-4": Plant({"eps": 1e-4}),
    },
)
