"""STORM+: recursive momentum with no constants to set."""

import torch

from marslab.pieces import power, squared_norm
from marslab.rule import rule


@rule(
    memory=("m", "gradients", "steps"),
    prev="same_sample",
    first="zero",
    why_not="with the last step's gradient its estimate is the gradient itself: that is sgd",
    uncertain="where the step's sum starts: here at 0, in a public implementation at 1",
)
def storm_plus(x, state, g, prev, *, lr=1.0, axes=None):
    r"""STORM with :math:`a_{t+1} = (1 + \sum_{i\le t}\|g_i\|^2)^{-2/3}`, and step :math:`\eta_t`.

    .. math:: \eta_t = \Big(\sum_{i\le t}\|d_i\|^2/a_{i+1}\Big)^{-1/3}
    .. math:: d_t = g(x_t,\xi_t) + (1-a_t)(d_{t-1} - g(x_{t-1},\xi_t)),\quad x_{t+1} = x_t - \eta_t d_t,\quad a_1 = 1

    ``lr`` multiplies :math:`\eta_t`; the published method has 1 and nothing to set. Norms are taken tensor by tensor. A sum
    of zero leaves x where it is. Claimed rate: :math:`O(T^{-1/3})` for the gradient norm. Source: Levy, Kavis and Cevher,
    arXiv 2111.01040; the formulas are recalled and agree with a public implementation but for the start of the sum.
    """
    freshness = power(1 + state["gradients"], -2 / 3)
    gradients = state["gradients"] + squared_norm(g, axes)
    d = g + (1 - freshness) * (state["m"] - prev)
    steps = state["steps"] + squared_norm(d, axes) * power(1 + gradients, 2 / 3)
    eta = power(torch.where(steps > 0, steps, 1.0), -1 / 3)
    return x - lr * eta * d, dict(m=d, gradients=gradients, steps=steps)
