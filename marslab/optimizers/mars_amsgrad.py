"""MARS-AdamW that divides by the largest second moment so far."""

import math

import torch

from marslab.optimizers.mars_adamw import corrected
from marslab.pieces import adam_direction, clip, ema
from marslab.rule import rule


@rule(
    memory=("m", "v", "v_max"),
    scalars=("beta1_product", "beta2_product"),
    prev="either",
    diagnostics=("corrected", "clip_scale"),
    clipped=corrected,
    presets={"unclipped": {"clip_radius": math.inf}},
    options={"second_moment": ("clipped", "raw")},
)
def mars_amsgrad(
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
    r"""MARS-AdamW with :math:`v^{max}_t = \max(v^{max}_{t-1}, v_t)` in place of :math:`v_t`.

    The maximum runs before the bias correction, as the option amsgrad of the released code has it; everything else as in
    ``mars_adamw``. Source: arXiv 2411.10438, algorithm 2, and arXiv 1904.09237.
    """
    c = corrected(g, prev, gamma=gamma, beta1=beta1)
    clipped, scale = clip(c, clip_radius, axes, norm)
    squared = g * g if second_moment == "raw" else clipped * clipped
    m, v = ema(state["m"], clipped, beta1), ema(state["v"], squared, beta2)
    v_max = torch.maximum(state["v_max"], v)
    b1, b2 = state["beta1_product"] * beta1, state["beta2_product"] * beta2
    direction = adam_direction(m, v_max, beta1_product=b1, beta2_product=b2, eps=eps)
    new = dict(m=m, v=v, v_max=v_max, beta1_product=b1, beta2_product=b2, corrected=c, clip_scale=scale)
    return x - lr * (direction + weight_decay * x), new
