"""AMSGrad: AdamW that divides by the largest second moment so far."""

import torch

from marslab.pieces import adam_direction, ema
from marslab.rule import rule


@rule(memory=("m", "v", "v_max"), scalars=("beta1_product", "beta2_product"))
def amsgrad(x, state, g, *, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    r"""AdamW with :math:`v^{max}_t = \max(v^{max}_{t-1}, v_t)` in place of :math:`v_t`.

    The maximum runs before the bias correction; everything else as in ``adamw``, torch and the released MARS.
    Source: Reddi, Kale and Kumar, arXiv 1904.09237.
    """
    m, v = ema(state["m"], g, beta1), ema(state["v"], g * g, beta2)
    v_max = torch.maximum(state["v_max"], v)
    b1, b2 = state["beta1_product"] * beta1, state["beta2_product"] * beta2
    direction = adam_direction(m, v_max, beta1_product=b1, beta2_product=b2, eps=eps)
    return x - lr * (direction + weight_decay * x), dict(m=m, v=v, v_max=v_max, beta1_product=b1, beta2_product=b2)
