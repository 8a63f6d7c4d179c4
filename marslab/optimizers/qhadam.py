"""QHAdam: quasi-hyperbolic averages in both places of Adam."""

from marslab.rule import rule


@rule(
    memory=("m", "v"),
    scalars=("beta1_product", "beta2_product"),
    diagnostics=("direction",),
    estimator=lambda state, g: state["direction"],
)
def qhadam(x, state, g, *, lr=1e-3, nu=0.7, nu2=1.0, beta1=0.995, beta2=0.999, eps=1e-8, weight_decay=0.0):
    r"""QHAdam, with the bias-corrected averages :math:`\hat m_t` of g and :math:`\hat v_t` of g^2.

    .. math:: x_{t+1} = x_t - \eta\Big[\frac{(1-\nu_1)g_t + \nu_1\hat m_t}
              {\sqrt{(1-\nu_2)g_t^2 + \nu_2\hat v_t} + \epsilon} + \lambda x_t\Big]

    ``nu`` is nu_1. The estimate is the numerator. No rate is claimed beyond Adam's. Defaults as the authors recommend:
    nu = (0.7, 1.0), beta = (0.995, 0.999). Source: Ma and Yarats, arXiv 1810.06801, section 4; decay decoupled.
    """
    m, v = beta1 * state["m"] + (1 - beta1) * g, beta2 * state["v"] + (1 - beta2) * g * g
    b1, b2 = state["beta1_product"] * beta1, state["beta2_product"] * beta2
    numerator = (1 - nu) * g + nu * m / (1 - b1)
    denominator = ((1 - nu2) * g * g + nu2 * v / (1 - b2)).sqrt() + eps
    new = dict(m=m, v=v, beta1_product=b1, beta2_product=b2, direction=numerator)
    return x - lr * (numerator / denominator + weight_decay * x), new
