r"""The released optimizer keeps a reference to the gradient, so a reused gradient buffer makes gamma zero.

``last_grad = p.grad`` stores no copy. With zero_grad(set_to_none=False), or any loop that writes gradients into the same
memory, the next backward pass overwrites it: g_t - g_{t-1} is 0 from the second step on, whatever gamma. Only the first
correction, against zero, survives: c_1 = (1 + kappa) g_1, so m_t = e_t + gamma beta^t g_1, where MARS has (1 - gamma) e_t
+ gamma g_t (claim qhm_identity). Hence the difference gamma (e_t - g_t + beta^t g_1), of the order of gamma times a
gradient, and nothing warns. Measured on one recorded stream of 100 noisy gradients, walked through the same rule with a
buffer that is written over and with a fresh one; the closed form is summed apart from the recursion. A wrapper that
copies is not affected.
"""

import torch

from marslab.claims._streams import DIVERGENCE, averages, divergence, noisy, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement

BETA = 0.95


def measure(data, rule, buffers, keeps, gamma, noise):
    """The averages with the wrapper's way of keeping gradients against those with every gradient kept."""
    stream = noisy(noise=noise)
    options = dict(gamma=gamma, beta1=BETA, lr=0.01)
    seen = walk(rule, stream, buffers=buffers, keeps=keeps, **options)["m"]
    meant = walk(rule, stream, **options)["m"]
    left = (seen - aliased(stream, gamma)).abs().max()
    note = f"m differs from that of gamma = 0 by the first step's gamma beta^t g_1 alone, to {left:.0e}"
    return Finding(Measurement(divergence(seen, meant), kind="exact"), len(stream), len(stream), note)


def aliased(stream, gamma):
    """e_t + gamma beta^t g_1."""
    t = torch.arange(1, len(stream) + 1, dtype=torch.float64)[:, None]
    return averages(stream, BETA) + gamma * BETA**t * stream[0]


released_aliasing = Claim(
    name="released_aliasing",
    statement="The released MARS is MARS with every zero_grad: it matters not whether gradient buffers are reused.",
    source="released code of arXiv 2411.10438, and its ports in timm and MARS-M",
    measure=measure,
    settings={"rule": mars, "buffers": "reused", "keeps": "reference", "gamma": 0.025, "noise": 1.0},
    plants={"gamma is ten times as large": Plant({"gamma": 0.25}), "the noise is ten times as large": Plant({"noise": 10.0})},
    **DIVERGENCE,
)
