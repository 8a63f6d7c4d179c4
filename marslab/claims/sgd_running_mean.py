r"""SGD with the step size 1/(lambda t) ends where the mean of all its samples has its minimum.

On F = lambda x^2 / 2 with g = lambda x + z and eta_t = 1/(lambda t): x_{t+1} = (1 - 1/t) x_t - z_t / (lambda t), so that t
x_{t+1} = (t - 1) x_t - z_t / lambda and x_{t+1} = -(z_1 + ... + z_t) / (lambda t), whatever x_1 was. Hence E F'(x_{T+1})^2 =
sigma^2 / T for every T: the start is forgotten in one step, since the first step is exactly 1/lambda. Measured by exact
moments as the largest relative difference from sigma^2 / T over all recorded steps up to 10^4; with a schedule that starts
one step late it is of the order of the start.
"""

import numpy as np

from marslab.claims.base import Claim, Finding, Plant
from marslab.moments import propagate
from marslab.noise import additive
from marslab.optimizers import sgd
from marslab.problems import quadratic
from marslab.schedules import PowerLaw
from marslab.verdicts import Measurement

CURVATURE, STEPS = 0.5, 10_000


def measure(data, rule, schedule, noise):
    """The largest relative difference from 1/T; the record of step t stands before it, after t - 1 samples."""
    found = propagate(rule, problem=quadratic(spectrum=(CURVATURE,)), noise=noise, steps=STEPS, lr=schedule, record=200)
    t, squares = found.step.values[1:], found.grad_norm_squared.values[1:]
    return Finding(
        Measurement(float(np.abs(squares * (t - 1) - 1).max()), kind="exact"), STEPS, STEPS, "at every recorded step"
    )


sgd_running_mean = Claim(
    name="sgd_running_mean",
    statement="SGD with steps 1/(λt) on a quadratic is the running mean: E|∇F(x_{T+1})|² = σ²/T for every T and every start.",
    source="derived here",
    kind="exact",
    unit="largest relative difference",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": sgd, "schedule": PowerLaw(1 / CURVATURE, 1.0), "noise": additive(sigma=1.0)},
    plants={
        "the schedule starts one step late": Plant({"schedule": PowerLaw(1 / CURVATURE, 1.0, 1.0)}),
        "the noise is correlated": Plant({"noise": additive(sigma=1.0, correlation=0.5)}),
    },
)
