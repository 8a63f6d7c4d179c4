"""Muon: orthogonalised momentum."""

from marslab.matrices import muon_released, orthogonal
from marslab.pieces import ema, matrix_shape
from marslab.rule import rule


@rule(
    memory=("m",),
    matrix=True,
    options={
        "form": ("nesterov", "plain"),
        "orthogonalization": ("newton_schulz", "released", "polar"),
        "shape_factor": ("original", "match_rms_adamw", "none"),
    },
)
def muon(
    x,
    state,
    g,
    *,
    lr=2e-2,
    beta1=0.95,
    weight_decay=0.0,
    form="nesterov",
    orthogonalization="newton_schulz",
    shape_factor="original",
    axes=None,
):
    r"""Muon, :math:`m_t = \beta_1 m_{t-1} + (1-\beta_1) g_t,\; u_t = \beta_1 m_t + (1-\beta_1) g_t` (or :math:`m_t`).

    .. math:: x_{t+1} = (1 - \eta_t\lambda)x_t - \eta_t\, s\, \mathrm{orth}(u_t)

    ``form``: what u is, "nesterov" as written, or "plain", :math:`u_t = m_t`.
    ``shape_factor`` s: "original" :math:`\sqrt{\max(1, r/c)}`, "match_rms_adamw" :math:`0.2\sqrt{\max(r, c)}` or "none".
    ``orthogonalization``: Newton-Schulz with five steps in the type of x, the same in bfloat16 in the order of
    ``torch.optim.Muon`` ("released"), or exact ("polar"). The event axes are (rows, rest).
    Source: Jordan et al. 2024, as stated in Liu et al., arXiv 2502.16982, section 2.1.
    """
    m = ema(state["m"], g, beta1)
    direction = ema(m, g, beta1) if form == "nesterov" else m
    rows, columns = matrix_shape(x, axes)
    factor = {"original": max(1, rows / columns) ** 0.5, "match_rms_adamw": 0.2 * max(rows, columns) ** 0.5, "none": 1.0}
    step = orthogonal(direction, orthogonalization, axes, muon_released)
    return x * (1 - lr * weight_decay) - lr * factor[shape_factor] * step, dict(m=m)
