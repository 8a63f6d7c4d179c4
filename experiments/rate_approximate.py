"""Approximate MARS at gamma = 1 under the theorem's schedule: plain SGD, and slower than SGD's best schedule."""

from marslab.experiment import Budget, Experiment, moments, simulate
from marslab.noise import additive
from marslab.problems import quadratic
from marslab.schedules import theorem

DIMENSION = 20
problem = quadratic(spectrum=1.0, shape=(DIMENSION,), start_scale=DIMENSION**-0.5)  # |grad F(x_1)| = 1
setting = dict(noise=additive(sigma=1.0), exact=False, gamma=1.0, **theorem(c=33, s=190))

experiment = Experiment(
    title="Approximate MARS under the theorem's schedule",
    question="What is left of the rate when the second gradient is replaced by the last step's?",
    runs={
        "monte_carlo": simulate(
            "mars",
            problem=problem,
            **setting,
            steps=Budget(20_000, 200_000),
            seeds=Budget(64, 256),
            record=80,
            keep=("grad_norm", "error"),
        ),
        "moments": moments("mars", problem=quadratic(spectrum=(1.0,)), **setting, steps=1_000_000, record=300),
    },
)
