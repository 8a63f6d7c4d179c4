"""Signum: the sign of the momentum."""

from marslab.pieces import ema
from marslab.rule import rule


@rule(memory=("m",))
def signum(x, state, g, *, lr=1e-4, beta1=0.9, weight_decay=0.0):
    r"""Signum, :math:`m_t = \beta_1 m_{t-1} + (1-\beta_1) g_t,\; x_{t+1} = x_t - \eta_t(\mathrm{sign}(m_t) + \lambda x_t)`.

    sign(0) = 0. Claimed rate: :math:`T^{-1/4}` for the l1 norm of the gradient, with batches that grow. Defaults: lr 1e-4,
    beta1 = 0.9. Source: Bernstein et al., arXiv 1802.04434, algorithm 2. Equal to MARS-Lion at gamma = 0 without a clip.
    """
    m = ema(state["m"], g, beta1)
    return x - lr * (m.sign() + weight_decay * x), dict(m=m)
