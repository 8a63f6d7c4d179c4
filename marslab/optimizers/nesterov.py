"""Nesterov momentum, as torch's SGD has it."""

from marslab.rule import rule


@rule(memory=("u",), diagnostics=("direction",), estimator=lambda state, g: state["direction"])
def nesterov(x, state, g, *, lr=0.01, beta1=0.9):
    r"""Nesterov momentum, :math:`u_t = \mu u_{t-1} + g_t,\; x_{t+1} = x_t - \eta_t(g_t + \mu u_t)` with mu = ``beta1``.

    The estimate is the step's direction in the scale of a gradient, :math:`(1-\mu)(g_t + \mu u_t)`. Claimed rate of the
    gradient norm: :math:`T^{-1/4}`, as for SGD. Defaults: torch's learning rate is 1e-3, mu = 0.9 is customary. Source:
    arXiv 2411.10438, equations 3.22-3.25; written from these on purpose, so that its equality with approximate MARS at
    gamma = 1 - mu is a result.
    """
    u = beta1 * state["u"] + g
    step = g + beta1 * u
    return x - lr * step, dict(u=u, direction=(1 - beta1) * step)
