"""Adan: adaptive Nesterov momentum."""

from marslab.rule import rule


@rule(
    memory=("m", "d", "n"),
    scalars=("beta1_product", "beta2_product", "beta3_product"),
    prev="last",
    why_not="it averages differences of the gradients it has met",
    diagnostics=("direction",),
    estimator=lambda state, g: state["direction"],
    options={"decay": ("proximal", "decoupled")},
)
def adan(x, state, g, prev, *, lr=1e-3, beta1=0.98, beta2=0.92, beta3=0.99, eps=1e-8, weight_decay=0.0, decay="proximal"):
    r"""Adan, with m the average of g, d of :math:`g_t - g_{t-1}`, n of :math:`[g_t + \beta_2(g_t - g_{t-1})]^2`.

    .. math:: x_{t+1} = \frac1{1+\lambda\eta}\Big[x_t - \eta\,\frac{\hat m_t + \beta_2\hat d_t}{\sqrt{\hat n_t}+\epsilon}\Big]

    All three are bias corrected and the first difference is zero (first = "equal"). ``decay="decoupled"`` multiplies by
    :math:`1-\lambda\eta` instead. The betas are what is retained. The estimate is :math:`m_t + \beta_2 d_t`. Claimed:
    :math:`O(\epsilon^{-4})` gradients, :math:`O(\epsilon^{-3.5})` with a Lipschitz Hessian. Defaults: (0.98, 0.92, 0.99),
    eps 1e-8. Source: Xie et al., arXiv 2208.06677, algorithm 1; details as in the authors' released optimizer.
    """
    gap = g - prev
    mixed = g + beta2 * gap
    m, d = beta1 * state["m"] + (1 - beta1) * g, beta2 * state["d"] + (1 - beta2) * gap
    n = beta3 * state["n"] + (1 - beta3) * mixed * mixed
    b1, b2, b3 = (state[f"beta{k}_product"] * beta for k, beta in ((1, beta1), (2, beta2), (3, beta3)))
    step = lr * (m / (1 - b1) + beta2 * d / (1 - b2)) / ((n / (1 - b3)).sqrt() + eps)
    shrunk = (x - step) / (1 + lr * weight_decay) if decay == "proximal" else x * (1 - lr * weight_decay) - step
    return shrunk, dict(m=m, d=d, n=n, beta1_product=b1, beta2_product=b2, beta3_product=b3, direction=m + beta2 * d)
