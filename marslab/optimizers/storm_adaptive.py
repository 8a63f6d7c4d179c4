"""Adaptive STORM: its step and its momentum from gradient norms, or from a known noise level."""

from marslab.pieces import power, squared_norm
from marslab.rule import rule


def step_size(lr, floor, total):
    """eta = k / (w + sum)^(1/3)."""
    return lr * power(floor + total, -1 / 3)


@rule(
    memory=("m", "total"),
    prev="same_sample",
    first="zero",
    why_not="with the last step's gradient its estimate is the gradient itself: that is sgd",
    options={"adapt": ("gradients", "sigma")},
)
def storm_adaptive(x, state, g, prev, *, lr=0.1, floor=0.1, c=10.0, deviation=1.0, adapt="gradients", axes=None):
    r"""STORM with :math:`\eta_t = k/(w + \sum_{i\le t} G_i^2)^{1/3}`, :math:`G_i = \|g_i\|`, and :math:`a_{t+1} = c\,\eta_t^2`.

    .. math:: d_t = g(x_t,\xi_t) + (1-a_t)(d_{t-1} - g(x_{t-1},\xi_t)),\quad x_{t+1} = x_t - \eta_t d_t,\quad d_1 = g_1

    k = ``lr``, w = ``floor``; a is at most 1. ``adapt="sigma"`` is the form for a known noise level,
    :math:`\eta_t = k/(w + \sigma^2 t)^{1/3}` with sigma = ``deviation``. Norms are taken tensor by tensor. Claimed:
    :math:`E\|\nabla F\| = \tilde O(T^{-1/2} + \sigma^{1/3}T^{-1/3})`. Defaults: k = w = 0.1 as in the paper's experiments,
    which sweep c; 10 is ours. Source: Cutkosky and Orabona, arXiv 1905.10018, algorithm 1 and section 3.
    """
    more = squared_norm(g, axes) if adapt == "gradients" else deviation * deviation
    total = state["total"] + more
    a = (c * step_size(lr, floor, state["total"]) ** 2).clamp(max=1)
    d = g + (1 - a) * (state["m"] - prev)
    return x - step_size(lr, floor, total) * d, dict(m=d, total=total)
