r"""The README of the released code averages the squared gradient in v; its code, like the paper, the squared correction.

Algorithm 2 and the code: v_t = beta_2 v_{t-1} + (1 - beta_2) c_t^2. The README prints (grad f)^2. In noise the two differ
as the variances of c and g do: for independent gradients Var(c)/Var(g) = (1 + kappa)^2 + kappa^2 = 2.401 at the defaults,
so the README's steps are sqrt(2.401) = 1.550 times as long at the same learning rate. Where the gradient alternates the
factor is 1 + 2 kappa = 1.95, where it is constant it is 1. Measured: the mean ratio of step lengths over the steps 301 to
600 of a recorded stream of 200 coordinates, ten times as much noise as slope; the slope and the finite average keep it
within 1 % of the closed form. A user expects 1 (margin 1 %).
"""

import math

from marslab import theory
from marslab.claims._streams import noisy, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.verdicts import Measurement

STEPS, LATE, COORDINATES = 600, 300, 200


def measure(data, rule, gamma, noise):
    """Step lengths with v from raw gradients over those with v from c."""
    stream = noisy(steps=STEPS, coordinates=COORDINATES, size=0.01, noise=noise)
    printed, coded = (lengths(rule, stream, gamma, kind) for kind in ("raw", "clipped"))
    expected = math.sqrt(theory.effective_variance_ratio(gamma=gamma, beta=0.95))
    note = f"the closed form in pure noise is {expected:.4f}"
    return Finding(Measurement(float((printed / coded).mean()), kind="exact"), STEPS, STEPS, note)


def lengths(rule, stream, gamma, second_moment):
    """The lengths of the late steps."""
    path = walk(rule, stream, gamma=gamma, second_moment=second_moment, lr=1.0)
    return path.x.diff(dim=0).norm(dim=1)[LATE - 1 :]


released_readme_second_moment = Claim(
    name="released_readme_second_moment",
    statement="The formula in the released README, with (∇f)² in v, takes the steps of the code, which has c².",
    source="README of the released code against arXiv 2411.10438, algorithm 2",
    kind="exact",
    unit="ratio of step lengths",
    margin=0.01,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars_adamw, "gamma": 0.025, "noise": 10.0},
    plants={"gamma is twice as large": Plant({"gamma": 0.05}), "there is as much noise as slope": Plant({"noise": 1.0})},
)
