"""Stochastic gradient descent."""

from marslab.rule import rule


@rule()
def sgd(x, state, g, *, lr=0.01):
    r"""Plain SGD, :math:`x_{t+1} = x_t - \eta_t g_t`.

    Claimed rate of the gradient norm: :math:`T^{-1/4}` (optimal for one gradient a step). Source: arXiv 2411.10438, section 2.
    """
    return x - lr * g, {}
