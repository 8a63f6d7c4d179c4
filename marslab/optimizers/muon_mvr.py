"""Muon-MVR: Muon with momentum variance reduction, on one or two gradients a step."""

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
    uncertain="the schedules of its theorems (1 - beta and lr as t^(-2/3) for MVR2) are recalled",
)
def muon_mvr(
    x,
    state,
    g,
    prev,
    *,
    lr=3e-3,
    gamma=0.025,
    beta1=0.95,
    weight_decay=0.1,
    clip_radius=1.0,
    orthogonalization="newton_schulz",
    axes=None,
    norm=None,
):
    r"""Muon-MVR on a matrix of A rows and B columns, O the orthogonalised m.

    .. math:: m_t = \beta_1 m_{t-1} + (1-\beta_1)\,\mathrm{clip}(c_t, r),\quad
              x_{t+1} = x_t - \eta_t\big(0.2\sqrt{\max(A,B)}\,O_t + \lambda x_t\big)

    c is the corrected gradient of MARS. In the approximate form this is MVR1 (theory for :math:`\gamma_t = t^{-1/2}`, a
    schedule), in the exact form MVR2 (theory for gamma = 1). Claimed rates: :math:`\tilde O(T^{-1/4})` and :math:`\tilde
    O(T^{-1/3})`. Defaults as released: lr 3e-3, beta1 0.95, gamma 0.025, decay 0.1. Source: Chang, Liu and Yuan, arXiv
    2509.15816; the same step as ``mars_m``, with its ``orthogonalization`` ("released" is Moonlight's bfloat16 code).
    """
    c = corrected(g, prev, gamma=gamma, beta1=beta1)
    clipped, scale = clip(c, clip_radius, axes, norm)
    m = ema(state["m"], clipped, beta1)
    step = 0.2 * math.sqrt(max(matrix_shape(x, axes))) * orthogonal(m, orthogonalization, axes, moonlight_released)
    return x - lr * (step + weight_decay * x), dict(m=m, corrected=c, clip_scale=scale)
