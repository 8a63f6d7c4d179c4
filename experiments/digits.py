"""A small network on real data: AdamW against MARS-AdamW, exact and approximate, at equal gradient evaluations."""

from marslab.experiment import Budget, Experiment, simulate
from marslab.noise import minibatch
from marslab.problems import two_layer

STEPS = 2_000  # the exact form spends two gradients a step: it is compared after half of its steps
RECORD = [1, 3, 10, 30, 100, 200, 500, 1_000, 2_000]
RATES = [0.003, 0.006, 0.012, 0.024, 0.048]
SEEDS = Budget([*range(16), *range(100, 108)], [*range(64), *range(100, 116)])  # reporting below 100, tuning above
setting = dict(
    problem=two_layer(data="digits"),
    noise=minibatch(batch=32),
    lr=RATES,
    seeds=SEEDS,
    record=RECORD,
    steps=STEPS,
    keep=("loss", "diverged_at", "evaluations"),
    eps=1e-8,
    weight_decay=0.0,
)

experiment = Experiment(
    title="Digits: AdamW and MARS-AdamW",
    question="At equal gradient evaluations and equal tuning, who ends with the lower training loss?",
    runs={
        "adamw": simulate("adamw", **setting, beta1=0.9, beta2=0.999),
        "adamw_betas": simulate("adamw", **setting, beta1=0.95, beta2=0.99),  # control: AdamW with MARS's betas
        "approximate": simulate("mars_adamw", **setting, exact=False),
        "exact": simulate("mars_adamw", **setting, exact=True),
    },
)
