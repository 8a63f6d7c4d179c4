"""Scion: steps to the far corner of a norm ball."""

import math

from marslab.pieces import ema, matrix_shape, orthogonalize
from marslab.rule import rule


@rule(
    memory=("m",),
    matrix=True,
    options={
        "ball": ("spectral", "sign"),
        "constraint": ("none", "ball"),
        "orthogonalization": ("newton_schulz", "polar"),
    },
    uncertain="the spectral ball's factor sqrt(rows / columns) is recalled",
)
def scion(
    x,
    state,
    g,
    *,
    lr=1e-3,
    beta1=0.9,
    rho=50.0,
    ball="spectral",
    constraint="none",
    orthogonalization="newton_schulz",
    axes=None,
):
    r"""Scion, :math:`d_t = (1-\alpha)d_{t-1} + \alpha g_t,\; x_{t+1} = x_t + \eta\,\mathrm{lmo}(d_t)`, alpha = 1 - ``beta1``.

    ``constraint="ball"``: :math:`x_{t+1} = (1-\eta)x_t + \eta\,\mathrm{lmo}(d_t)`, which keeps x in the ball. ``ball``:

    * "spectral": :math:`\mathrm{lmo}(d) = -\rho\sqrt{d_{out}/d_{in}}\,UV^\top` (inner layers; rows are outputs);
    * "sign": :math:`\mathrm{lmo}(d) = -\rho\,\mathrm{sign}(d)` (embedding and output layers).

    Claimed rate: :math:`T^{-1/4}`. Defaults: alpha = 0.1; radii depend on the layer (50 inside is recalled). Source:
    Pethick et al., arXiv 2502.07529, algorithms 1 and 2. A vector has no spectral ball: give ``fallback="signum"``.
    """
    d = ema(state["m"], g, beta1)
    rows, columns = matrix_shape(x, axes)
    corner = d.sign() if ball == "sign" else math.sqrt(rows / columns) * orthogonalize(d, method=orthogonalization, axes=axes)
    kept = x if constraint == "none" else (1 - lr) * x
    return kept - lr * (rho * corner), dict(m=d)
