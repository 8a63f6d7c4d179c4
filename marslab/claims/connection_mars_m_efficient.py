r"""MARS-M's memory-efficient form equals its approximate form without clip.

The released form keeps one buffer, b_t = beta b_{t-1} + (1 - gamma) (1 - beta) / beta g_t, that is (1 - gamma) / beta
e_t, and takes m_t = gamma g_t + beta b_t = (1 - gamma) e_t + gamma g_t: the quasi-hyperbolic form of approximate
MARS, so that the last gradient need not be kept. The released form never clips, the plain one always does, and gamma
and beta must be constant: otherwise the two part.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars_m, mars_m_efficient


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("mars_m_efficient", rules, dropped)


connection_mars_m_efficient = Claim(
    name="connection_mars_m_efficient",
    statement="MARS-M's memory-efficient form equals its approximate form without clip.",
    source="the released code of arXiv 2510.21800",
    predict=nothing,
    measure=measure,
    **shared("mars_m_efficient", mars_m, mars_m_efficient),
)
