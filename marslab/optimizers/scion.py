"""Scion: steps to the far corner of a norm ball."""

import math

from marslab.matrices import moonlight_released, orthogonal
from marslab.pieces import ema, matrix_shape
from marslab.rule import rule


@rule(
    memory=("m",),
    matrix=True,
    options={
        "ball": ("spectral", "sign", "input_sign"),
        "constraint": ("none", "ball"),
        "orthogonalization": ("newton_schulz", "released", "polar"),
    },
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
    * "sign": :math:`\mathrm{lmo}(d) = -\rho\,\mathrm{sign}(d)/d_{in}` (the output layer);
    * "input_sign": :math:`\mathrm{lmo}(d) = -\rho\,\mathrm{sign}(d)` (a first layer that reads one-hot inputs).

    ``orthogonalization``: "newton_schulz", "released" (in bfloat16 as in the authors' code, which is Moonlight's) or "polar".
    Claimed rate: :math:`T^{-1/4}`. Defaults as in the released example: alpha 0.1, rho 50 inside, 3000 for the output layer;
    the released class is constrained unless told otherwise. Source: Pethick et al., arXiv 2502.07529, algorithms 1 and 2,
    and the authors' released optimizer, whose convolutions alone are scaled otherwise. A vector has no spectral ball: give
    ``fallback="signum"``.
    """
    d = ema(state["m"], g, beta1)
    rows, columns = matrix_shape(x, axes)
    if ball == "spectral":
        corner = math.sqrt(rows / columns) * orthogonal(d, orthogonalization, axes, moonlight_released)
    else:
        corner = d.sign() / (columns if ball == "sign" else 1)
    kept = x if constraint == "none" else (1 - lr) * x
    return kept - lr * (rho * corner), dict(m=d)
