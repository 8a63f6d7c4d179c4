"""MARS-M without a buffer for the last gradient: the memory-efficient form."""

import math

from marslab.matrices import moonlight_released, orthogonal
from marslab.pieces import matrix_shape
from marslab.rule import rule


@rule(
    memory=("b",),
    matrix=True,
    diagnostics=("direction",),
    estimator=lambda state, g: state["direction"],
    options={"orthogonalization": ("newton_schulz", "released", "polar")},
)
def mars_m_efficient(
    x, state, g, *, lr=1e-3, gamma=0.025, beta1=0.95, weight_decay=0.1, orthogonalization="newton_schulz", axes=None
):
    r"""Approximate MARS-M from one buffer, :math:`b_t = \beta_1 b_{t-1} + (1-\gamma)\frac{1-\beta_1}{\beta_1} g_t`.

    .. math:: m_t = \gamma g_t + \beta_1 b_t,\quad x_{t+1} = x_t - \eta_t\big(0.2\sqrt{\max(A,B)}\,O_t + \lambda x_t\big)

    O is the orthogonalised m. It never clips, needs beta1 > 0, and equals ``mars_m`` in the approximate form without a clip
    from first = "zero" while gamma and beta1 are constant. Claims, defaults and ``orthogonalization`` as for ``mars_m``.
    Source: the released code of Liu, Yuan and Gu, arXiv 2510.21800; written from these lines on purpose, so that the
    equality is a result.
    """
    b = beta1 * state["b"] + (1 - gamma) * ((1 - beta1) / beta1) * g
    m = gamma * g + beta1 * b
    step = 0.2 * math.sqrt(max(matrix_shape(x, axes))) * orthogonal(m, orthogonalization, axes, moonlight_released)
    return x - lr * (step + weight_decay * x), dict(b=b, direction=m)
