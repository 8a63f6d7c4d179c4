r"""NAdam's numerator with constant μ is approximate MARS's m at γ = 1 − μ.

NAdam's numerator, (1 - mu) g_t + mu m_t with m the average of g, is Nesterov's direction in averages, so that it
equals approximate MARS's m at gamma = 1 - mu. The points differ: NAdam divides g_t by 1 - mu^t and m_t by 1 -
mu^(t+1), MARS-AdamW both by 1 - mu^t. NAdam's warm-up lets mu vary, and gamma would have to vary with it: then the
identity fails.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars, nadam


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("nadam", rules, dropped)


connection_nadam_numerator = Claim(
    name="connection_nadam_numerator",
    statement="NAdam's numerator with constant μ is approximate MARS's m at γ = 1 − μ.",
    source="arXiv 2411.10438, equations 3.22-3.25",
    predict=nothing,
    measure=measure,
    **shared("nadam", mars, nadam),
)
