"""Moonlight's Muon: orthogonalised Nesterov momentum in AdamW's size, with decay."""

import math

from marslab.matrices import moonlight_released, orthogonal
from marslab.pieces import matrix_shape
from marslab.rule import rule


@rule(
    memory=("u",),
    matrix=True,
    diagnostics=("direction",),
    estimator=lambda state, g: state["direction"],
    options={"orthogonalization": ("newton_schulz", "released", "polar")},
)
def moonlight(x, state, g, *, lr=1e-3, beta1=0.95, weight_decay=0.1, orthogonalization="newton_schulz", axes=None):
    r"""Muon as in Moonlight: :math:`u_t = \mu u_{t-1} + g_t`, O the orthogonalised :math:`g_t + \mu u_t`, mu = ``beta1``.

    .. math:: x_{t+1} = x_t - \eta_t\big(0.2\sqrt{\max(A,B)}\,O_t + \lambda x_t\big)

    A and B are rows and columns. The estimate is :math:`(1-\mu)(g_t + \mu u_t)`. Claimed rate: :math:`\tilde O(T^{-1/4})`.
    Defaults: lr 1e-3, mu 0.95, decay 0.1, five Newton-Schulz steps in the type of x; ``orthogonalization`` "released" takes
    them in bfloat16 in the order of the authors' code. Source: Liu et al., arXiv 2502.16982, section 2.2, and that code.
    """
    u = beta1 * state["u"] + g
    m = g + beta1 * u
    step = 0.2 * math.sqrt(max(matrix_shape(x, axes))) * orthogonal(m, orthogonalization, axes, moonlight_released)
    return x - lr * (step + weight_decay * x), dict(u=u, direction=(1 - beta1) * m)
