r"""Theorem B.5's bound on the estimator's error, with its constants as its own proof gives them.

For H = I (rho = 1), gamma = 1 and m_1 = g_1 the proof runs as follows. The error e_t = m_t - grad F(x_t) obeys E|e_{t+1}|^2
<= beta^2 E|e_t|^2 + 2 beta^2 L^2 E|x_{t+1} - x_t|^2 + 2 (1 - beta)^2 sigma^2; the step lowers F by |x_{t+1} - x_t|^2 / (2
eta) up to eta |e_t|^2. With c = 32 L^2 + 1 and beta_{t+1} = 1 - c eta_t^2 >= 0 the potential F + |e_t|^2 / (16 L^2
eta_{t-1}) falls by eta_t |e_t|^2 up to c^2 sigma^2 eta_t^3 / (8 L^2). The sum of eta_t^3 = 1 / (s + t) is at most log(s +
T), and 1 / eta_T <= 2 T^(1/3) for T >= s. Hence, with G = F(x_1) - min F + s^(1/3) sigma^2 / (16 L^2),

    1/T sum E|e_t|^2 <= [2 G + c^2 sigma^2 log(s + T) / (4 L^2)] T^(-2/3).

Held against exact moments on quadratics at three L, the one where the bound is tightest (c = 2) among them, with noise and
almost without, at every recorded T >= s, each with the smallest s that keeps beta in [0, 1). The largest ratio counts.
Means over the steps are trapezoids between records, which on a convex falling curve can only be too large.
"""

from marslab.claims._theorem import LEVELS, worst_ratio
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def measure(data, rule, noise, exact, steps):
    """The largest ratio of the mean squared error to its bound."""
    largest, smallest = worst_ratio(rule, noise, exact, steps, "error_squared", "error_bound")
    note = f"the bound is at least {1 / largest:.0f} and up to {1 / smallest:.0f} times too large, to T = {steps:.0e}"
    return Finding(Measurement(largest, kind="exact"), steps=steps, evaluations=2 * steps - 1, note=note)


theorem_b5_error_bound = Claim(
    name="theorem_b5_error_bound",
    statement="Theorem B.5, corrected, bounds the mean squared error of the estimate at every T ≥ s (exact form, γ = 1).",
    source="arXiv 2411.10438, theorem B.5; s and H = I as corrected here",
    kind="exact",
    unit="largest ratio to the bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "noise": additive(sigma=LEVELS), "exact": True, "steps": Budget(100_000, 1_000_000)},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "the noise is correlated": Plant({"noise": additive(sigma=LEVELS, correlation=0.999)}),
    },
)
