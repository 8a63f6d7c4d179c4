"""SVRG: the gradient, corrected by what its sample says at a snapshot."""

from marslab.rule import rule


@rule(prev="snapshot", diagnostics=("estimate",), estimator=lambda state, g: state["estimate"])
def svrg(x, state, g, prev, *, full, lr=0.01, period=50, large=50):
    r"""SVRG, :math:`v_t = g(x_t,\xi_t) - g(\tilde x,\xi_t) + \nabla F(\tilde x),\; x_{t+1} = x_t - \eta v_t`.

    The snapshot is the point of every ``period``-th step; its gradient runs over all rows, or is the mean of ``large``
    fresh gradients where the problem is no finite sum. Claimed: :math:`O(n + n^{2/3}\epsilon^{-2})` gradients (nonconvex
    finite sums, Reddi et al. 2016). There are no published defaults. Source: Johnson and Zhang 2013; arXiv 2411.10438.
    """
    v = g - prev + full
    return x - lr * v, dict(estimate=v)
