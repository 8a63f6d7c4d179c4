"""The final loss of approximate MARS-AdamW over the published range of gamma, each gamma at its own learning rate."""

from marslab.experiment import Budget, Experiment, simulate
from marslab.noise import minibatch
from marslab.problems import two_layer

experiment = Experiment(
    title="Digits: MARS-AdamW over gamma",
    question="Over which range of gamma does the final loss stay near its best?",
    runs={
        "mars": simulate(
            "mars_adamw",
            problem=two_layer(data="digits"),
            noise=minibatch(batch=16),
            gamma=[1e-4, 0.01, 0.025, 0.05, 0.1, 0.2],
            lr=[0.006, 0.012, 0.024, 0.048, 0.096],
            exact=False,
            weight_decay=0.0,
            steps=200,
            record=[200],
            seeds=Budget([*range(28), *range(100, 106)], [*range(64), *range(100, 116)]),
            keep=("loss",),
        ),
    },
)
