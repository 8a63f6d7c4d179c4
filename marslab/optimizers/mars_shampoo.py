"""MARS-Shampoo: the orthogonalised average of the corrected gradient."""

import math

from marslab.matrices import mars_released, orthogonal
from marslab.optimizers.mars_adamw import corrected
from marslab.pieces import clip, ema, matrix_shape
from marslab.rule import rule


@rule(
    memory=("m",),
    prev="either",
    diagnostics=("corrected", "clip_scale"),
    matrix=True,
    clipped=corrected,
    presets={"paper": {"clip_radius": math.inf, "orthogonalization": "polar"}},
    options={"orthogonalization": ("newton_schulz", "released", "polar"), "shape_factor": ("none", "original")},
)
def mars_shampoo(
    x,
    state,
    g,
    prev,
    *,
    lr=2e-2,
    gamma=0.025,
    beta1=0.95,
    weight_decay=0.0,
    clip_radius=1.0,
    orthogonalization="newton_schulz",
    shape_factor="none",
    eps=1e-8,
    axes=None,
    norm=None,
):
    r"""MARS-Shampoo (arXiv 2411.10438, algorithm 4; the clip is the released code's, the algorithm box has none).

    .. math:: m_t = \beta_1 m_{t-1} + (1-\beta_1)\tilde c_t,\quad U\Sigma V^\top = m_t,
              \quad x_{t+1} = x_t - \eta_t(UV^\top + \lambda x_t)

    ``orthogonalization``: "newton_schulz" (five steps in the type of x), "released" (the same in bfloat16 of
    :math:`m_t/(1-\beta_1)`, with ``eps`` beside its norm) or "polar" (exact). ``shape_factor`` "original" multiplies it by
    :math:`\sqrt{\max(1, r/c)}`, as the released code does. The event axes are (rows, rest).
    """
    c = corrected(g, prev, gamma=gamma, beta1=beta1)
    clipped, scale = clip(c, clip_radius, axes, norm)
    m = ema(state["m"], clipped, beta1)
    rows, columns = matrix_shape(x, axes)
    factor = max(1, rows / columns) ** 0.5 if shape_factor == "original" else 1.0
    scaled = m * (1 / (1 - beta1)) if orthogonalization == "released" else m
    step = factor * orthogonal(scaled, orthogonalization, axes, lambda matrix: mars_released(matrix, eps))
    return x - lr * (step + weight_decay * x), dict(m=m, corrected=c, clip_scale=scale)
