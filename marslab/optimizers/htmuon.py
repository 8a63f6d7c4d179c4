"""HTMuon: a small power of the momentum's singular values instead of ones."""

import math

from marslab.pieces import ema, matrix_shape, singular_power
from marslab.rule import rule


@rule(memory=("m",), matrix=True, diagnostics=("direction",), estimator=lambda state, g: state["direction"])
def htmuon(x, state, g, *, lr=2e-2, beta1=0.95, power=0.125, weight_decay=0.0, axes=None):
    r"""HTMuon: :math:`m_t = \beta_1 m_{t-1} + (1-\beta_1)g_t`, :math:`U\Sigma V^\top = (1-\beta_1)g_t + \beta_1 m_t`.

    .. math:: x_{t+1} = x_t - \eta_t\big(\sqrt{\max(1, A/B)}\;U\Sigma^pV^\top + \lambda x_t\big),\quad 0 < p < 1

    p = ``power``, A and B rows and columns; p -> 0 is Muon. Claimed: steepest descent under a Schatten norm, and convergence
    for smooth nonconvex F. Defaults: p = 1/8, beta1 = 0.95; lr as for Muon. Source: Pang et al., arXiv 2603.10067, and the
    authors' released optimizer, which computes the power by an SVD as here, or by Newton-Schulz.
    """
    m = ema(state["m"], g, beta1)
    direction = ema(m, g, beta1)
    rows, columns = matrix_shape(x, axes)
    step = math.sqrt(max(1.0, rows / columns)) * singular_power(direction, power, axes)
    return x - lr * (step + weight_decay * x), dict(m=m, direction=direction)
