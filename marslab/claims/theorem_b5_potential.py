r"""The potential of theorem B.5's proof falls at every single step by what the proof says.

With gamma = 1 and H = I (rho = 1) the proof's potential is P_t = E F(x_t) + E|e_t|^2 / (16 L^2 eta_{t-1}). Three lemmas
enter: E|e_{t+1}|^2 <= beta^2 E|e_t|^2 + 2 beta^2 L^2 E|d_t|^2 + 2 (1 - beta)^2 sigma^2 with d_t = x_{t+1} - x_t; F(x_{t+1})
<= F(x_t) - |d_t|^2 / (2 eta_t) + eta_t |e_t|^2 where eta_t <= 1 / (2 L); and 1 / eta_t - 1 / eta_{t-1} <= eta_t. Since
beta^2 <= beta = 1 - c eta_t^2 and c - 1 = 32 L^2, the error's part falls by 2 eta_t |e_t|^2, up to |d_t|^2 / (8 eta_t) and
c^2 eta_t^3 sigma^2 / (8 L^2). Together

    P_{t+1} - P_t <= - eta_t E|e_t|^2 - 3 E|d_t|^2 / (8 eta_t) + c^2 eta_t^3 sigma^2 / (8 L^2).

Every term is an exact moment (E|d_t|^2 = eta_t^2 E|m_t|^2). The claim is sharper than the theorem, which only sums it.
Measured as the largest excess of the left side over the right, as a share of the noise term, over the steps from 1 on.
"""

import numpy as np

from marslab.claims._theorem import TIGHTEST, Setting, column, curves, problem_of
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def measure(data, rule, noise, exact, beta, steps):
    """The largest excess over the smoothnesses and noise levels."""
    excess = [excesses(rule, noise, exact, beta, steps, L) for L in (TIGHTEST, 1.0)]
    largest = max(float(e.max()) for e in excess)
    note = f"the step comes as close to the bound as {-largest:.3g} of the noise term; {steps} steps, each one checked"
    return Finding(Measurement(largest, kind="exact"), steps=steps, evaluations=2 * steps - 1, note=note)


def excesses(rule, noise, exact, beta, steps, L) -> np.ndarray:
    """(P_{t+1} - P_t - allowed) / noise term at t = 1..steps-1, a row for each noise level; ``beta`` None: the theorem's."""
    setting, sigma = Setting(L, column(noise)), column(noise)
    schedules = setting.schedules | ({} if beta is None else {"beta1": beta})
    options = dict(problem=problem_of(L), noise=noise, exact=exact, steps=steps, gamma=1.0, **schedules)
    found = curves(rule, squared_estimate=True, record=list(range(1, steps + 1)), **options)
    rate, before = ((setting.s + found["t"] - back) ** (-1 / 3) for back in (0, 1))
    potential = found["loss_gap"] + found["error_squared"] / (16 * L**2 * before)
    allowance = (setting.c * sigma / L) ** 2 * rate**3 / 8
    allowed = allowance - rate * found["error_squared"] - 3 / 8 * rate * found["estimate_squared"]
    return (np.diff(potential) - allowed[:, :-1]) / allowance[:, :-1]


theorem_b5_potential = Claim(
    name="theorem_b5_potential",
    statement="The potential in the proof of theorem B.5 falls at each step by what the proof says (γ = 1, repaired s).",
    source="arXiv 2411.10438, proof of theorem B.5, (C.6) to (C.8)",
    kind="exact",
    unit="largest excess, shares of the noise term",
    side="below",
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "noise": additive(sigma=(1.0, 0.05)), "exact": True, "beta": None, "steps": Budget(1_000, 20_000)},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "beta stays constant": Plant({"beta": 0.3}),
    },
)
