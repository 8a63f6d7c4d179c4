r"""Approximate MARS-AdamW is QHAdam but for what its second moment averages.

By qhm_identity the numerator of unclipped approximate MARS-AdamW is (1 - gamma) e_t + gamma g_t, QHAdam's with nu_1 = 1
- gamma, nu_2 = 1; bias correction divides both parts by 1 - beta^t here and the average alone in QHAdam, which is
forgotten like beta^t, as is the first step. What is left is v: c_t^2 here (algorithm 2, and called a key difference to
earlier methods in remark 3.2), g_t^2 there. So with v from the raw gradient the two must end at the same loss at the
same lr; the margin is 1 %. With c_t^2 the loss at equal lr differs as between effective learning rates
(effective_learning_rate). Same ill-conditioned quadratic, noise and steps as matched_learning_rate, paired on common
noise; the worst of the steps 100, 300 and 1000 is judged.
"""

import math

import numpy as np

from marslab.claims.base import Claim, Finding, Plant
from marslab.claims.matched_learning_rate import LR, PROBLEM
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars_adamw, qhadam
from marslab.simulate import run
from marslab.verdicts import Measurement

RECORD = [100, 300, 1000]
GAMMA, BETAS = 0.025, {"beta1": 0.95, "beta2": 0.99}


def measure(data, rule, second_moment, radius, noise, seeds):
    """Mean log loss ratio over QHAdam's, at the step where it is furthest from 0; the ratio with v from c in the note."""
    shared = dict(problem=PROBLEM, noise=noise, steps=RECORD[-1], record=RECORD, seeds=seeds, lr=LR, **BETAS)
    ours = lambda v: run(rule, exact=False, gamma=GAMMA, clip_radius=radius, second_moment=v, **shared).loss.values
    other = run(qhadam, nu=1 - GAMMA, nu2=1.0, **shared).loss.values
    logs, corrected = (np.log(ours(v) / other) for v in (second_moment, "clipped"))
    worst = logs[:, np.abs(logs.mean(axis=0)).argmax()]
    note = f"with v from the corrected gradient the loss is {math.exp(corrected[:, -1].mean()):.3f} of QHAdam's in the end"
    return Finding(Measurement.of(worst), RECORD[-1], RECORD[-1], note)


qhadam_differs_by_v = Claim(
    name="qhadam_differs_by_v",
    statement="Unclipped approximate MARS-AdamW with v from raw gradients has QHAdam's loss within 1 %, ν₁ = 1 − γ.",
    source="derived here; arXiv 1810.06801 for QHAdam",
    kind="Monte Carlo",
    unit="log loss ratio",
    margin=math.log(1.01),
    predict=lambda: 0.0,
    measure=measure,
    settings={
        "rule": mars_adamw,
        "second_moment": "raw",
        "radius": math.inf,
        "noise": additive(20.0),
        "seeds": Budget(32, 512),
    },
    plants={
        "v averages the corrected gradient": Plant({"second_moment": "clipped"}),
        "the clip is on": Plant({"radius": 1.0}),
    },
)
