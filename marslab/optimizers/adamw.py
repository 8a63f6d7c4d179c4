"""AdamW: Adam with decoupled weight decay."""

from marslab.pieces import adam_direction, ema
from marslab.rule import rule


@rule(memory=("m", "v"), scalars=("beta1_product", "beta2_product"))
def adamw(x, state, g, *, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    r"""AdamW, :math:`x_{t+1} = x_t - \eta_t\big(\hat m_t/(\sqrt{\hat v_t}+\epsilon) + \lambda x_t\big)`.

    m and v average :math:`g_t` and :math:`g_t^2`, both bias corrected. Defaults as in torch.
    Source: Loshchilov and Hutter, arXiv 1711.05101, algorithm 2.
    """
    m, v = ema(state["m"], g, beta1), ema(state["v"], g * g, beta2)
    b1, b2 = state["beta1_product"] * beta1, state["beta2_product"] * beta2
    direction = adam_direction(m, v, beta1_product=b1, beta2_product=b2, eps=eps)
    return x - lr * (direction + weight_decay * x), dict(m=m, v=v, beta1_product=b1, beta2_product=b2)
