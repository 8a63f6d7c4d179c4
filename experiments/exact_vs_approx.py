"""Where the exact and the approximate form differ: a map over gamma and the step size in units of curvature."""

from marslab.experiment import Budget, Experiment, simulate
from marslab.noise import additive
from marslab.problems import quadratic

GAMMAS = [0.0025, 0.008, 0.025, 0.05, 0.08, 0.15, 0.25, 0.5, 1.0]
RATES = [0.03, 0.1, 0.3, 0.6, 1.0, 1.7, 3.0, 6.0, 10.0, 20.0]
setting = dict(
    problem=quadratic(spectrum=1.0, shape=(20,), start_scale=0.1),  # curvature 1: the rate is eta * lambda
    noise=additive(sigma=1.0),
    gamma=GAMMAS,
    lr=RATES,
    beta1=0.95,
    steps=Budget(3_000, 30_000),
    seeds=Budget(16, 64),
    record=Budget([1500, 3000], [15000, 30000]),  # the second half is averaged
    keep=("grad_norm_squared_mean", "diverged_at"),
)

experiment = Experiment(
    title="Exact against approximate",
    question="For which gamma and step size does the second gradient change the stationary gradient norm?",
    runs={"exact": simulate("mars", **setting, exact=True), "approximate": simulate("mars", **setting, exact=False)},
)
