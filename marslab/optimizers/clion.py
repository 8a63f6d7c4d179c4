"""CLion: Lion that takes the sign only where all entries are large enough."""

import torch

from marslab.pieces import ema
from marslab.rule import rule


@rule(memory=("m",), uncertain="no published default of the threshold was found")
def clion(x, state, g, *, lr=1e-4, beta1=0.9, beta2=0.99, threshold=1e-6, weight_decay=0.0, axes=None):
    r"""Lion with :math:`h(c) = \mathrm{sign}(c)` if :math:`\min_{j: c_j\ne0}|c_j| \ge \nu`, else :math:`h(c) = c`.

    .. math:: c_t = \beta_1 m_{t-1} + (1-\beta_1) g_t,\quad x_{t+1} = x_t - \eta_t(h(c_t) + \lambda x_t),\quad
              m_t = \beta_2 m_{t-1} + (1-\beta_2) g_t

    nu = ``threshold``; the minimum runs over one tensor. Claimed: generalisation O(1/N), and :math:`O(\sqrt d\,T^{-1/4})` for
    the l1 norm. Betas as for Lion; the threshold's default is ours. Source: Huang, Zhang and Chen, arXiv 2604.14587
    (abstract and a second description agree on h).
    """
    c = ema(state["m"], g, beta1)
    sizes = torch.where(c == 0, torch.inf, c.abs())
    smallest = sizes if axes == () else sizes.amin() if axes is None else sizes.amin(dim=axes, keepdim=True)
    direction = torch.where(smallest >= threshold, c.sign(), c)
    return x - lr * (direction + weight_decay * x), dict(m=ema(state["m"], g, beta2))
