r"""A buffer used before it is updated is a scaled difference recursion (the paper's lemma 3.4).

m_t = b1 u_t + b2 g_t with u_{t+1} = a1 u_t + a2 g_t is m_t = a1 m_{t-1} + (b1 a2 - a1 b2 + b2) g_t + (a1 b2 - b1 a2)
(g_t - g_{t-1}): insert u_t = a1 u_{t-1} + a2 g_{t-1} and b1 u_{t-1} = m_{t-1} - b2 g_{t-1}, and collect. The start
needs u_1 = 0 and g_0 = 0; with a first difference of zero instead, m lacks (a1 b2 - b1 a2) a1^(t-1) g_1. All four
weights are constant: where a1 varies, m_{t-1} was made with another one.
"""

from marslab import identities
from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("lemma_after_use", rules, dropped)


recursion_lemma_after_use = Claim(
    name="recursion_lemma_after_use",
    statement="A buffer used before it is updated is a scaled difference recursion (the paper's lemma 3.4).",
    source="arXiv 2411.10438, lemma 3.4",
    predict=nothing,
    measure=measure,
    **shared("lemma_after_use", *identities.find_identity("lemma_after_use").rules),
)
