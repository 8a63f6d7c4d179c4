"""How the gain of approximate MARS-AdamW over AdamW depends on the batch, and so on the noise of the gradients."""

from marslab.experiment import Budget, Experiment, simulate
from marslab.noise import minibatch
from marslab.problems import two_layer

setting = dict(
    problem=two_layer(data="digits"),
    steps=200,
    record=[200],
    lr=[0.006, 0.012, 0.024, 0.048, 0.096],
    seeds=Budget([*range(24), *range(100, 106)], [*range(96), *range(100, 116)]),
    keep=("loss",),
    weight_decay=0.0,
)
adamw = dict(setting, beta1=0.9, beta2=0.999)
mars = dict(setting, exact=False)

experiment = Experiment(
    title="Digits: the gain of MARS-AdamW at two batch sizes",
    question="Does the gain over a tuned AdamW grow as the batch shrinks?",
    runs={
        "adamw_small": simulate("adamw", **adamw, noise=minibatch(batch=4)),
        "mars_small": simulate("mars_adamw", **mars, noise=minibatch(batch=4)),
        "adamw_large": simulate("adamw", **adamw, noise=minibatch(batch=64)),
        "mars_large": simulate("mars_adamw", **mars, noise=minibatch(batch=64)),
    },
)
