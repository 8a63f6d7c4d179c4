r"""MARS-Lion at γ = 0 without clip is Signum.

At gamma = 0 the correction vanishes, m_t = beta m_{t-1} + (1 - beta) g_t, and x_{t+1} = x_t - eta (sign(m_t) + lambda
x_t) is Signum with decoupled decay. It holds under both first steps, in both forms and for every schedule. Since the
sign does not see the length of m, a clip that acts at one step alone changes later signs.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars_lion, signum


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("signum", rules, dropped)


connection_signum = Claim(
    name="connection_signum",
    statement="MARS-Lion at γ = 0 without clip is Signum.",
    source="derived here; arXiv 1802.04434, algorithm 2, for Signum",
    predict=nothing,
    measure=measure,
    **shared("signum", mars_lion, signum),
)
