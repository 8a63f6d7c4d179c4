"""Models of public implementations of MARS, written from their description: a rule each, for the simulator and for streams.

None is MARS as published; the claims say by how much each departs from it.
"""

from marslab.pieces import adam_direction, clip, correct, ema
from marslab.rule import rule


@rule(
    memory=("m", "v", "last"),
    scalars=("beta1_product", "beta2_product", "other_product"),
    options={"held": ("corrected", "gradient"), "corrects": ("1d", "matrix")},
)
def fused(
    x,
    state,
    g,
    *,
    lr=3e-3,
    gamma=0.025,
    beta1=0.95,
    beta2=0.99,
    beta2_1d=0.95,
    eps=1e-8,
    clip_radius=1.0,
    held="corrected",
    corrects="1d",
    axes=None,
):
    r"""The released fused multi-tensor step: c is formed in the gradient's memory, which is then kept as the last gradient.

    ``held``: what the next correction is taken against, the clipped "corrected" gradient (as released) or the "gradient".
    ``corrects``: whose beta2 corrects v's bias, that of the "1d" tensors (as released) or of the "matrix".
    """
    c, _ = clip(correct(g, state["last"], gamma=gamma, beta=beta1), clip_radius, axes)
    m, v = ema(state["m"], c, beta1), ema(state["v"], c * c, beta2)
    b1, b2, other = state["beta1_product"] * beta1, state["beta2_product"] * beta2, state["other_product"] * beta2_1d
    used = other if corrects == "1d" else b2
    direction = adam_direction(m, v, beta1_product=b1, beta2_product=used, eps=eps)
    kept = c if held == "corrected" else g
    return x - lr * direction, dict(m=m, v=v, last=kept, beta1_product=b1, beta2_product=b2, other_product=other)


@rule(memory=("m", "corrected", "last"))
def recursive_port(x, state, g, *, lr=0.01, gamma=0.025, beta1=0.95):
    r"""A port offered for optax: :math:`c_t = g_t + (1-\gamma)(c_{t-1} - g_{t-1})`, :math:`c_1 = g_1`, averaged as in Adam."""
    c = g + (1 - gamma) * (state["corrected"] - state["last"])
    m = ema(state["m"], c, beta1)
    return x - lr * m, dict(m=m, corrected=c, last=g)


@rule(memory=("m", "corrected"), prev="same_sample")
def recursive_same_sample(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    r"""The same with the gradient at the point before on the sample of this step: no longer Adam."""
    c = g + (1 - gamma) * (state["corrected"] - prev)
    m = ema(state["m"], c, beta1)
    return x - lr * m, dict(m=m, corrected=c)


@rule(memory=("m", "corrected", "last"))
def recursive_misplaced(x, state, g, *, lr=0.01, gamma=0.025, beta1=0.95):
    r"""The port with a parenthesis misplaced: the last gradient is subtracted whole."""
    c = g + (1 - gamma) * state["corrected"] - state["last"]
    m = ema(state["m"], c, beta1)
    return x - lr * m, dict(m=m, corrected=c, last=g)


@rule(memory=("m",), prev="either")
def swapped(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    r"""MARS whose correction is called with gamma and beta1 in each other's place."""
    m = ema(state["m"], correct(g, prev, gamma=beta1, beta=gamma), beta1)
    return x - lr * m, dict(m=m)


def outer(g, *_, **__):
    """The tensor whose norm over all tensors the outer clip looks at."""
    return g


@rule(
    memory=("m", "v", "last"),
    scalars=("beta1_product", "beta2_product"),
    prev="last",
    diagnostics=("corrected", "clip_scale"),
    clipped=outer,
)
def clipped_twice(
    x,
    state,
    g,
    prev,
    *,
    lr=3e-3,
    gamma=0.025,
    beta1=0.95,
    beta2=0.99,
    eps=1e-8,
    loss_scale=1.0,
    outer_radius=1.0,
    clip_radius=1.0,
    axes=None,
    norm=None,
):
    r"""The released training loop: the gradient of all tensors is clipped first, then each tensor's corrected gradient.

    Run it with ``clip_scope="global"``, which hands over the norm of the gradient over all tensors. ``loss_scale`` multiplies
    the loss; Adam's step does not see it, the clips do. What is corrected against is the last clipped gradient, kept in the
    state; ``prev``, the unclipped one, is declared only because the simulator takes the norm over tensors from both.
    """
    g, _ = clip(g * loss_scale, outer_radius, axes, None if norm is None else norm * loss_scale)
    c = correct(g, state["last"], gamma=gamma, beta=beta1)
    short, scale = clip(c, clip_radius, axes)
    m, v = ema(state["m"], short, beta1), ema(state["v"], short * short, beta2)
    b1, b2 = state["beta1_product"] * beta1, state["beta2_product"] * beta2
    new = dict(m=m, v=v, last=g, beta1_product=b1, beta2_product=b2, corrected=c, clip_scale=scale)
    return x - lr * adam_direction(m, v, beta1_product=b1, beta2_product=b2, eps=eps), new


@rule(memory=("m",), prev="same_sample", diagnostics=("correction",))
def clipped_apart(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95, outer_radius=1.0, axes=None):
    r"""The released exact mode: either gradient is clipped by itself, then their difference is taken."""
    g, prev = clip(g, outer_radius, axes)[0], clip(prev, outer_radius, axes)[0]
    m = ema(state["m"], correct(g, prev, gamma=gamma, beta=beta1), beta1)
    return x - lr * m, dict(m=m, correction=g - prev)


@rule(
    memory=("m", "v"),
    scalars=("beta1_product", "beta2_product"),
    prev="either",
    options={"part": ("all", "head", "none")},
)
def mars_on_part(
    x,
    state,
    g,
    prev,
    *,
    lr=3e-3,
    gamma=0.025,
    beta1=0.95,
    beta2=0.99,
    eps=1e-8,
    clip_radius=1.0,
    part="head",
    head_rows=10,
    axes=None,
):
    r"""MARS-AdamW on a part of the weights, AdamW with betas (0.9, 0.95) on the rest.

    ``part``: "all" matrices, the "head" alone (the matrix with ``head_rows`` rows: what is left when a rule for two axes meets
    a network whose other weights are convolutions with four), or "none".
    """
    matrix = len(axes) == 2
    if matrix and (part == "all" or (part == "head" and x.shape[axes[0]] == head_rows)):
        c, _ = clip(correct(g, prev, gamma=gamma, beta=beta1), clip_radius, axes)
    else:
        c, beta1, beta2 = g, 0.9, 0.95
    m, v = ema(state["m"], c, beta1), ema(state["v"], c * c, beta2)
    b1, b2 = state["beta1_product"] * beta1, state["beta2_product"] * beta2
    direction = adam_direction(m, v, beta1_product=b1, beta2_product=b2, eps=eps)
    return x - lr * direction, dict(m=m, v=v, beta1_product=b1, beta2_product=b2)
