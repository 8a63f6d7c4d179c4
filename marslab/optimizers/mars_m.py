"""MARS-M: the orthogonalised average of the corrected gradient, in AdamW's size."""

import math

from marslab.matrices import moonlight_released, orthogonal
from marslab.optimizers.mars_adamw import corrected
from marslab.pieces import clip, ema, matrix_shape
from marslab.rule import rule


@rule(
    memory=("m",),
    prev="either",
    diagnostics=("corrected", "clip_scale"),
    matrix=True,
    clipped=corrected,
    options={"orthogonalization": ("newton_schulz", "released", "polar")},
)
def mars_m(
    x,
    state,
    g,
    prev,
    *,
    lr=1e-3,
    gamma=0.025,
    beta1=0.95,
    weight_decay=0.1,
    clip_radius=1.0,
    orthogonalization="newton_schulz",
    axes=None,
    norm=None,
):
    r"""MARS-M on a matrix of A rows and B columns, O the orthogonalised m.

    .. math:: m_t = \beta_1 m_{t-1} + (1-\beta_1)\,\mathrm{clip}(c_t, r),\quad
              x_{t+1} = x_t - \eta_t\big(0.2\sqrt{\max(A,B)}\,O_t + \lambda x_t\big)

    c is the corrected gradient of MARS. Claimed rate of the exact form: :math:`\tilde O(T^{-1/3})` against :math:`\tilde
    O(T^{-1/4})` for Muon. Defaults: lr 1e-3, beta1 0.95, gamma 0.025, decay 0.1. Source: Liu, Yuan and Gu, arXiv
    2510.21800, algorithm 1, and the released code, which always clips. ``orthogonalization``: "newton_schulz" (five steps in
    the type of x), "released" (the same in bfloat16, as in their code, which is Moonlight's) or "polar" (exact).
    """
    c = corrected(g, prev, gamma=gamma, beta1=beta1)
    clipped, scale = clip(c, clip_radius, axes, norm)
    m = ema(state["m"], clipped, beta1)
    step = 0.2 * math.sqrt(max(matrix_shape(x, axes))) * orthogonal(m, orthogonalization, axes, moonlight_released)
    return x - lr * (step + weight_decay * x), dict(m=m, corrected=c, clip_scale=scale)
