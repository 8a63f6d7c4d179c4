r"""On the chain of the lower bounds every method waits for the same luck: T/p samples, one coordinate after the other.

F_T is problems.chain and the oracle noise.unlock(p): where the last coordinate above 1/4 is the k-th, a sample shows
the slope of coordinate k + 1 with the chance p only, and nothing beyond. A method that leaves coordinates alone whose
slope it has never seen therefore gets past at most one coordinate per lucky sample, so the samples until |grad F_T| <=
1 (which needs all T coordinates) are at least a sum of T geometric waiting times: T/p on average, whatever the method,
its memory, its preconditioner or the second gradient on the same sample. The bound is met by any step that takes a
coordinate over its link at first sight.

Measured for momentum, approximate MARS and SGD (gamma 0, 0.025 and 1), exact MARS and STORM, AdamW and MARS-AdamW
(unclipped) at three learning rates each: p/T times the mean samples of the luckiest cell of all, which must be 1 within
15 %. Taking the least of 27 cells can only work against the bound.
"""

import math

from marslab.claims._chain import enough, finished, guessing
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import unlock
from marslab.optimizers import adamw, mars, mars_adamw
from marslab.problems import chain
from marslab.verdicts import Measurement

PROBLEM, CHANCE = chain(6), 0.02
PLAIN = {"lr": [0.03, 0.06, 0.12]}
SCALED = {"lr": [0.3, 0.6, 1.2], "beta1": 0.9, "weight_decay": 0.0}


def measure(data, rule, noise, seeds):
    """Samples that the best of all cells needed, in units of T/p."""
    shared = dict(problem=PROBLEM, noise=noise, below=1.0, steps=enough(PROBLEM, CHANCE), seeds=seeds)
    unclipped = SCALED | {"clip_radius": math.inf}
    found = {
        "one gradient": finished(rule, exact=False, gamma=[0.0, 0.025, 1.0], **PLAIN, **shared),
        "two gradients": (finished(rule, exact=True, gamma=[0.025, 1.0], **PLAIN, **shared) + 1) / 2,
        "AdamW": finished(adamw, **SCALED, **shared),
        "MARS-AdamW": finished(mars_adamw, exact=False, **unclipped, **shared),
    }
    unit = PROBLEM.dimension / CHANCE
    least = {name: cells.reshape(-1, cells.shape[-1]) / unit for name, cells in found.items()}
    least = {name: min(cells, key=lambda cell: cell.mean()) for name, cells in least.items()}
    best = min(least.values(), key=lambda cell: cell.mean())
    note = "samples over T/p, best cell: " + ", ".join(f"{name} {cell.mean():.3f}" for name, cell in least.items())
    return Finding(Measurement.of(best), shared["steps"], 2 * shared["steps"] - 1, note)


chain_unlocks_one_coordinate = Claim(
    name="chain_unlocks_one_coordinate",
    statement="On the chain with chance p, no method finishes T coordinates before T/p samples on average; all get close.",
    source="arXiv 1912.02365, the probabilistic chain; for our methods derived here",
    kind="Monte Carlo",
    unit="samples over T / p",
    margin=0.15,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "noise": unlock(CHANCE), "seeds": Budget(256, 4096)},
    plants={
        "the method moves what it has not seen": Plant({"rule": guessing}),
        "every second sample shows the next coordinate": Plant({"noise": unlock(0.5)}),
    },
)
