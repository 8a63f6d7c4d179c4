"""Cautious Lion: Lion without the coordinates that disagree with the gradient."""

from marslab.pieces import ema
from marslab.rule import rule


@rule(memory=("m",))
def cautious_lion(x, state, g, *, lr=1e-4, beta1=0.9, beta2=0.99, eps=1e-8, weight_decay=0.0, axes=None):
    r"""Lion whose step :math:`u_t = \mathrm{sign}(\beta_1 m_{t-1} + (1-\beta_1) g_t)` is masked by agreement with g.

    .. math:: \phi_t = 1[u_t \odot g_t > 0],\quad
              x_{t+1} = x_t - \eta_t\Big(\frac{\phi_t \odot u_t}{\mathrm{mean}(\phi_t) + \epsilon} + \lambda x_t\Big)

    The mean runs over one tensor. Claimed: the loss decreases along the continuous flow. Defaults as for Lion. Source: Liang
    et al., arXiv 2411.16085, algorithm 1 (another box adds 1 to the count of agreeing entries, and released code bounds the
    mean below by 1e-3). Not ``clion``.
    """
    u = ema(state["m"], g, beta1).sign()
    agree = (u * g > 0).to(g.dtype)
    share = agree if axes == () else agree.mean() if axes is None else agree.mean(dim=axes, keepdim=True)
    return x - lr * (u * agree / (share + eps) + weight_decay * x), dict(m=ema(state["m"], g, beta2))
