"""SuperAdam with tau = 1: STORM's estimate in Adam's denominator."""

from marslab.pieces import power
from marslab.rule import rule


def bounded(alpha):
    """The weight of the fresh gradient, at most 0.99 as released."""
    return alpha.clamp(max=0.99) if hasattr(alpha, "clamp") else min(alpha, 0.99)


@rule(
    memory=("m", "v"),
    scalars=("beta2_product",),
    prev="same_sample",
    first="zero",
    why_not="its theorem needs both gradients on one sample; superadam_momentum is the one-gradient form",
)
def superadam(x, state, g, prev, *, lr=0.01, k=1e-3, offset=100.0, c=5.0, beta2=0.999, eps=1e-3, t=None):
    r"""SuperAdam, tau = 1, with :math:`\mu_t = k/(m+t)^{1/3}`, :math:`\alpha_t = \min(c\mu_{t-1}^2, 0.99)`.

    .. math:: g_t^{est} = \alpha_t g_t + (1-\alpha_t)\big[g_{t-1}^{est} + g(x_t,\xi_t) - g(x_{t-1},\xi_t)\big],\quad
              x_{t+1} = x_t - \mu_t\gamma\, g_t^{est}\big/\big(\sqrt{\hat v_t}+\epsilon\big)

    ``lr`` is the paper's gamma, ``offset`` its m; v averages the raw :math:`g^2`, bias corrected as released. The start
    is g_1 (first = "zero"). Claimed rate: :math:`\tilde O(T^{-1/3})` for the gradient norm. Defaults as released: gamma 0.01,
    k 1e-3, m 100, c 5, beta 0.999, eps 1e-3. Source: Huang, Li and Huang, arXiv 2106.08208, algorithm 1. Released versions
    bound alpha by 0.99 above or by 0.7 below; the former is taken.
    """
    mu, before = k * power(offset + t, -1 / 3), k * power(offset + t - 1, -1 / 3)
    alpha = bounded(c * before * before)
    m = alpha * g + (1 - alpha) * (state["m"] + g - prev)
    v, b2 = beta2 * state["v"] + (1 - beta2) * g * g, state["beta2_product"] * beta2
    return x - lr * mu * (m / ((v / (1 - b2)).sqrt() + eps)), dict(m=m, v=v, beta2_product=b2)
