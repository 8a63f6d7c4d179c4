r"""Theorem B.6 says nothing about any run of the published length: at epsilon = 10^-8 it begins beyond 10^24 steps.

For MARS-AdamW the only lower bound on H = diag(sqrt v) + epsilon that the paper offers is epsilon, so rho = epsilon = 10^-8
by the rule's own default. The theorem asks for T >= s >= 8 L^3 / rho^3, which is 8 * 10^24 steps at L = 1; with the s that
keeps beta in [0, 1), s + 1 >= (32 L^2 / rho^2 + 1)^(3/2), it is 1.8 * 10^26. The published runs take 10^5 steps. The stated
condition admits those only for L <= rho (10^5 / 8)^(1/3) = 2.3 * 10^-7. Its first step would be eta_1 = (s + 1)^(-1/3), 5 *
10^-9 in place of 6 * 10^-3. Measured: the decimal logarithm of the smallest T that the stated condition allows at L = 1.
"""

import math

from marslab import optimizers
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.schedules import smallest_feasible_s
from marslab.verdicts import Measurement

PUBLISHED_STEPS = 100_000
SMOOTHNESS = 1.0  # L


def measure(data, rule, eps):
    """log10 of the smallest s; ``eps`` None: the rule's default."""
    rho = optimizers.find_rule(rule).hyper["eps"] if eps is None else eps
    stated, feasible = 8 * SMOOTHNESS**3 / rho**3, smallest_feasible_s(32 * SMOOTHNESS**2 / rho**2 + 1)
    allowed = rho * (PUBLISHED_STEPS / 8) ** (1 / 3)
    note = (
        f"rho = {rho:g}: s >= {stated:.2g} as stated, {feasible:.2g} with beta in [0, 1); "
        f"eta_1 = {(stated + 1) ** (-1 / 3):.2g}; {PUBLISHED_STEPS} steps are covered for L <= {allowed:.2g}"
    )
    return Finding(Measurement(math.log10(max(stated, 1.0)), kind="symbolic"), note=note)


theorem_b6_published_eps = Claim(
    name="theorem_b6_published_eps",
    statement="Theorem B.6 covers runs of the published 10⁵ steps at the published ε = 10⁻⁸ and L = 1.",
    source="arXiv 2411.10438, theorem B.6 and assumption B.3",
    kind="symbolic",
    unit="log10 of the smallest T",
    side="below",
    predict=lambda: math.log10(PUBLISHED_STEPS),
    measure=measure,
    settings={"rule": mars_adamw, "eps": None},
    plants={"epsilon is a tenth": Plant({"eps": 1e-9})},
)
