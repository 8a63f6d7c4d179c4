"""MGUP-AdamW: larger steps where momentum and gradient agree most."""

import torch

from marslab.pieces import ema
from marslab.rule import rule


def leading(score, share, axes):
    """Whether an entry is among the floor(share * d) largest of its tensor, d its size; ties go to the earlier entry."""
    if axes == () or score.ndim == 0:
        return torch.floor(share * torch.ones_like(score)) >= 1
    axes = tuple(range(score.ndim)) if axes is None else tuple(a % score.ndim for a in axes)
    last = tuple(range(score.ndim - len(axes), score.ndim))
    moved = score.movedim(axes, last)
    flat = moved.flatten(start_dim=last[0])
    rank = flat.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1).reshape(moved.shape).movedim(last, axes)
    return rank < torch.floor(share * torch.full_like(score, flat.shape[-1]))


def root(value):
    """The square root of a number or tensor by torch, which may round otherwise than Python."""
    return (value if torch.is_tensor(value) else torch.tensor(value, dtype=torch.float64)).sqrt()


@rule(
    memory=("m", "v"),
    scalars=("beta1_product", "beta2_product"),
    presets={"released": {"raised": 2.0, "lowered": 0.1}},
    uncertain="whether the paper's decay also takes the bias correction",
)
def mgup_adamw(
    x,
    state,
    g,
    *,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-6,
    tau=0.5,
    raised=2.0,
    lowered=0.5,
    weight_decay=0.0,
    axes=None,
):
    r"""AdamW whose step is raised on the :math:`\lfloor\tau d\rfloor` entries of the largest :math:`u_t\odot g_t`.

    .. math:: u_t = m_t/(\sqrt{v_t}+\epsilon),\quad x_{t+1} = x_t - \eta\Big(\frac{\sqrt{1-\beta_2^t}}{1-\beta_1^t}\,
              \phi_t\odot u_t + \lambda x_t\Big),\quad \phi = 1/\tau \text{ on the leading entries},\ \tau\text{ elsewhere}

    ``raised`` and ``lowered`` are the two values of phi: the paper's 1/tau and tau at tau = 1/2; the released code has 2 and
    0.1 (preset "released"). Claimed: convergence of the form without decay. Source: Chang and Yuan, arXiv 2606.17526, and the
    authors' released optimizer, with which the order of decay and bias correction agrees.
    """
    m, v = ema(state["m"], g, beta1), ema(state["v"], g * g, beta2)
    b1, b2 = state["beta1_product"] * beta1, state["beta2_product"] * beta2
    u = m / (v.sqrt() + eps)
    scaled = torch.where(leading(u * g, tau, axes), raised * u, lowered * u)
    step = root(1 - b2) * scaled / (1 - b1)
    return x - lr * (step + weight_decay * x), dict(m=m, v=v, beta1_product=b1, beta2_product=b2)
