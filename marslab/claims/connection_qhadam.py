r"""QHAdam is approximate MARS-AdamW without clip, v from raw g², with ν₁ of its bias correction.

Approximate MARS's m is (1 - gamma) e_t + gamma g_t. QHAdam divides e_t, not the sum, by 1 - P_t, P_t the product of
the betas: with a constant nu1 = 1 - gamma, m / (1 - P_t) less QHAdam's numerator is gamma P_t / (1 - P_t) g_t, which
vanishes only in the long run. With nu1_t = (1 - gamma)(1 - P_t) / (1 - (1 - gamma) P_t) and the step rescaled the
points agree. So what parts MARS-AdamW's approximate form from QHAdam is v from c^2, the clip, and this correction.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars_adamw, qhadam


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("qhadam", rules, dropped)


connection_qhadam = Claim(
    name="connection_qhadam",
    statement="QHAdam is approximate MARS-AdamW without clip, v from raw g², with ν₁ of its bias correction.",
    source="derived here; arXiv 1810.06801, section 4, for QHAdam",
    predict=nothing,
    measure=measure,
    **shared("qhadam", mars_adamw, qhadam),
)
