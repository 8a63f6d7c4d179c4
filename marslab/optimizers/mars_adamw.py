"""MARS-AdamW: the corrected, clipped gradient in AdamW."""

import math

from marslab.pieces import adam_direction, clip, correct, ema
from marslab.rule import rule


def corrected(g, prev, *, gamma, beta1, **_):
    """The tensor whose norm the clip looks at."""
    return correct(g, prev, gamma=gamma, beta=beta1)


@rule(
    memory=("m", "v"),
    scalars=("beta1_product", "beta2_product"),
    prev="either",
    diagnostics=("corrected", "clip_scale"),
    clipped=corrected,
    presets={"paper": {}, "unclipped": {"clip_radius": math.inf}},
    options={"second_moment": ("clipped", "raw")},
)
def mars_adamw(
    x,
    state,
    g,
    prev,
    *,
    lr=3e-3,
    gamma=0.025,
    beta1=0.95,
    beta2=0.99,
    eps=1e-8,
    weight_decay=0.0,
    clip_radius=1.0,
    second_moment="clipped",
    axes=None,
    norm=None,
):
    r"""MARS-AdamW (arXiv 2411.10438, algorithm 2).

    .. math:: \tilde c_t = \mathrm{clip}(c_t, r),\quad m_t = \beta_1 m_{t-1} + (1-\beta_1)\tilde c_t,
              \quad v_t = \beta_2 v_{t-1} + (1-\beta_2)\tilde c_t^2
    .. math:: x_{t+1} = x_t - \eta_t\big(\hat m_t/(\sqrt{\hat v_t} + \epsilon) + \lambda x_t\big)

    ``second_moment``: what v averages, "clipped" c (the paper and the released code) or the "raw" gradient (the released
    README's formula). ``clip_radius = inf`` switches the clip off; the clip is per tensor unless ``norm`` is handed over.
    """
    c = corrected(g, prev, gamma=gamma, beta1=beta1)
    clipped, scale = clip(c, clip_radius, axes, norm)
    squared = g * g if second_moment == "raw" else clipped * clipped
    m, v = ema(state["m"], clipped, beta1), ema(state["v"], squared, beta2)
    b1, b2 = state["beta1_product"] * beta1, state["beta2_product"] * beta2
    direction = adam_direction(m, v, beta1_product=b1, beta2_product=b2, eps=eps)
    new = dict(m=m, v=v, beta1_product=b1, beta2_product=b2, corrected=c, clip_scale=scale)
    return x - lr * (direction + weight_decay * x), new
