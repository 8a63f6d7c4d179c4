"""Alpha-SVRG: SVRG whose correction is scaled, the ancestor of MARS's gamma."""

from marslab.rule import rule


@rule(
    prev="snapshot",
    diagnostics=("estimate",),
    estimator=lambda state, g: state["estimate"],
)
def alpha_svrg(x, state, g, prev, *, full, lr=0.01, alpha=0.75, period=50, large=50):
    r"""Alpha-SVRG, :math:`v_t = g(x_t,\xi_t) - \alpha_t\,[g(\tilde x,\xi_t) - \nabla F(\tilde x)],\; x_{t+1} = x_t - \eta v_t`.

    ``alpha`` may follow a schedule; the published one falls linearly to 0 over the run, from 0.75 in the released commands.
    alpha = 1 is ``svrg``, alpha = 0 is ``sgd`` at a higher price. The variance is least at alpha = Cov / Var of the two
    gradients. Snapshots as in ``svrg``. No rate is claimed. Source: Yin et al., arXiv 2311.05589, and their released code.
    """
    v = g - alpha * (prev - full)
    return x - lr * v, dict(estimate=v)
