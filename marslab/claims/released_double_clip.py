r"""A clip of the gradient at 1 leaves the corrected gradient up to 1 + 2 kappa long, so the second clip is not idle.

The released GPT-2 script clips the gradient of all tensors at norm 1 before MARS clips each tensor's c. With ||g_t|| <= 1
and ||g_{t-1}|| <= 1, ||c_t|| = ||(1 + kappa) g_t - kappa g_{t-1}|| <= 1 + 2 kappa, attained where the gradient turns
round: 1.95 at the defaults, kappa = 0.475; in white noise sqrt((1 + kappa)^2 + kappa^2) = 1.55. So a tensor that carries
most of the gradient is clipped twice. With k tensors of equal shares the bound is (1 + 2 kappa)/sqrt(k): from four
tensors on the inner clip is then idle, which is why it should seldom act on a large model. (The CIFAR scripts have no
outer clip.) Measured: the largest ||c_t|| on a stream of 100 gradients of norm 10 that alternate, walked through both
clips; a user who calls one of them redundant expects 1 (margin 1e-9).
"""

from marslab.claims._ports import clipped_twice
from marslab.claims._streams import alternating, noisy, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.verdicts import Measurement

BETA = 0.95


def measure(data, rule, gamma, radius):
    """The longest corrected gradient before the inner clip, with the bound in the note."""
    found = largest(rule, alternating(size=10.0), gamma, radius)
    white = largest(rule, noisy(size=10.0, noise=10.0), gamma, radius)
    kappa = gamma * BETA / (1 - BETA)
    note = f"the bound (1 + 2 kappa) r is {(1 + 2 * kappa) * radius:.4f}; in white noise the longest is {white:.4f}"
    return Finding(Measurement(found, kind="exact"), 100, 100, note)


def largest(rule, stream, gamma, radius) -> float:
    """The largest norm of c before its own clip."""
    return float(walk(rule, stream, gamma=gamma, beta1=BETA, outer_radius=radius)["corrected"].norm(dim=1).max())


released_double_clip = Claim(
    name="released_double_clip",
    statement="Once the gradient is clipped at norm 1, as the released script does, ‖c‖ ≤ 1 and MARS's own clip is idle.",
    source="released code of arXiv 2411.10438, train_mars.py",
    kind="exact",
    unit="largest norm",
    margin=1e-9,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": clipped_twice, "gamma": 0.025, "radius": 1.0},
    plants={
        "gamma is four times as large": Plant({"gamma": 0.1}),
        "the outer clip is at 2": Plant({"radius": 2.0}),
    },
)
