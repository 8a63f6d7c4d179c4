r"""Clipped one by one, the two gradients of the exact mode lose the part of their difference that lies along them.

The released script clips g(x_t, xi_t) and g(x_{t-1}, xi_t) at norm 1 each, then forms the correction. For gradients
longer than 1 and a small difference d, g/|g| - (g - d)/|g - d| = (d - (d.g) g/|g|^2)/|g| + O(|d|^2/|g|^2): of d/|g|,
which a common factor would keep, only the part across g is left, a share |sin(angle between d and g)|. Along a straight
descent on a quadratic of one curvature d is parallel to g, and the correction vanishes altogether: gamma is 0 while both
are clipped. Measured: that share, on a recorded stream of gradients of norm near 10 and differences of norm 0.01 at a
given angle (radial: 0), read off the rule's own correction. A user expects 1; the margin 0.01 is far above |d|/|g| =
0.001.
"""

import math

import torch

from marslab.claims._ports import clipped_apart
from marslab.claims._streams import noisy, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.verdicts import Measurement

SHIFT = 0.01


def measure(data, rule, angle, size):
    """The length of the correction over that of the difference in the scale of the clipped gradient."""
    stream = noisy(size=size)
    apart = shifted(stream, math.radians(angle))
    kept = walk(rule, stream, previous=stream - apart)["correction"].norm(dim=1)
    whole = apart.norm(dim=1) / stream.norm(dim=1).clamp(min=1)
    share = float((kept / whole).mean())
    note = f"at {angle:g} degrees between difference and gradient the closed form keeps {math.sin(math.radians(angle)):.4f}"
    return Finding(Measurement(share, kind="exact"), len(stream), 2 * len(stream), note)


def shifted(stream, angle):
    """Differences of norm SHIFT at the angle to each gradient."""
    along = stream / stream.norm(dim=1, keepdim=True)
    across = torch.roll(along, 1, dims=1)
    across = across - (across * along).sum(dim=1, keepdim=True) * along
    across = across / across.norm(dim=1, keepdim=True)
    return SHIFT * (math.cos(angle) * along + math.sin(angle) * across)


released_exact_clips_apart = Claim(
    name="released_exact_clips_apart",
    statement="Clipping the two gradients of the exact mode one by one keeps their difference, up to the common scale.",
    source="released code of arXiv 2411.10438, train_mars.py",
    kind="exact",
    unit="share of the correction kept",
    margin=0.01,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": clipped_apart, "angle": 0.0, "size": 10.0},
    plants={
        "the difference lies at 30 degrees": Plant({"angle": 30.0}),
        "the gradients are ten times as long": Plant({"size": 100.0}),
    },
)
