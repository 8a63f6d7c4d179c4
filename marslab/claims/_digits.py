"""What the claims on the digits network share: paired log ratios of tuned final losses at equal gradient evaluations."""

import math

import numpy as np

from marslab.claims.base import Finding, Plant
from marslab.tuning import FIRST_TUNING_SEED, best, final_loss, on_edge, within
from marslab.verdicts import Measurement

MARGIN = math.log(1.05)  # a difference of 5 % in the training loss counts
STILL = [1e-9, 2e-9, 4e-9, 8e-9, 1.6e-8]  # rates at which nothing is learnt


def lost(run: str) -> dict:
    """The plant of a method whose learning rate is lost on the way."""
    return {f"the learning rate of the method {run} is lost": Plant(runs={"digits": {run: {"lr": STILL}}})}


SHARED = dict(kind="empirical", unit="log loss ratio", margin=MARGIN, predict=lambda: 0.0, experiments=("digits",))


def compare(data, ours: str, other: str) -> Finding:
    """Mean log ratio of the final losses, ours over the other's, paired over the reporting seeds."""
    runs = data["digits"]
    budget = int(runs["adamw"].evaluations[-1])
    a, b = (within(runs[name], budget) for name in (ours, other))
    measurement = ratio(a, b)
    text = note(measurement, {ours: a, other: b})
    if ours == "exact":  # what the second gradient would buy if it were free
        text += f"; at equal steps, the second gradient not charged: {factor(ratio(runs[ours], b))}"
    return Finding(measurement, int(a.step[-1]), budget, text)


def ratio(a, b) -> Measurement:
    """The paired log ratio of the tuned final losses."""
    return Measurement.between(np.log(final_loss(a)), np.log(final_loss(b)), kind="empirical")


def factor(measurement: Measurement) -> str:
    """A log ratio as a factor with its 99 % interval."""
    low, high = (math.exp(end) for end in measurement.error.interval(0.99))
    return f"loss ratio {math.exp(measurement.estimate):.3f} [{low:.3f}, {high:.3f}]"


def note(measurement: Measurement, runs: dict) -> str:
    """The factor, the tuned rates, and a warning where one lies on the edge of its grid."""
    rates = ", ".join(f"{name} lr {best(r):g}{' (ON THE EDGE)' if on_edge(r) else ''}" for name, r in runs.items())
    first = next(iter(runs.values()))
    tuned = f"{first.sizes['lr']} rates on {int((first.seed >= FIRST_TUNING_SEED).sum())} tuning seeds each"
    return f"{factor(measurement)}; {rates}; {tuned}"
