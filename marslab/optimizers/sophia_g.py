"""Sophia-G: momentum over a Gauss-Newton-Bartlett estimate of the Hessian's diagonal, clipped."""

import torch

from marslab.pieces import ema
from marslab.rule import rule


@rule(memory=("m", "h"), hess="gauss_newton")
def sophia_g(x, state, g, *, hess, lr=1e-4, beta1=0.965, beta2=0.99, rho=0.04, eps=1e-12, weight_decay=0.1, period=10, t=None):
    r"""Sophia with ``hess`` = :math:`b\,\hat g\odot\hat g`, the gradient with labels drawn from the model.

    .. math:: m_t = \beta_1 m_{t-1} + (1-\beta_1) g_t,\quad h_t = \beta_2 h_{t-k} + (1-\beta_2)\hat h_t
              \text{ if } t \bmod k = 1,\text{ else } h_{t-1}
    .. math:: x_{t+1} = x_t - \eta_t\Big(\mathrm{clip}\big(m_t / \max(\rho h_t, \epsilon), 1\big) + \lambda x_t\Big)

    k = ``period``; the clip is taken entry by entry. Only a local, convex analysis is claimed. Defaults: rho = 0.04, beta =
    (0.965, 0.99), every 10 steps, decay 0.1. Source: Liu et al., arXiv 2305.14342, algorithm 3; the released optimizer has
    the same form with 1e-15 added.
    """
    m = ema(state["m"], g, beta1)
    h = torch.where((t - 1) % period == 0, ema(state["h"], hess, beta2), state["h"])
    step = (m / (rho * h).clamp(min=eps)).clamp(-1, 1)
    return x - lr * (step + weight_decay * x), dict(m=m, h=h)
