"""Shampoo: the gradient between inverse fourth roots of its second moments."""

import torch

from marslab.matrices import factored_rule, inverse_root
from marslab.pieces import as_matrix, ema


@factored_rule(
    factors=("left", "right"),
    scalars=("beta2_product",),
    matrix=True,
    options={"statistics": ("ema", "sum")},
)
def shampoo(x, state, g, *, lr=2e-2, beta2=0.99, eps=1e-16, weight_decay=0.0, statistics="ema", axes=None):
    r"""Shampoo, :math:`x_{t+1} = x_t - \eta_t(\hat L_t^{-1/4} G_t \hat R_t^{-1/4} + \lambda x_t)`.

    ``statistics`` "sum": :math:`L_t = L_{t-1} + G_tG_t^\top,\; R_t = R_{t-1} + G_t^\top G_t`, used as they are; "ema": moving
    averages with ``beta2``, bias corrected. With one step's statistics the update is the polar factor :math:`UV^\top` of G.
    ``eps`` is added to the eigenvalues; null spaces count as zero. The event axes are (rows, rest).
    Source: Gupta, Koren and Singer, arXiv 1802.09568; arXiv 2411.10438, equation 3.20.
    """
    matrix, back = as_matrix(g, axes)
    start = 0 if axes is None else axes[0] % g.ndim
    shaped = (beta2, state["beta2_product"], eps)
    beta, product, eps = (as_matrix(h, axes)[0] if torch.is_tensor(h) and h.ndim else h for h in shaped)
    new, roots = {"beta2_product": state["beta2_product"] * beta2}, {}
    for name, square in (("left", matrix @ matrix.mT), ("right", matrix.mT @ matrix)):
        old = state[name]
        old = old.movedim((start, start + 1), (-2, -1)) if old.ndim else old
        kept = ema(old, square, beta) if statistics == "ema" else old + square
        roots[name] = inverse_root(kept / (1 - product * beta) if statistics == "ema" else kept, eps=eps)
        new[name] = kept.movedim((-2, -1), (start, start + 1))
    step = back(roots["left"] @ matrix @ roots["right"])
    return x - lr * (step + weight_decay * x), new
