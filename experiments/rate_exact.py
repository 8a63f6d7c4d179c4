"""Exact MARS at gamma = 1 under the theorem's schedule: how fast do error and gradient fall?"""

from marslab.experiment import Budget, Experiment, moments, simulate
from marslab.noise import additive
from marslab.problems import quadratic
from marslab.schedules import theorem

DIMENSION = 20
problem = quadratic(spectrum=1.0, shape=(DIMENSION,), start_scale=DIMENSION**-0.5)  # |grad F(x_1)| = 1
one_mode = quadratic(spectrum=(1.0,))
setting = dict(noise=additive(sigma=1.0), exact=True, gamma=1.0)

experiment = Experiment(
    title="Exact MARS under the theorem's schedule",
    question="Does the estimator's error fall like T^(-1/3), and when does the gradient norm follow?",
    runs={
        "monte_carlo": simulate(
            "mars",
            problem=problem,
            **setting,
            **theorem(c=33, s=190),
            steps=Budget(20_000, 200_000),
            seeds=Budget(64, 256),
            record=80,
            keep=("grad_norm", "error"),
        ),
        "moments": moments("mars", problem=one_mode, **setting, **theorem(c=33, s=190), steps=1_000_000, record=300),
        "moments_unit": moments("mars", problem=one_mode, **setting, **theorem(c=1, s=1), steps=1_000_000, record=300),
    },
)
