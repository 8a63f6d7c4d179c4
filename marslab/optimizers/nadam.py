"""NAdam: Adam with Nesterov's numerator."""

import math

from marslab.rule import rule


def momenta(t, beta1, decay, warm_up, like):
    """mu_t and mu_{t+1}, in the dtype of ``like``."""
    if warm_up == "constant":
        return beta1, beta1
    powers = [(math.log(0.96) * (s * decay)).exp().to(like.dtype) for s in (t, t + 1)]
    return [beta1 * (1 - 0.5 * p) for p in powers]


@rule(
    memory=("m", "v"),
    scalars=("mu_product", "beta2_product"),
    diagnostics=("direction",),
    estimator=lambda state, g: state["direction"],
    options={"warm_up": ("dozat", "constant")},
)
def nadam(
    x,
    state,
    g,
    *,
    lr=2e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.0,
    momentum_decay=4e-3,
    warm_up="dozat",
    t=None,
):
    r"""NAdam, m and v the averages of g and g^2, :math:`\mu_t = \beta_1(1 - \tfrac12\, 0.96^{t\psi})`.

    .. math:: x_{t+1} = (1 - \eta\lambda)x_t - \eta\Big[\frac{(1-\mu_t) g_t}{1-\prod_{i\le t}\mu_i}
              + \frac{\mu_{t+1} m_t}{1-\prod_{i\le t+1}\mu_i}\Big]\Big/\big(\sqrt{\hat v_t} + \epsilon\big)

    psi = ``momentum_decay``; ``warm_up="constant"`` takes mu = beta1 throughout. The estimate is the numerator without its
    bias corrections, :math:`(1-\mu_t)g_t + \mu_{t+1}m_t`. No rate beyond Adam's is claimed. Defaults as in torch, whose
    decoupled decay this is. Source: Dozat 2016 (no arXiv number), in torch's form, which the tests compare with.
    """
    now, later = momenta(t, beta1, momentum_decay, warm_up, like=g)
    m, v = beta1 * state["m"] + (1 - beta1) * g, beta2 * state["v"] + (1 - beta2) * g * g
    product, b2 = state["mu_product"] * now, state["beta2_product"] * beta2
    numerator = (1 - now) * g / (1 - product) + later * m / (1 - product * later)
    step = numerator / ((v / (1 - b2)).sqrt() + eps) + weight_decay * x
    return x - lr * step, dict(m=m, v=v, mu_product=product, beta2_product=b2, direction=(1 - now) * g + later * m)
