"""Matrix parts beside `pieces`: orthogonalisations as released, inverse roots, and rules that keep matrices of their own."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from marslab.pieces import NEWTON_SCHULZ, on_matrices, orthogonalize
from marslab.rule import Rule

__all__ = [
    "FactoredRule",
    "factored_rule",
    "inverse_root",
    "mars_released",
    "moonlight_released",
    "muon_released",
    "orthogonal",
]


def mars_released(m, eps=1e-8, steps=5):
    r"""Newton-Schulz in bfloat16 as in the released MARS-Shampoo; last two axes, any lanes; the type of ``m`` is kept.

    :math:`X = M_{bf16} / (\|M\|_F + \epsilon)`, the norm taken before the cast; transposed if there are more rows than columns;
    five times :math:`A = XX^\top,\; B = AX,\; X \leftarrow aX + bB + cAB`, every product and sum rounded in this order.
    Source: the public code of arXiv 2411.10438.
    """
    a, b, c = NEWTON_SCHULZ
    norm = torch.linalg.vector_norm(m, dim=(-2, -1), keepdim=True) + eps
    x = (m.bfloat16().float() / norm.float()).bfloat16()  # the norm itself is never rounded to bfloat16
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    for _ in range(steps):
        gram = x @ x.mT
        moved = gram @ x
        x = a * x + b * moved + c * gram @ moved
    return (x.mT if tall else x).to(m.dtype)


def muon_released(m, eps=1e-7, steps=5):
    r"""Newton-Schulz in bfloat16 as in ``torch.optim.Muon``; last two axes, any lanes; the type of ``m`` is kept.

    :math:`X = M / \max(\|M\|_F, \epsilon)`, the norm taken in bfloat16; then
    :math:`X \leftarrow aX + (bA + cA^2)X` with fused products and sums. Source: the Muon optimizer (see rule ``muon``).
    """
    a, b, c = NEWTON_SCHULZ
    x = m.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    lanes, product = x.shape[:-2], torch.addmm
    if lanes:
        x, product = x.reshape(-1, *x.shape[-2:]), torch.baddbmm
    norm = x.norm() if not lanes else torch.linalg.vector_norm(x, dim=(-2, -1), keepdim=True)
    x = x / norm.clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.mT
        x = product(x, product(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    x = x.reshape(*lanes, *x.shape[-2:])
    return (x.mT if tall else x).to(m.dtype)


def moonlight_released(m, eps=1e-7, steps=5):
    r"""Newton-Schulz in bfloat16 as in the released Moonlight, MARS-M and Scion; last two axes, any lanes; type kept.

    :math:`X = M_{bf16} / (\|M_{bf16}\|_F + \epsilon)`; then :math:`B = bA + cA^2,\; X \leftarrow aX + BX`, every product
    and sum rounded in this order. Source: the public code of arXiv 2502.16982, 2510.21800 and 2502.07529.
    """
    a, b, c = NEWTON_SCHULZ
    x = m.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (torch.linalg.vector_norm(x, dim=(-2, -1), keepdim=True) + eps)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if tall else x).to(m.dtype)


def orthogonal(m, method, axes=None, released=mars_released):
    """`pieces.orthogonalize` with the method "released" in addition: the given function of a matrix."""
    if method != "released":
        return orthogonalize(m, method=method, axes=axes)
    return on_matrices(released, m, axes)


def inverse_root(a, power=4, eps=0.0):
    r""":math:`(A + \epsilon I)^{-1/p}` of symmetric, non-negative matrices (last two axes), zero on the null space of A.

    Eigenvalues up to n * machine precision of the largest count as zero, so that rank-deficient matrices have finite roots
    and the zero matrix has the root zero; ``eps`` is a number or of shape (*lanes, 1, 1). Computed in float64; the type is
    kept. A lane that is not finite gives NaN.
    """
    finite = torch.isfinite(a).all(dim=-1, keepdim=True).all(dim=-2, keepdim=True)
    values, vectors = torch.linalg.eigh(torch.where(finite, a, 0).double())
    keep = values > values[..., -1:].clamp(min=0) * a.shape[-1] * torch.finfo(a.dtype).eps
    eps = eps.squeeze(-1) if torch.is_tensor(eps) and eps.ndim else eps
    roots = torch.where(keep, (torch.where(keep, values, 1) + eps) ** (-1 / power), 0)
    return torch.where(finite, (vectors * roots.unsqueeze(-2)) @ vectors.mT, torch.nan).to(a.dtype)


@dataclass(frozen=True, eq=False)
class FactoredRule(Rule):
    """A rule whose state also holds matrices that are not shaped like x: rows by rows and columns by columns.

    factors  their names; each starts as the number zero and stands, with its two axes, where x has its event axes
    """

    factors: tuple[str, ...] = ()

    def init(self, x) -> dict:
        """The state before the first step, a zero without axes for each factor."""
        return super().init(x) | {name: torch.zeros((), dtype=x.dtype, device=x.device) for name in self.factors}


def factored_rule(**declaration) -> Callable[[Callable], FactoredRule]:
    """Decorator like ``rule`` for an update with ``factors``."""

    def wrap(function: Callable) -> FactoredRule:
        made = FactoredRule(name=function.__name__, function=function, **declaration)
        object.__setattr__(made, "__doc__", function.__doc__)
        return made

    return wrap
