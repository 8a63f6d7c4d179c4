"""Lion: the sign of an interpolated momentum."""

from marslab.pieces import ema
from marslab.rule import rule


@rule(memory=("m",))
def lion(x, state, g, *, lr=1e-4, beta1=0.9, beta2=0.99, weight_decay=0.0):
    r"""Lion, :math:`x_{t+1} = x_t - \eta_t(\mathrm{sign}(\beta_1 m_{t-1} + (1-\beta_1)g_t) + \lambda x_t)`.

    The buffer follows afterwards, :math:`m_t = \beta_2 m_{t-1} + (1-\beta_2) g_t`; sign(0) = 0.
    Source: Chen et al., arXiv 2302.06675, algorithm 2; arXiv 2411.10438, equations 3.13-3.14.
    """
    direction = ema(state["m"], g, beta1).sign()
    return x - lr * (direction + weight_decay * x), dict(m=ema(state["m"], g, beta2))
