"""A race on a small network: AdamW, Lion, Muon and their MARS forms, each at its own tuned learning rate."""

from marslab.experiment import Budget, Experiment, simulate
from marslab.noise import minibatch
from marslab.problems import two_layer

RATES = [0.003, 0.006, 0.012, 0.024, 0.048]  # five of each kind, a factor of two apart
SIGN_RATES = [0.0006, 0.0012, 0.0024, 0.0048, 0.0096]
MATRIX_RATES = [0.005, 0.01, 0.02, 0.04, 0.08]
setting = dict(
    problem=two_layer(data="digits"),
    noise=minibatch(batch=16),
    steps=200,
    record=[100, 200],
    seeds=Budget([*range(32), *range(100, 106)], [*range(96), *range(100, 116)]),  # reporting below 100, tuning above
    keep=("loss",),
    weight_decay=0.0,
)

experiment = Experiment(
    title="Digits: AdamW, Lion, Muon and MARS",
    question="Which tuned method ends lowest, and does MARS improve the method it is built on?",
    runs={
        "adamw": simulate("adamw", **setting, lr=RATES, beta1=0.9, beta2=0.999),
        "adamw_paper": simulate("adamw", **setting, lr=RATES, beta1=0.9, beta2=0.95),  # the paper's baseline
        "mars": simulate("mars_adamw", **setting, lr=RATES, exact=False),
        "mars_exact": simulate("mars_adamw", **setting, lr=RATES, exact=True),
        "lion": simulate("lion", **setting, lr=SIGN_RATES),
        "mars_lion": simulate("mars_lion", **setting, lr=SIGN_RATES, exact=False),
        "muon": simulate(
            "muon", **setting, lr=MATRIX_RATES, fallback="adamw", fallback_options={"lr": 0.012, "weight_decay": 0.0}
        ),
    },
)
