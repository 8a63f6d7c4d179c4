r"""With the clip of algorithm 1 and noise that is not symmetric MARS does not go to a stationary point.

Lemma C.2 follows the unclipped recursion; the algorithm clips. With eta -> 0, m averages the clipped c, so the limit solves
E clip(c, r) = 0, which is grad F = 0 only where the clip leaves the mean at zero, as for symmetric noise. Take F = x^2 / 2,
r = 1 and noise of mean zero that is 2 in a third of the draws and -1 in the others. The noise cancels in the difference of
the exact form, so c = x + z + u with u the (small, symmetric) true correction. For 0 < x + u < 1: x + 2 + u is clipped to 1
and x - 1 + u passes, so E clip = 1/3 + (2/3)(x - 1 + E u) = 0 at x = 1/2. The run settles at |grad F| = 1/2 whatever T: the
error m - grad F keeps the bias -1/2 that the clip adds. With r = inf the same run goes to zero. Measured: the mean of |grad
F| over the second half of the steps, gamma = 1, c = 33, s = 190; the margin covers the size of the fluctuations.
"""

import math

from marslab.claims._broken import Skewed, clipped_mars
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.simulate import run
from marslab.verdicts import Measurement


def measure(data, rule, noise, radius, steps, seeds):
    """The mean gradient norm over the second half of the steps."""
    found = run(rule, problem=quadratic(spectrum=(1.0,)), noise=noise, steps=steps, seeds=seeds, exact=True, gamma=1.0,
                record=list(range(steps // 2, steps + 1, 20)), clip_radius=radius, **theorem(c=33, s=190))  # fmt: skip
    note = f"the estimate's error there is {found.error.values.mean():.3f} on average; unclipped, both go to zero"
    return Finding(Measurement.of(found.grad_norm.mean("step").values), steps, int(found.evaluations[-1]), note)


clip_moves_the_limit = Claim(
    name="clip_moves_the_limit",
    statement="Clipping c at 1 under skewed noise moves the limit of exact MARS to |∇F| = 1/2: not a stationary point.",
    source="derived here, on arXiv 2411.10438, algorithm 1 and lemma C.2",
    kind="Monte Carlo",
    unit="gradient norm",
    margin=0.05,
    predict=lambda: 0.5,
    measure=measure,
    settings={
        "rule": clipped_mars,
        "noise": Skewed(sigma=1.0),
        "radius": 1.0,
        "steps": Budget(5_000, 50_000),
        "seeds": Budget(64, 256),
    },
    plants={
        "the clip is off": Plant({"radius": math.inf}),
        "the noise is symmetric": Plant({"noise": additive(sigma=1.0)}),
    },
)
