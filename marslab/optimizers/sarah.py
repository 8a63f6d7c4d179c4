"""SARAH: a path of gradient differences, restarted from the full gradient."""

import torch

from marslab.rule import rule


@rule(memory=("m",), prev="same_sample", why_not="without the same sample its differences are noise that is never forgotten")
def sarah(x, state, g, prev, *, full, lr=0.01, period=50, large=50, t=None):
    r"""SARAH, :math:`v_t = g(x_t,\xi_t) - g(x_{t-1},\xi_t) + v_{t-1},\; x_{t+1} = x_t - \eta v_t`.

    Every ``period`` steps :math:`v_t = \nabla F(x_t)`: over all rows, or the mean of ``large`` fresh gradients where the
    problem is no finite sum. Claimed: :math:`O(n + \sqrt n\,\epsilon^{-2})` gradients (nonconvex finite sums). There are no
    published defaults. Source: Nguyen et al., arXiv 1703.00102, algorithm 1; the recursion is also arXiv 2411.10438's.
    """
    v = torch.where((t - 1) % period == 0, full, g - prev + state["m"])
    return x - lr * v, dict(m=v)
