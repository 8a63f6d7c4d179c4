"""What a training loop hands to the exact mode as the gradient at the point before: the protocols in circulation."""

from collections.abc import Callable

import torch

from marslab.noise import minibatch
from marslab.optimizers import mars_adamw
from marslab.problems import sigmoid_classification
from marslab.samples import Samples
from marslab.simulate import run

PROBLEM, NOISE = sigmoid_classification("breast_cancer"), minibatch(batch=8)
STEPS, SEED = 100, 0
HYPER = dict(lr=0.01, gamma=0.25, beta1=0.95, beta2=0.99)


def queued(gradient, x, rows, t):
    """The released training script: the next batch waits in a queue, and its gradient is taken at the point of this step."""
    return gradient(x, rows[t + 1])


def documented(gradient, x, rows, t):
    """The docstring of the released optimizer: the gradient of the batch just used, once more, at the same point."""
    return gradient(x, rows[t])


def never_refreshed(gradient, x, rows, t):
    """The released CIFAR script of MARS-M: the batch kept for it is the first one, for ever."""
    return gradient(x, rows[0])


def batches(steps: int) -> list[torch.Tensor]:
    """The rows of each step, those that the simulator draws."""
    samples = Samples(PROBLEM, NOISE, [SEED], torch.float64)
    return [samples.at(t)["rows"] for t in range(1, steps + 2)]


def looped(protocol: Callable, rule, steps=STEPS) -> list[float]:
    """|grad F(x_t)| along the loop: gradient of this batch, step, and the gradient that is kept for the next step."""
    rows, x = batches(steps), PROBLEM.start()["x"][None]
    gradient = lambda point, chosen: PROBLEM.gradient({"x": point}, chosen)["x"]
    state, kept, sizes = rule.init(x), torch.zeros_like(x), []
    for t in range(steps):
        sizes.append(float(PROBLEM.gradient({"x": x})["x"].norm()))
        g, later = gradient(x, rows[t]), protocol(gradient, x, rows, t)
        x, state = rule(x, state, g, kept, t=t + 1, axes=(1,), **HYPER)
        kept = later
    return sizes


def published(exact: bool, steps=STEPS) -> list[float]:
    """The same numbers from the simulator, in the exact or the approximate form, with the released first step."""
    options = dict(problem=PROBLEM, noise=NOISE, steps=steps, seeds=[SEED], record=[*range(1, steps + 1)], first="zero")
    return run(mars_adamw, exact=exact, **options, **HYPER).grad_norm.values[0].tolist()


def apart(ours, other) -> float:
    """The largest relative difference of two curves."""
    return max(abs(a - b) / b for a, b in zip(ours, other, strict=True))
