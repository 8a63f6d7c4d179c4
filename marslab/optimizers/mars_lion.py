"""MARS-Lion: the sign of the averaged, corrected gradient."""

from marslab.optimizers.mars_adamw import corrected
from marslab.pieces import clip, ema
from marslab.rule import rule


@rule(memory=("m",), prev="either", diagnostics=("corrected", "clip_scale"), clipped=corrected)
def mars_lion(
    x,
    state,
    g,
    prev,
    *,
    lr=3e-4,
    gamma=0.025,
    beta1=0.95,
    weight_decay=0.0,
    clip_radius=1.0,
    axes=None,
    norm=None,
):
    r"""MARS-Lion (arXiv 2411.10438, algorithm 3).

    :math:`m_t = \beta_1 m_{t-1} + (1-\beta_1)\,\mathrm{clip}(c_t, r),\;
    x_{t+1} = x_t - \eta_t(\mathrm{sign}(m_t) + \lambda x_t)`; one beta only, sign(0) = 0.
    """
    c = corrected(g, prev, gamma=gamma, beta1=beta1)
    clipped, scale = clip(c, clip_radius, axes, norm)
    m = ema(state["m"], clipped, beta1)
    return x - lr * (m.sign() + weight_decay * x), dict(m=m, corrected=c, clip_scale=scale)
