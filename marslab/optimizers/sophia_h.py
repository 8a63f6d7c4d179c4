"""Sophia-H: momentum over a Hutchinson estimate of the Hessian's diagonal, clipped."""

import torch

from marslab.pieces import ema
from marslab.rule import rule


@rule(memory=("m", "h"), hess="hutchinson")
def sophia_h(x, state, g, *, hess, lr=1e-4, beta1=0.965, beta2=0.99, rho=0.01, eps=1e-12, weight_decay=0.1, period=10, t=None):
    r"""Sophia with ``hess`` = :math:`u\odot\nabla^2 f(x,\xi)u` with fair signs u.

    .. math:: m_t = \beta_1 m_{t-1} + (1-\beta_1) g_t,\quad h_t = \beta_2 h_{t-k} + (1-\beta_2)\hat h_t
              \text{ if } t \bmod k = 1,\text{ else } h_{t-1}
    .. math:: x_{t+1} = x_t - \eta_t\Big(\mathrm{clip}\big(m_t / \max(\rho h_t, \epsilon), 1\big) + \lambda x_t\Big)

    The paper draws normal u; both are unbiased. k = ``period``; the clip is taken entry by entry. Only a local, convex
    analysis is claimed. Defaults: rho = 0.01, beta = (0.965, 0.99), every 10 steps, decay 0.1. Source: Liu et al., arXiv
    2305.14342, algorithm 3; the released Sophia-H adds eps instead and also corrects m's bias.
    """
    m = ema(state["m"], g, beta1)
    h = torch.where((t - 1) % period == 0, ema(state["h"], hess, beta2), state["h"])
    step = (m / (rho * h).clamp(min=eps)).clamp(-1, 1)
    return x - lr * (step + weight_decay * x), dict(m=m, h=h)
