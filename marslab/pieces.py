"""The parts that MARS-like optimizers are made of: one equation, one function.

Every function is pure, broadcasts over any leading lanes, and takes hyper-parameters that are floats or tensors which
already have the right shape. The arithmetic ones also accept sympy symbols, so that the same lines can be proved.
"""

import math

import torch

__all__ = [
    "adam_direction",
    "as_matrix",
    "clip",
    "correct",
    "ema",
    "matrix_shape",
    "newton_schulz",
    "on_matrices",
    "orthogonalize",
    "polar_factor",
    "power",
    "singular_power",
    "squared_norm",
]

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


def correct(g, prev, *, gamma, beta):
    r"""The scaled gradient correction of MARS.

    .. math:: c_t = g_t + \gamma_t \frac{\beta_1}{1-\beta_1}\,(g_t - g'_t)

    where g' is the gradient at the previous point, on the same sample (exact form) or on the last one (approximate
    form): which of the two is the caller's choice. Source: arXiv 2411.10438, equation 3.2 and remark 3.3.
    ``g`` and ``prev`` share any shape; ``beta`` lies in [0, 1).
    """
    return g + gamma * (beta / (1 - beta)) * (g - prev)


def ema(m, c, beta):
    r"""The exponential moving average :math:`m_t = \beta m_{t-1} + (1-\beta) c_t`, ``beta`` in [0, 1)."""
    return beta * m + (1 - beta) * c


def clip(c, radius, axes=None, norm=None):
    r"""Scale ``c`` onto the ball of the given radius; returns the clipped tensor and the scale.

    .. math:: \tilde c = c / \max(1, \|c\|_2 / r)

    ``axes`` are the axes of one problem (None: all, none: a scalar), ``norm`` is a norm taken elsewhere (several tensors).
    ``radius = inf`` returns ``c`` itself by a Python branch, so symbols and exact moments pass unchanged.
    Source: arXiv 2411.10438, equation 3.3 (there r = 1).
    """
    if isinstance(radius, float) and math.isinf(radius):
        return c, 1.0
    if norm is None:
        # torch reads an empty tuple of axes as all of them, which would mix lanes
        norm = c.abs() if axes == () else torch.linalg.vector_norm(c, dim=axes, keepdim=axes is not None)
    scale = (norm / radius).clamp(min=1).reciprocal()
    return c * scale, scale


def adam_direction(m, v, *, beta1_product, beta2_product, eps):
    r"""Adam's direction :math:`\hat m / (\sqrt{\hat v} + \epsilon)` with bias-corrected moments.

    :math:`\hat m_t = m_t / (1 - \prod_{i \le t}\beta_{1,i})`, and v alike: the running products stand in for
    :math:`\beta^t`, since betas may follow a schedule. Source: arXiv 1412.6980, algorithm 1.
    """
    return m / (1 - beta1_product) / ((v / (1 - beta2_product)).sqrt() + eps)


def newton_schulz(m, steps=5, eps=1e-7):
    r"""Approximate polar factor of the last two axes by Newton-Schulz iterations, any leading lanes.

    :math:`A = XX^\top,\; X \leftarrow aX + bAX + cA^2X` from :math:`X = M / (\|M\|_F + \epsilon)` with
    (a, b, c) = (3.4445, -4.7750, 2.0315), transposed first if there are more rows than columns. After five steps the singular
    values lie in [0.68, 1.21], not at 1, where they were at least 0.002 of the Frobenius norm (in [0.68, 1.14] from 0.01);
    smaller ones are only multiplied by up to 485. Source: the Muon optimizer, as used by the released MARS-Shampoo.
    """
    a, b, c = NEWTON_SCHULZ
    x = m / (torch.linalg.vector_norm(m, dim=(-2, -1), keepdim=True) + eps)
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


def polar_factor(m):
    r"""The exact polar factor :math:`UV^\top` of :math:`M = U\Sigma V^\top` (last two axes), zero on its null space.

    Source: arXiv 2411.10438, algorithm 4. A lane that is not finite gives NaN instead of an error.
    """
    finite = torch.isfinite(m).all(dim=-1, keepdim=True).all(dim=-2, keepdim=True)
    u, s, vh = torch.linalg.svd(torch.where(finite, m, 0), full_matrices=False)
    keep = s > s[..., :1] * max(m.shape[-2:]) * torch.finfo(m.dtype).eps
    return torch.where(finite, (u * keep.unsqueeze(-2)) @ vh, torch.nan)


def orthogonalize(m, *, method="newton_schulz", axes=None):
    """Replace the singular values of ``m`` by ones: ``newton_schulz`` (roughly, in five steps) or ``polar`` (exactly).

    ``axes`` name the event axes: the first is the rows, the others are flattened into columns and restored afterwards
    (None: all axes). They may stand anywhere, since a compiled run keeps its lanes last.
    """
    return on_matrices(newton_schulz if method == "newton_schulz" else polar_factor, m, axes)


def singular_power(m, power, axes=None):
    r"""Replace the singular values of ``m`` by a power of them, :math:`U\Sigma^pV^\top`, ``power`` > 0; axes as above."""

    def powered(flat):
        finite = torch.isfinite(flat).all(dim=-1, keepdim=True).all(dim=-2, keepdim=True)
        u, s, vh = torch.linalg.svd(torch.where(finite, flat, 0), full_matrices=False)
        exponent = power.reshape(power.shape[: flat.ndim - 2] + (1,)) if torch.is_tensor(power) and power.ndim else power
        return torch.where(finite, (u * (s**exponent).unsqueeze(-2)) @ vh, torch.nan)

    return on_matrices(powered, m, axes)


def on_matrices(function, m, axes=None):
    """Apply a function of the last two axes to the event axes, flattened to (rows, rest) and restored."""
    flat, back = as_matrix(m, axes)
    return back(function(flat))


def as_matrix(m, axes=None) -> tuple:
    """(\\*lanes, rows, rest) of ``m`` and the way back; the event ``axes`` are (rows, rest), None: all axes."""
    axes = tuple(range(m.ndim)) if axes is None else tuple(a % m.ndim for a in axes)
    last = tuple(range(m.ndim - len(axes), m.ndim))
    moved = m.movedim(axes, last)
    flat = moved.flatten(start_dim=last[1]) if len(axes) > 2 else moved
    return flat, lambda out: out.reshape(moved.shape).movedim(last, axes)


def matrix_shape(m, axes=None) -> tuple[int, int]:
    """Rows and columns of one problem's matrix: the first event axis, and all others together."""
    sizes = [m.shape[axis] for axis in (range(m.ndim) if axes is None else axes)]
    return sizes[0], math.prod(sizes[1:])


def power(x, exponent):
    r""":math:`x^p` of a non-negative tensor as :math:`\exp(p\ln x)`, zero at zero for a positive ``exponent``.

    torch's own power differs in the last bit between the body of a tensor and its tail, so that a lane's numbers would hang
    on the number of lanes beside it; exp and log do not.
    """
    return (exponent * x.log()).exp()


def squared_norm(g, axes=None):
    """The square of the Euclidean norm over the event axes, kept as axes of size 1 (no axes: of each entry)."""
    if axes == ():
        return g * g  # torch reads no axes as all of them
    return (g * g).sum(dim=axes, keepdim=axes is not None)
