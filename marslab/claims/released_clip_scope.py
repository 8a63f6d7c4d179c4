r"""The released clip bounds each tensor, not the model: the corrected gradient is up to sqrt(number of tensors) long.

Algorithms 1 to 3 clip the vector c_t at norm 1, and lemma C.1 takes ||c_t|| <= 1 and so ||m_t|| <= 1 from it. The
released code, timm and pytorch_optimizer clip each tensor at 1; levanter clips once over all tensors; HeavyBall and the
paper's algorithm 4 not at all. Where each of k tensors has a corrected gradient longer than 1, the clipped ones have
length 1 each and sqrt(k) together: 2 for four tensors, 7.07 for the 50 matrices of GPT-2 small (12 layers of four, two
embeddings). Measured: the largest length over all tensors of the clipped corrected gradient, four tensors with gradients
of norm near 10, 100 steps of a recorded stream. The paper's clip gives 1 (margin 1e-9).
"""

import torch

from marslab.claims._streams import noisy
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.verdicts import Measurement

SCOPES = ("tensor", "all", "none")


def measure(data, rule, scope, tensors):
    """The largest total length for the scope judged; the note has all of them."""
    streams = [noisy(size=10.0, seed=seed) for seed in range(tensors)]
    lengths = {each: longest(rule, streams, each) for each in SCOPES}
    note = f"{tensors} tensors: " + ", ".join(f"clip per {each} {length:.4f}" for each, length in lengths.items())
    return Finding(Measurement(lengths[scope], kind="exact"), len(streams[0]), len(streams[0]), note)


def longest(rule, streams, scope) -> float:
    """The largest length over all tensors of the clipped corrected gradient."""
    radius = float("inf") if scope == "none" else 1.0
    states, lasts, longest_ = [rule.init(s[0]) for s in streams], [torch.zeros_like(s[0]) for s in streams], 0.0
    for gradients in zip(*streams, strict=True):
        corrected = [rule.clipped(g, last, **hyper()) for g, last in zip(gradients, lasts, strict=True)]
        norm = torch.cat(corrected).norm() if scope == "all" else None
        options = dict(axes=(0,), norm=norm, clip_radius=radius, **hyper())
        states = [rule(g, s, g, last, **options)[1] for g, s, last in zip(gradients, states, lasts, strict=True)]
        longest_ = max(longest_, float(torch.cat([s["corrected"] * s["clip_scale"] for s in states]).norm()))
        lasts = gradients
    return longest_


def hyper() -> dict:
    """The published values."""
    return dict(gamma=0.025, beta1=0.95)


released_clip_scope = Claim(
    name="released_clip_scope",
    statement="The released clip holds the model's whole corrected gradient at norm 1, as the paper's algorithms do.",
    source="arXiv 2411.10438, equation 3.3 and lemma C.1, against the released code and its ports",
    kind="exact",
    unit="largest norm",
    margin=1e-9,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars_adamw, "scope": "tensor", "tensors": 4},
    plants={"there is no clip": Plant({"scope": "none"}), "there are nine tensors": Plant({"tensors": 9})},
)
