r"""Theorem B.6, corrected, for MARS-AdamW with weight decay, in a setting where its assumptions can be met.

The clip has to be there for lemma C.1 (|c| <= 1) and absent for lemma C.2, so the theorem covers runs in which it never
acts. With epsilon = 1, H = diag(sqrt v) + 1 is at least rho = 1; beta_{1,1} = beta_{2,1} = 0 make m_1 = g_1 and the bias
corrections one, as the proof has it, and beta_{2,t+1} = 1 - eta_t^6. Lemma C.4 leaves |x' - x|^2 / (4 eta) and adds lambda
D^2 sqrt(2 (1 - beta_2)) / 2 = lambda D^2 eta^3 / sqrt 2, whose sum is below lambda D^2 log(s + T); otherwise the proof is
that of B.5 with the potential F + lambda x' H x / 2 + |e|^2 / (16 L^2 eta). Hence, with |x_t| <= D,

    1/T sum E|e_t|^2 <= [2 rho (G + lambda D^2 log(s + T)) + rho^2 c^2 sigma^2 log(s + T) / (4 L^2)] T^(-2/3),

G = F(x_1) - min F + lambda D^2 (1 + epsilon) / 2 + rho s^(1/3) sigma^2 / (16 L^2); printed is rho where the proof has
rho^2, the same at rho = 1. Held on F = L |x|^2 / 2 with L = 32^(-1/2), where c = 2 and the bound is smallest, noise of fair
signs, s = 2 >= 64 lambda^3. D is the largest |x_t| seen, and the note counts clips. Each seed gives its largest ratio over
recorded T >= s. (With prev of another sample the gain beta / (1 - beta) sets off the clip, so that such a run lies outside
the theorem: this check is blind to that fault.)
"""

import dataclasses
import math

import numpy as np
import torch

from marslab.claims._theorem import TIGHTEST, Setting, grid, running_mean
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars_adamw
from marslab.problems import quadratic
from marslab.simulate import run
from marslab.verdicts import Measurement

SIGMA, DECAY, EPS, DIMENSION = 0.2, 0.01, 1.0, 4
PROBLEM = quadratic(spectrum=(TIGHTEST,) * DIMENSION, start_scale=0.2)
SETTING = Setting(L=TIGHTEST, sigma=SIGMA, gap=TIGHTEST * DIMENSION * 0.2**2 / 2)


def second_beta(t):
    """beta_{2,1} = 0 and beta_{2,t+1} = 1 - eta_t^6."""
    t = torch.as_tensor(t, dtype=torch.float64)
    return torch.where(t <= 1, 0.0, 1 - (SETTING.s + (t - 1).clamp(min=1)) ** -2)


def measure(data, rule, noise, beta, steps, seeds):
    """The largest ratio over T, in each seed."""
    schedules = SETTING.schedules | ({} if beta is None else {"beta1": beta})
    found = run(rule, problem=PROBLEM, noise=noise, steps=steps, seeds=seeds, exact=True, gamma=1.0, record=grid(steps),
                eps=EPS, weight_decay=DECAY, beta2=second_beta, **schedules)  # fmt: skip
    t = found.step.values.astype(float)
    D = math.sqrt(2 * float(found.loss_gap.max()) / TIGHTEST)
    ratios = running_mean(t, np.square(found.error.transpose("seed", "step").values)) / bound(t, D)
    largest = ratios[:, t >= SETTING.s].max(axis=1)
    clips = int((found.clip_scale < 1).sum())
    loose = 1 / ratios[:, -1].mean()
    note = f"{clips} clips in {found.clip_scale.size} records; D = {D:.2f}; at the last T {loose:.0f} times too large"
    return Finding(Measurement.of(largest), steps, int(found.evaluations[-1]), note)


def bound(t, D: float):
    """The bound at every T of t."""
    shared = dataclasses.replace(SETTING, gap=SETTING.gap + DECAY * D**2 * (1 + EPS) / 2)
    return shared.error_bound(t) + 2 * DECAY * D**2 * np.log(SETTING.s + t) * t ** (-2 / 3)


theorem_b6_bound = Claim(
    name="theorem_b6_bound",
    statement="Theorem B.6, corrected, bounds the error of MARS-AdamW with decay at ε = 1, in runs in which no clip acts.",
    source="arXiv 2411.10438, theorem B.6; s as corrected here",
    kind="Monte Carlo",
    unit="largest ratio to the bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={
        "rule": mars_adamw,
        "noise": additive(sigma=SIGMA, law="rademacher"),
        "beta": None,
        "steps": Budget(10_000, 100_000),
        "seeds": Budget(24, 64),
    },
    plants={
        "beta stays constant": Plant({"beta": 0.05}),
        "the noise is correlated": Plant({"noise": additive(sigma=SIGMA, law="rademacher", correlation=0.9995)}),
    },
)
