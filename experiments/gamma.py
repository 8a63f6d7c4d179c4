"""The stationary gradient norm against gamma, exact and approximate, under two kinds of noise."""

from marslab.experiment import Budget, Experiment, simulate
from marslab.noise import additive, curvature
from marslab.problems import bowl, quadratic

GAMMAS = [0.0, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.5]
STEPS = Budget(8_000, 80_000)
plain = dict(
    problem=quadratic(spectrum=1.0, shape=(20,), start_scale=0.1),
    gamma=GAMMAS,
    beta1=0.95,
    lr=0.5,
    steps=STEPS,
    seeds=Budget(16, 64),
    record=Budget([4000, 8000], [40000, 80000]),  # the second half is averaged
    keep=("grad_norm_squared_mean", "diverged_at"),
)
adaptive = {**plain, "problem": bowl(dimension=20), "lr": 0.01, "noise": additive(sigma=1.0)}

experiment = Experiment(
    title="Gradient norm against gamma",
    question="Which gamma is best, in which form, under which noise?",
    runs={
        "exact_additive": simulate("mars", **plain, noise=additive(sigma=1.0), exact=True),
        "approximate_additive": simulate("mars", **plain, noise=additive(sigma=1.0), exact=False),
        "exact_curvature": simulate("mars", **plain, noise=additive(sigma=1.0) + curvature(level=1.0), exact=True),
        "approximate_curvature": simulate("mars", **plain, noise=additive(sigma=1.0) + curvature(level=1.0), exact=False),
        "exact_adamw": simulate("mars_adamw", **adaptive, exact=True),
        "approximate_adamw": simulate("mars_adamw", **adaptive, exact=False),
    },
)
