r"""Where only the last layer's weight has two axes, the released MARS-AdamW is AdamW on everything else.

The released rule takes a tensor with exactly two axes, and its CIFAR script leaves the option for others off. Convolution
filters have four axes: of a ResNet-18 the head's weight alone (512 x 10 of 11 million numbers) sees a correction, all
else is AdamW with betas (0.9, 0.95). timm and pytorch_optimizer take two axes or more. The published CIFAR gains
(ResNet-18, accuracy 95.29 against AdamW's 94.81, CIFAR-100 76.97 against 73.70, one run each) can then hardly come from
variance reduction, if that script made them.

Shown on a two-layer network on digits whose hidden weight stands for the filters: MARS-AdamW on all matrices, on the head
alone (10 x 16 of 1,162 numbers), on none, all else AdamW (0.9, 0.95); approximate form, batches of 16, 150 steps, five
learning rates and six tuning seeds each, paired over the reporting seeds. Claimed, as the published table suggests of the
released rule: the head alone gains over none, at least 5 % of the training loss. The gain on all matrices stands in the
note. A tiny network without convolutions: it shows the rule's reach, not the size of an effect on CIFAR.
"""

import math

from marslab.claims._digits import note, ratio
from marslab.claims._ports import mars_on_part
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import minibatch
from marslab.problems import two_layer
from marslab.simulate import run
from marslab.verdicts import Measurement

STEPS, RATES = 150, [0.003, 0.006, 0.012, 0.024, 0.048]


def measure(data, rule, part, gamma, seeds):
    """Log ratio of tuned final losses, MARS on a part over MARS on none; the note has all matrices as well."""
    runs = {each: final(rule, each, gamma, seeds) for each in dict.fromkeys((part, "none", "all"))}
    measured: Measurement = ratio(runs[part], runs["none"])
    everything = math.exp(ratio(runs["all"], runs["none"]).estimate)
    text = f"{note(measured, runs)}; on all matrices the ratio is {everything:.3f}"
    return Finding(measured, STEPS, STEPS, text)


def final(rule, part, gamma, seeds):
    """The losses of one choice of tensors at every rate."""
    options = dict(problem=two_layer(data="digits"), noise=minibatch(batch=16), steps=STEPS, record=[STEPS], seeds=seeds)
    return run(rule, part=part, gamma=gamma, lr=RATES, exact=False, **options)


released_conv_weights = Claim(
    name="released_conv_weights",
    statement="Digits: MARS on the head's weight alone, as in the released CIFAR script, ends at least 5 % below AdamW.",
    source="arXiv 2411.10438, table 9, and the released train_CV.py, read on a small network",
    kind="empirical",
    unit="log loss ratio",
    margin=math.log(1.05),
    side="below",
    predict=lambda: 0.0,
    measure=measure,
    figure="race_digits",
    settings={
        "rule": mars_on_part,
        "part": "head",
        "gamma": 0.025,
        "seeds": Budget([*range(16), *range(100, 106)], [*range(96), *range(100, 116)]),
    },
    plants={
        "gamma is eight times as large": Plant({"gamma": 0.2}),
        "gamma has the wrong sign": Plant({"gamma": -0.025}),
    },
)
