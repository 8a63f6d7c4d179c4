"""SGD with an exponential moving average."""

from marslab.pieces import ema
from marslab.rule import rule


@rule(memory=("m",))
def momentum(x, state, g, *, lr=0.01, beta1=0.9):
    r"""Momentum as a moving average: :math:`m_t = \beta_1 m_{t-1} + (1-\beta_1) g_t,\; x_{t+1} = x_t - \eta_t m_t`.

    This is MARS at gamma = 0 in either form. Source: arXiv 2411.10438, section 3.
    """
    m = ema(state["m"], g, beta1)
    return x - lr * m, dict(m=m)
