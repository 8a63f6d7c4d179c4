r"""Theorem B.5's bound on the scaled squared step, in the form that its proof gives.

The potential F + |e_t|^2 / (16 L^2 eta_{t-1}) of theorem B.5 (claim theorem_b5_error_bound) also falls by 3 |x_{t+1} -
x_t|^2 / (8 eta_t). Summed, and with 1 / eta_T <= 2 T^(1/3) for T >= s, H = I and gamma = 1,

    1/T sum E|x_{t+1} - x_t|^2 / eta_t^2 <= [16 G / 3 + 2 c^2 sigma^2 log(s + T) / (3 L^2)] T^(-2/3).

The statement prints 1 / eta_t in place of 1 / eta_t^2; since eta_t < 1 that is weaker, so the stronger form is held against
the exact moments here. The summand is E|m_t|^2: it comes from the moments of two estimates, m and 2 m, by 2 E|m|^2 = E|2m -
F'|^2 - 2 E|m - F'|^2 + E|F'|^2. Problems, schedules and averages are those of theorem_b5_error_bound.
"""

import dataclasses

from marslab.claims._symbols import wrong_sign
from marslab.claims._theorem import LEVELS, worst_ratio
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def measure(data, rule, noise, exact, steps):
    """The largest ratio of the mean squared estimate to its bound."""
    largest, smallest = worst_ratio(rule, noise, exact, steps, "estimate_squared", "step_bound")
    note = f"the bound is at least {1 / largest:.0f} and up to {1 / smallest:.0f} times too large, to T = {steps:.0e}"
    return Finding(Measurement(largest, kind="exact"), steps=steps, evaluations=2 * steps - 1, note=note)


theorem_b5_step_bound = Claim(
    name="theorem_b5_step_bound",
    statement="Theorem B.5 bounds the mean of E|x_{t+1} − x_t|²/η_t², stronger than printed, at every T ≥ s (γ = 1).",
    source="arXiv 2411.10438, theorem B.5 and its proof; s and H = I as corrected here",
    kind="exact",
    unit="largest ratio to the bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "noise": additive(sigma=LEVELS), "exact": True, "steps": Budget(100_000, 1_000_000)},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "the difference is taken the other way round": Plant({"rule": dataclasses.replace(mars, function=wrong_sign)}),
    },
)
