r"""Does MARS reach AdamW's final loss after 56 % of its training, as 28 of 50 billion tokens would be?

A two-layer network on scikit-learn's digits, 1,162 weights, batches of 16, 200 steps, full-data training loss; five
learning rates and (quick) six tuning seeds each, 32 reporting seeds that share starts and rows. Published: GPT-2 large
needs 50B tokens with AdamW for a loss of 2.58 and 28B with MARS-AdamW, one run each, AdamW not tuned on the same grid.
With every method tuned (arXiv 2509.02046) our interpolation of that study's losses gives 0.97 to 1.11 times fewer tokens
at 130M to 520M weights. Measured: the step at which the mean log loss of approximate MARS-AdamW reaches AdamW's (0.9,
0.95) final one, over the 200 steps of AdamW, on a logarithmic scale, by linear interpolation between the records at 100
and 200; the bootstrap runs over whole seeds. The claim is a ratio of at most 28/50. Constant learning rates and a network
more than five orders of magnitude smaller: it tests whether such a factor appears by itself, not what happens on GPT-2.
"""

import math

from marslab.claims._races import RACE, times
from marslab.claims.base import Claim, Finding, Plant


def measure(data):
    """Steps to AdamW's final loss, over AdamW's steps, as a logarithm."""
    measurement, note = times(data, "mars", "adamw_paper")
    return Finding(measurement, 200, 200, note)


empirical_tokens_to_loss = Claim(
    name="empirical_tokens_to_loss",
    statement="Digits: MARS-AdamW reaches the final loss of tuned AdamW (0.9, 0.95) after at most 28/50 of its gradients.",
    source="arXiv 2411.10438, section 4.2: 28B tokens against 50B",
    measure=measure,
    side="below",
    **RACE | {"unit": "log ratio of steps", "predict": lambda: math.log(28 / 50)},
    plants={"gamma is eight times as large": Plant(runs={"race_digits": {"mars": {"gamma": 0.2}}})},
)
