r"""Without noise the exact and the approximate form are the same algorithm.

g(x_{t-1}, xi_t) and g(x_{t-1}, xi_{t-1}) are then both grad F(x_{t-1}), so every step agrees, clip, preconditioner and
nonconvexity included. Measured as the largest relative difference of the gradient norms of MARS, MARS-AdamW and
MARS-Lion on a nonconvex bowl over 300 steps.
"""

import numpy as np

from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive, curvature
from marslab.optimizers import mars, mars_adamw, mars_lion
from marslab.problems import bowl
from marslab.rule import Rule
from marslab.simulate import run
from marslab.verdicts import Measurement

RULES = ((mars, 0.05), (mars_adamw, 0.01), (mars_lion, 0.01))
STEPS = 300


def measure(data, noise):
    """Run both forms without noise and compare every gradient norm."""
    gaps = [difference(rule, lr, noise) for rule, lr in RULES]
    note = "with gamma = 0.5; " + ", ".join(f"{rule.name} {gap:.1e}" for (rule, _), gap in zip(RULES, gaps, strict=True))
    return Finding(Measurement(max(gaps), kind="exact"), STEPS, len(RULES) * (3 * STEPS - 1), note)


def difference(rule: Rule, lr: float, noise) -> float:
    """The largest relative difference between the two forms' gradient norms."""
    exact, approximate = (
        run(
            rule, problem=bowl(dimension=20), noise=noise, steps=STEPS, exact=mode, gamma=0.5, lr=lr, record=STEPS
        ).grad_norm.values
        for mode in (True, False)
    )
    return float(np.max(np.abs(exact - approximate) / approximate))


noiseless_coincidence = Claim(
    name="noiseless_coincidence",
    statement="Without gradient noise exact and approximate MARS walk the same path, for every preconditioner.",
    source="arXiv 2411.10438, remark 3.3",
    kind="exact",
    unit="relative difference",
    margin=1e-12,
    predict=lambda: 0.0,
    measure=measure,
    settings={"noise": None},
    plants={
        "there is a little additive noise": Plant({"noise": additive(sigma=1e-6)}),
        "there is a little noise of the curvature": Plant({"noise": curvature(level=1e-6)}),
    },
)
