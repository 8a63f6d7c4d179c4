r"""Under the theorem's schedule the first estimate is the first gradient: its error is sigma^2, for every c and s.

The proof of theorem B.5 starts at m_1 = g_1, that is at beta_{1,1} = 0, although algorithm 1 leaves beta_{1,1} open.
With that value m_1 = 0 * m_0 + 1 * g_1 and E|m_1 - grad F(x_1)|^2 = sigma^2, and the next beta is 1 - c eta_1^2 = 1 - c
(s + 1)^(-2/3): the error of the second step is then, at gamma = 1 with additive noise, E|eps_2|^2 = (beta^2 + (1 -
beta)^2) sigma^2, since the noise of the correction cancels and the noises of the two samples are independent. Both
numbers are compared with exact moments; a schedule that is off by one step shows in both.
"""

from marslab.claims.base import Claim, Finding, Plant
from marslab.moments import propagate
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import PowerLaw, TheoremBeta, theorem
from marslab.verdicts import Measurement

C, S = 33, 300


def measure(data, rule, schedule, exact, noise):
    """The larger of the relative differences of the first two errors."""
    found = propagate(
        rule, problem=quadratic(spectrum=(1.0,)), noise=noise, steps=3, record=[1, 2], exact=exact, gamma=1.0, **schedule
    )
    beta = 1 - C * (S + 1) ** (-2 / 3)
    first, second = found.error_squared.values
    gaps = abs(first - 1), abs(second / (beta**2 + (1 - beta) ** 2) - 1)
    return Finding(
        Measurement(float(max(gaps)), kind="exact"), 2, 3, f"errors {first:.6f} and {second:.6f}, beta_2 = {beta:.4f}"
    )


theorem_first_estimate = Claim(
    name="theorem_first_estimate",
    statement="The theorem's schedule starts at m₁ = g₁: the first error is σ², the second (β² + (1−β)²)σ² with β = β₁,₂.",
    source="arXiv 2411.10438, the proof of theorem B.5; derived here",
    kind="exact",
    unit="largest relative difference",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "schedule": theorem(c=C, s=S), "exact": True, "noise": additive(sigma=1.0)},
    plants={
        "beta stays constant": Plant({"schedule": {"lr": PowerLaw(1.0, 1 / 3, S), "beta1": 0.5}}),
        "beta is one step late": Plant({"schedule": {"lr": PowerLaw(1.0, 1 / 3, S), "beta1": TheoremBeta(C, S + 1)}}),
        "prev is of another sample": Plant({"exact": False}),
    },
)
