"""Quasi-hyperbolic momentum."""

from marslab.rule import rule


@rule(memory=("m",), diagnostics=("direction",), estimator=lambda state, g: state["direction"])
def qhm(x, state, g, *, lr=0.01, nu=0.7, beta1=0.999):
    r"""QHM: :math:`e_t = \beta_1 e_{t-1} + (1-\beta_1) g_t,\; x_{t+1} = x_t - \eta_t[(1-\nu) g_t + \nu e_t]`.

    The buffer ``m`` holds :math:`e_t`. Defaults as recommended by the authors. Source: Ma and Yarats, arXiv 1810.06801;
    written from these equations on purpose, so that its equality with approximate MARS at nu = 1 - gamma is a result.
    """
    e = beta1 * state["m"] + (1 - beta1) * g
    direction = (1 - nu) * g + nu * e
    return x - lr * direction, dict(m=e, direction=direction)
