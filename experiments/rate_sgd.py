"""SGD with a step size of t^(-1/2): the rate that variance reduction has to beat."""

from marslab.experiment import Budget, Experiment, moments, simulate
from marslab.noise import additive
from marslab.problems import quadratic
from marslab.schedules import PowerLaw

DIMENSION = 20
problem = quadratic(spectrum=1.0, shape=(DIMENSION,), start_scale=DIMENSION**-0.5)  # |grad F(x_1)| = 1
setting = dict(noise=additive(sigma=1.0), lr=PowerLaw(1.0, 0.5))

experiment = Experiment(
    title="SGD with a step size of t^(-1/2)",
    question="Does the gradient norm of SGD fall like T^(-1/4)?",
    runs={
        "monte_carlo": simulate(
            "sgd",
            problem=problem,
            **setting,
            steps=Budget(20_000, 200_000),
            seeds=Budget(64, 256),
            record=80,
            keep=("grad_norm",),
        ),
        "moments": moments("sgd", problem=quadratic(spectrum=(1.0,)), **setting, steps=1_000_000, record=300),
    },
)
