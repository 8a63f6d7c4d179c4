r"""MARS-AdamW at γ = 0 without clip is AdamW, in both forms.

At gamma = 0 the correction vanishes, c_t = g_t, so that m and v are the averages of g and of g^2, with the same bias
corrections and the same decoupled decay: AdamW. It holds under both first steps, in both forms and for every
schedule. The clip of c at norm 1, which the published algorithm always has, breaks it as soon as a gradient is
longer.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import adamw, mars_adamw


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("adamw", rules, dropped)


connection_adamw = Claim(
    name="connection_adamw",
    statement="MARS-AdamW at γ = 0 without clip is AdamW, in both forms.",
    source="arXiv 2411.10438, section 3",
    predict=nothing,
    measure=measure,
    **shared("adamw", mars_adamw, adamw),
)
