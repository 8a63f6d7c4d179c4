r"""Adan with β₁ = β₂ and decoupled decay is approximate MARS-AdamW at γ = 1 − β₁ without clip.

Adan averages g (m), its differences (d) and the square of g_t + beta2 (g_t - g_{t-1}) (n). With beta1 = beta2 = beta
the direction m + beta d obeys MARS's recursion at gamma = 1 - beta, and g_t + beta (g_t - g_{t-1}) is MARS's c_t, so
that n is MARS-AdamW's v: the whole step agrees, under both first steps. The paper states the first moment only.
Adan's own decay is proximal, 1 / (1 + eta lambda): with it, or with unequal betas, the two part.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import adan, mars_adamw


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("adan", rules, dropped)


connection_adan = Claim(
    name="connection_adan",
    statement="Adan with β₁ = β₂ and decoupled decay is approximate MARS-AdamW at γ = 1 − β₁ without clip.",
    source="arXiv 2411.10438, section 3, for the first moment; the second moment derived here",
    predict=nothing,
    measure=measure,
    **shared("adan", mars_adamw, adan),
)
