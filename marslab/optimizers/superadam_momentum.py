"""SuperAdam with tau = 0: a momentum of shrinking freshness in Adam's denominator."""

from marslab.optimizers.superadam import bounded
from marslab.rule import rule


@rule(memory=("m", "v"), scalars=("beta2_product",))
def superadam_momentum(x, state, g, *, lr=0.01, k=1e-3, offset=100.0, c=5.0, beta2=0.999, eps=1e-3, t=None):
    r"""SuperAdam, tau = 0, with :math:`\mu_t = k/(m+t)^{1/2}`, :math:`\alpha_t = \min(c\mu_{t-1}, 0.99)`.

    .. math:: g_t^{est} = \alpha_t g_t + (1-\alpha_t) g_{t-1}^{est},\quad
              x_{t+1} = x_t - \mu_t\gamma\, g_t^{est}\big/\big(\sqrt{\hat v_t}+\epsilon\big),\quad g_1^{est} = g_1

    Names as in ``superadam``. One gradient a step. Claimed rate: :math:`\tilde O(T^{-1/4})` for the gradient norm. Source:
    Huang, Li and Huang, arXiv 2106.08208, algorithm 1, with v bias corrected as released.
    """
    mu, before = k * (offset + t).rsqrt(), k * (offset + t - 1).rsqrt()
    alpha = bounded(c * before)
    started = (t > 1) * t / t  # zero at t = 1, one later, in the type of t
    m = g + (1 - alpha) * started * (state["m"] - g)
    v, b2 = beta2 * state["v"] + (1 - beta2) * g * g, state["beta2_product"] * beta2
    return x - lr * mu * (m / ((v / (1 - b2)).sqrt() + eps)), dict(m=m, v=v, beta2_product=b2)
