"""STORM: stochastic recursive momentum."""

from marslab.rule import rule


@rule(
    memory=("m",),
    prev="same_sample",
    first="zero",
    why_not="with the last step's gradient its estimate is the gradient itself: that is sgd",
)
def storm(x, state, g, prev, *, lr=0.01, beta1=0.9):
    r"""STORM, :math:`d_t = g(x_t,\xi_t) + (1-a)\,(d_{t-1} - g(x_{t-1},\xi_t)),\; x_{t+1} = x_t - \eta_t d_t`.

    ``beta1`` is :math:`1-a`. The published start :math:`d_1 = g_1` is the convention first = "zero", the default here.
    Claimed rate: :math:`\tilde O(T^{-1/3})` for the gradient norm. Source: Cutkosky and Orabona 2019, arXiv 1905.10018;
    written from that recursion on purpose, so that its equality with MARS at gamma = 1 is a result.
    """
    d = g + beta1 * (state["m"] - prev)
    return x - lr * d, dict(m=d)
