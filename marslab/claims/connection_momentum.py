r"""MARS at γ = 0 without clip is momentum, in both forms.

At gamma = 0 the correction vanishes, c_t = g_t, whatever it is taken against: m_t = beta m_{t-1} + (1 - beta) g_t. It
holds under both first steps, in the exact and in the approximate form, and for every schedule of beta and of the step
size. With a clip, or at any other gamma, it does not.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars, momentum


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("momentum", rules, dropped)


connection_momentum = Claim(
    name="connection_momentum",
    statement="MARS at γ = 0 without clip is momentum, in both forms.",
    source="arXiv 2411.10438, section 3",
    predict=nothing,
    measure=measure,
    **shared("momentum", mars, momentum),
)
