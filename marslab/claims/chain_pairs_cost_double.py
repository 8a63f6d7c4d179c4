r"""On the mean-squared smooth chain the second gradient is paid for and buys nothing: exact MARS needs twice the queries.

Both points of a pair share the sample, hence its luck: a lucky sample shows one coordinate, whether it is asked once or
twice. So exact MARS needs T/p samples like every other method (chain_unlocks_one_coordinate), and 2 T/p gradient
evaluations, where approximate MARS needs T/p. One learning rate for both, at which each is within a few percent of T/p
samples, the least possible: no tuning could change the ratio by more than that. Ratio of mean gradient evaluations,
exact over approximate, resampled over seeds in which both see the same samples, T = 6, p = 0.02; margin 0.1. (The
eps^-3 of exact MARS is won on noise that differences of one sample cancel, as in exact_error_rate, not here.)
"""

import numpy as np

from marslab.claims._chain import RATE, enough, finished, guessing
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import unlock
from marslab.optimizers import mars
from marslab.problems import chain
from marslab.verdicts import Measurement

PROBLEM, CHANCE = chain(6), 0.02


def measure(data, rule, pair, noise, seeds):
    """Evaluations of the two forms, over each other."""
    steps = enough(PROBLEM, CHANCE)
    shared = dict(problem=PROBLEM, noise=noise, below=1.0, steps=steps, seeds=seeds, gamma=0.025, lr=2 * RATE)
    two, one = finished(pair, exact=True, **shared), finished(rule, exact=False, **shared)
    unit = PROBLEM.dimension / CHANCE
    note = f"mean evaluations over T/p: exact {two.mean() / unit:.3f}, approximate {one.mean() / unit:.3f}"
    return Finding(Measurement.resampled(ratio, np.stack([two, one], axis=1)), steps, 2 * steps - 1, note)


def ratio(counts) -> float:
    """Mean of the first column over that of the second: the mean of ratios would hang on single seeds."""
    return counts[:, 0].mean() / counts[:, 1].mean()


chain_pairs_cost_double = Claim(
    name="chain_pairs_cost_double",
    statement="On the mean-squared smooth chain exact MARS needs twice the gradient evaluations of the approximate form.",
    source="derived here, on the second oracle of arXiv 1912.02365",
    kind="Monte Carlo",
    unit="ratio of gradient evaluations",
    margin=0.1,
    predict=lambda: 2.0,
    measure=measure,
    settings={"rule": mars, "pair": mars, "noise": unlock(CHANCE, smooth=True), "seeds": Budget(64, 1024)},
    plants={
        "the pair moves what it has not seen": Plant({"pair": guessing}),
        "the approximate form does": Plant({"rule": guessing}),
    },
)
