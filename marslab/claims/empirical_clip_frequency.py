r"""How often does MARS's own clip act behind the clip of the training script?

The released GPT-2 script clips the gradient of all tensors at 1, then MARS clips each tensor's corrected gradient at 1.
From claim released_double_clip: with k tensors of equal shares ||c|| <= (1 + 2 kappa)/sqrt(k) per tensor, so the inner
clip is idle from four tensors on, and with an outer radius of 0.5, as in arXiv 2509.01440's scripts, (1 + 2 kappa)/2 =
0.975 keeps it idle always. But where one tensor carries most of the gradient, noise alone makes its c sqrt((1 + kappa)^2
+ kappa^2) = 1.55 times as long as g. A two-layer network on scikit-learn's digits has four tensors of unequal shares,
batches of 16, 200 steps at the rate 0.024. Claimed: the inner clip acts on at most one step in ten. The note has the same
while the outer clip acts at every step (the loss multiplied by 1000, which Adam's step does not see).
"""

import numpy as np

from marslab.claims._ports import clipped_twice
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import minibatch
from marslab.problems import two_layer
from marslab.simulate import run
from marslab.verdicts import Measurement

STEPS = 200


def measure(data, rule, noise, outer_radius, loss_scale, seeds):
    """The share of steps at which the clip of some tensor acts, by seed."""
    shares = frequency(rule, noise, outer_radius, loss_scale, seeds)
    always = frequency(rule, noise, outer_radius, 1000.0, seeds)
    note = f"{always.mean():.3f} of the steps where the outer clip always acts"
    return Finding(Measurement.of(shares, kind="empirical"), STEPS, STEPS, note)


def frequency(rule, noise, outer_radius, loss_scale, seeds) -> np.ndarray:
    """Share of the steps, every fourth looked at, whose smallest clip factor is below 1; shape (seeds,)."""
    options = dict(steps=STEPS, record=[*range(1, STEPS + 1, 4)], seeds=seeds, clip_scope="global", lr=0.024)
    data = run(rule, problem=two_layer(data="digits"), noise=noise, outer_radius=outer_radius, loss_scale=loss_scale, **options)
    return (data.clip_scale.values < 1).mean(axis=-1)


empirical_clip_frequency = Claim(
    name="empirical_clip_frequency",
    statement="Digits: behind a clip of the gradient at 1, MARS's own clip acts on at most one step in ten.",
    source="derived here, on the released code of arXiv 2411.10438",
    kind="empirical",
    unit="share of steps",
    side="below",
    predict=lambda: 0.1,
    measure=measure,
    figure="race_digits",
    settings={
        "rule": clipped_twice,
        "noise": minibatch(batch=16),
        "outer_radius": 1.0,
        "loss_scale": 1.0,
        "seeds": Budget(24, 128),
    },
    plants={
        "the batch is four times smaller": Plant({"noise": minibatch(batch=4)}),
        "the loss is ten times as large": Plant({"loss_scale": 10.0}),
    },
)
