r"""The released fused step corrects the bias of every v with the beta_2 of the one-dimensional tensors.

Adam divides v_t by 1 - beta_2^t. The fused kernel divides the matrices' v, averaged with beta_2 = 0.99, by the factor
made for the other tensors, 1 - 0.95^t. The direction m-hat/sqrt(v-hat) is thereby multiplied by sqrt((1 - 0.95^t)/(1 -
0.99^t)): sqrt(0.05/0.01) = 2.236 at t = 1, 2.05 at t = 10, 1.25 at t = 100, and 1 in the end: longer steps exactly where
warm-up wants shorter ones. Measured: the largest ratio of step lengths over 100 steps of one recorded stream, with the
correction of the single-tensor step so that nothing else differs; eps = 1e-8 changes it by about 1e-7 (the gradients are
near 0.04), hence the margin 1e-4. A user expects 1.
"""

import math

from marslab.claims._ports import fused
from marslab.claims._streams import noisy, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.verdicts import Measurement

BETA2, BETA2_1D = 0.99, 0.95


def ratio(t: int) -> float:
    """sqrt((1 - 0.95^t)/(1 - 0.99^t))."""
    return math.sqrt((1 - BETA2_1D**t) / (1 - BETA2**t))


def measure(data, rule, corrects, noise):
    """Lengths of the steps, fused over single-tensor; the largest is the first."""
    stream = noisy(noise=noise)
    ours = walk(rule, stream, held="gradient", corrects=corrects, lr=1.0).x
    other = walk(mars_adamw, stream, lr=1.0).x
    lengths = moves(ours) / moves(other)
    note = ", ".join(f"t = {t}: {lengths[t - 1]:.4f} (closed form {ratio(t):.4f})" for t in (1, 10, 100))
    return Finding(Measurement(float(lengths.max()), kind="exact"), len(stream), len(stream), note)


def moves(x):
    """The length of each step from 0 on."""
    return x.diff(dim=0, prepend=0 * x[:1]).norm(dim=1)


released_fused_denominator = Claim(
    name="released_fused_denominator",
    statement="The released fused step is as long as the single-tensor step on the same gradients.",
    source="released code of arXiv 2411.10438, fused_mars kernels",
    kind="exact",
    unit="ratio of step lengths",
    margin=1e-4,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": fused, "corrects": "1d", "noise": 1.0},
    plants={"there is no noise": Plant({"noise": 0.0}), "the noise is ten times as large": Plant({"noise": 10.0})},
)
