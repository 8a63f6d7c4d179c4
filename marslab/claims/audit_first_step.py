r"""Theorem B.5's bound does not cover algorithm 1's own first step.

The proof starts from m_1 = g_1, so that E|eps_1|^2 <= sigma^2: this is the term rho s^(1/3) sigma^2/(16 L^2) in G.
Algorithm 1 starts from m_0 = 0, so m_1 = (1 - beta_{1,1}) g_1 and E|eps_1|^2 = beta_{1,1}^2 |grad F(x_1)|^2 + (1 -
beta_{1,1})^2 sigma^2: unbounded in the gradient. With the schedule continued to its first index, beta_{1,1} = 1 - c eta_0^2
= 1 - c s^(-2/3).

How long it lasts. With additive noise and gamma = 1, eps_{t+1} = beta eps_t + (1 - beta) z whatever the path, so the first
step adds (prod_{i <= t} beta_i)^2 |grad F(x_1)|^2, which dies out after s^(2/3)/c steps: the mean error up to T = s gains
about |grad F(x_1)|^2 s^(-1/3)/(2 c), while the bound at T = s grows only by 2 rho (F(x_1) - min F) s^(-2/3). For large s
the bound breaks. Counterexample: F = L x^2/2, L = 0.1, rho = sigma = 1, c = 32 L^2/rho^2 + 1, |grad F(x_1)| = 100, s = T =
10^5, by exact moments at 600 log-spaced steps and the trapezoidal rule (0.1 % off the sum over all steps, far less than the
violation). Claimed: the ratio of the mean error to the bound is at most 1. With beta_{1,1} = 0, the
proof's start, it is. The clip is off, as in the proof.
"""

from dataclasses import dataclass

import numpy as np
import torch

from marslab import optimizers
from marslab.claims._audit import error_bound
from marslab.claims.base import Claim, Finding, Plant
from marslab.moments import propagate
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import PowerLaw, TheoremBeta
from marslab.verdicts import Measurement

STEPS, S, L = 100_000, 1e5, 0.1
C = 32 * L**2 + 1


@dataclass(frozen=True)
class Continued:
    """beta_{1,t} = 1 - c (s + t - 1)^(-2/3) from t = 1 on."""

    c: float
    s: float

    def __call__(self, t):
        """The value at step t."""
        return 1 - self.c * (self.s + torch.as_tensor(t, dtype=torch.float64) - 1) ** (-2 / 3)


def errors(rule, schedule, slope: float) -> tuple[float, float]:
    """E|eps_1|^2 and the mean of E|eps_t|^2 over t = 1..STEPS."""
    run = propagate(
        optimizers.find_rule(rule),
        problem=quadratic([L], start_scale=slope / L),
        noise=additive(1.0),
        steps=STEPS,
        exact=True,
        gamma=1.0,
        record=600,
        lr=PowerLaw(1.0, 1 / 3, S),
        beta1=schedule(C, S),
    )
    error = run.error_squared.values
    return float(error[0]), float((np.trapezoid(error, run.step.values) + error[0]) / STEPS)


def measure(data, rule, schedule, slope):
    """The mean error over the bound, and how far the first error exceeds sigma^2."""
    bound = error_bound(STEPS, L=L, rho=1, sigma=1, c=C, s=S, gap=slope**2 / (2 * L))
    first, mean = errors(rule, schedule, slope)
    proof = errors(rule, TheoremBeta, slope)
    note = f"E|ε₁|² = {first:.4g} σ² (the proof takes {proof[0]:.3g} σ²); from m₁ = g₁ the ratio is {proof[1] / bound:.2g}"
    return Finding(Measurement(mean / bound, kind="exact"), STEPS, 2 * STEPS - 1, note)


audit_first_step = Claim(
    name="audit_first_step",
    statement="Theorem B.5's error bound covers algorithm 1 as it starts, m₀ = 0 and m₁ = (1 − β₁)g₁.",
    source="arXiv 2411.10438, algorithm 1 and the proof of theorem B.5",
    kind="exact",
    unit="mean error / bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "schedule": Continued, "slope": 100.0},
    plants={"the start is ten times as far away": Plant({"slope": 1000.0})},
)
