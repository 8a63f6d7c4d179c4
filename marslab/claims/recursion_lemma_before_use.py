r"""A buffer updated before it is used is a scaled difference recursion (the paper's lemma D.1).

u_t = a1 u_{t-1} + a2 g_t with m_t = b1 u_t + b2 g_t is m_t = a1 m_{t-1} + (b1 a2 - a1 b2 + b2) g_t + a1 b2 (g_t -
g_{t-1}): insert b1 u_{t-1} = m_{t-1} - b2 g_{t-1}, and collect. It needs u_0 = 0 and g_0 = 0; with a first difference
of zero m lacks b2 a1^t g_1. Here a1 and a2 may follow any schedule, b1 and b2 may not.
"""

from marslab import identities
from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("lemma_before_use", rules, dropped)


recursion_lemma_before_use = Claim(
    name="recursion_lemma_before_use",
    statement="A buffer updated before it is used is a scaled difference recursion (the paper's lemma D.1).",
    source="arXiv 2411.10438, lemma D.1",
    predict=nothing,
    measure=measure,
    **shared("lemma_before_use", *identities.find_identity("lemma_before_use").rules),
)
