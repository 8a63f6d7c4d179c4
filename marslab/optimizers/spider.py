"""SPIDER: a path of gradient differences, restarted from a large batch."""

import torch

from marslab.pieces import squared_norm
from marslab.rule import rule


@rule(
    memory=("m",),
    prev="same_sample",
    why_not="without the same sample its differences are noise that is never forgotten",
    large_batch=True,
    uncertain="the constants of its theorem are recalled; batches, period and step are free here",
)
def spider(x, state, g, prev, *, lr=0.1, radius=0.01, period=50, large=50, t=None, axes=None):
    r"""SPIDER, :math:`v_t = g(x_t,\xi_t) - g(x_{t-1},\xi_t) + v_{t-1}`, restarted at :math:`v_t = g_t` every q steps.

    .. math:: x_{t+1} = x_t - \min\Big(\eta,\ \frac{r}{\|v_t\|}\Big) v_t

    q = ``period``; there g is the mean of ``large`` fresh gradients. eta = ``lr`` is the paper's :math:`1/(2Ln_0)`, r =
    ``radius`` its :math:`\epsilon/(Ln_0)`, a step of bounded length; radius = inf takes plain steps. Claimed:
    :math:`O(\min(\sqrt n\,\epsilon^{-2}, \epsilon^{-3}))` gradients. There are no published defaults: batches and period
    follow from sigma and epsilon. Source: Fang et al., arXiv 1807.01695, algorithm 1.
    """
    restart = (t - 1) % period == 0
    v = torch.where(restart, g, g - prev + state["m"])
    size = squared_norm(v, axes).sqrt()
    return x - torch.minimum(lr + 0 * size, radius / size) * v, dict(m=v)
