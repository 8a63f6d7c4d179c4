"""The two recursions of momentum with a buffer, as rules of their own: only identities use them."""

from marslab.rule import rule

__all__ = ["buffer_after_use", "buffer_before_use", "one_recursion"]


@rule(memory=("u",), diagnostics=("m",))
def buffer_after_use(x, state, g, *, lr=0.1, a1=0.9, a2=0.1, b1=0.5, b2=0.5):
    r""":math:`m_t = b_1u_t + b_2g_t,\; u_{t+1} = a_1u_t + a_2g_t` (arXiv 2411.10438, lemma 3.4)."""
    m = b1 * state["u"] + b2 * g
    return x - lr * m, dict(u=a1 * state["u"] + a2 * g, m=m)


@rule(memory=("u",), diagnostics=("m",))
def buffer_before_use(x, state, g, *, lr=0.1, a1=0.9, a2=0.1, b1=0.5, b2=0.5):
    r""":math:`u_t = a_1u_{t-1} + a_2g_t,\; m_t = b_1u_t + b_2g_t` (arXiv 2411.10438, lemma D.1)."""
    u = a1 * state["u"] + a2 * g
    m = b1 * u + b2 * g
    return x - lr * m, dict(u=u, m=m)


@rule(memory=("m",), prev="last")
def one_recursion(x, state, g, prev, *, lr=0.1, p=0.9, q=0.1, r=0.1):
    r""":math:`m_t = p\,m_{t-1} + q\,g_t + r\,(g_t - g_{t-1})` (arXiv 2411.10438, lemmas 3.4 and D.1)."""
    m = p * state["m"] + q * g + r * (g - prev)
    return x - lr * m, dict(m=m)
