"""MARS with a plain step: the setting of the theorem."""

from marslab.pieces import correct, ema
from marslab.rule import rule


@rule(memory=("m",), prev="either", diagnostics=("corrected",))
def mars(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    r"""MARS without clip and preconditioner (H = I).

    .. math:: c_t = g_t + \gamma_t\tfrac{\beta_1}{1-\beta_1}(g_t - g'_t),\quad m_t = \beta_1 m_{t-1} + (1-\beta_1) c_t,
              \quad x_{t+1} = x_t - \eta_t m_t

    Claimed: :math:`\frac1T\sum E\|\nabla F(x_t) - m_t\|^2 = O(T^{-2/3}\log T)` in the exact form with beta1 and the step
    size as in ``schedules.theorem``. Source: arXiv 2411.10438, algorithm 1 and theorem B.5.
    """
    c = correct(g, prev, gamma=gamma, beta=beta1)
    m = ema(state["m"], c, beta1)
    return x - lr * m, dict(m=m, corrected=c)
