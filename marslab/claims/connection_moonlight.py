r"""Moonlight's Muon orthogonalises approximate MARS's m at γ = 1 − μ, times a constant.

Moonlight keeps u_t = mu u_{t-1} + g_t and orthogonalises g_t + mu u_t, which is 1 / (1 - mu) times approximate
MARS-M's m at gamma = 1 - mu. A polar factor does not see the constant, so that the points agree to rounding; Newton-
Schulz divides by the norm plus eps and sees it by about eps / |m|. MARS-M at its published gamma = 0.025 is therefore
between a Muon without Nesterov (gamma = 0) and Moonlight (gamma = 0.05).
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars_m, moonlight


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("moonlight", rules, dropped)


connection_moonlight = Claim(
    name="connection_moonlight",
    statement="Moonlight's Muon orthogonalises approximate MARS's m at γ = 1 − μ, times a constant.",
    source="arXiv 2411.10438, equations 3.20-3.25; arXiv 2502.16982, section 2.2",
    predict=nothing,
    measure=measure,
    **shared("moonlight", mars_m, moonlight),
)
