"""What the claims on the chain of the lower bounds share: queries until the gradient is small, and methods that guess."""

import dataclasses
import math

import numpy as np

from marslab import pieces
from marslab.noise import unlock
from marslab.optimizers import mars
from marslab.problems import chain
from marslab.simulate import run
from marslab.verdicts import Measurement

RECORDS = 200
SIGMA = 46 / math.sqrt(0.02)  # p = 0.02 at the accuracy 1
RATE = 0.04  # lr of F_T: at first sight of a coordinate, RATE sqrt(e) / p > 1 carries it over its link


def finished(rule, problem, noise, below: float, steps: int, **options) -> np.ndarray:
    """Gradient evaluations until |grad F| is first at most ``below``; inf where it never is; shape (*axes, seeds)."""
    record = np.unique(np.linspace(1, steps, RECORDS).astype(int)).tolist()
    data = run(rule, problem=problem, noise=noise, steps=steps, record=record, **options)
    small = data.grad_norm.values <= below
    return np.where(small.any(axis=-1), data.evaluations.values[small.argmax(axis=-1)], np.inf)


def enough(problem, p: float) -> int:
    """Steps by which the sum of T geometric waiting times has passed but once in 10,000 seeds."""
    return math.ceil(problem.dimension / p * (1 + 7 / math.sqrt(problem.dimension)))


def bounded_variance(accuracy: float):
    """Problem and noise of the first oracle at gap 96, L = 152 and sigma = SIGMA."""
    problem, p = chain.hard(gap=96.0, smoothness=152.0, sigma=SIGMA, accuracy=accuracy)
    return problem, unlock(p)


def mean_squared(accuracy: float):
    """Problem and noise of the smooth oracle at gap 192, the same sigma and a mean-squared smoothness of 328 / sqrt(0.02)."""
    p = 0.02 * accuracy**2
    problem, p = chain.hard(gap=192.0, smoothness=152.0 * math.sqrt(p / 0.02), sigma=SIGMA, accuracy=accuracy)
    return problem, unlock(p, smooth=True)


def queries(rule, instance, accuracies, seeds: int, **options) -> list[np.ndarray]:
    """``finished`` at every accuracy, |grad F| at most twice that, on seeds of its own."""
    found = []
    for index, accuracy in enumerate(accuracies):
        problem, noise = instance(accuracy)
        options |= {"lr": RATE * 152.0 / problem.L, "seeds": list(range(1000 * index, 1000 * index + seeds))}
        found.append(finished(rule, problem, noise, 2 * accuracy, enough(problem, noise.p), **options))
    return found


def longest(instance, accuracies) -> int:
    """Steps of the longest of these runs."""
    return max(enough(problem, noise.p) for problem, noise in map(instance, accuracies))


def exponent(counts: list[np.ndarray], accuracies) -> Measurement:
    """Slope of log mean queries over log(1/accuracy); its standard error from those of the independent means."""
    x = -np.log(accuracies)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    seeds = len(counts[0])
    with np.errstate(invalid="ignore"):
        relative = [each.std(ddof=1) / each.mean() / math.sqrt(seeds) for each in counts]
        slope = float(sum(w * np.log(each.mean()) for w, each in zip(weights, counts, strict=True)))
    diverged = int(sum(np.isinf(each).sum() for each in counts))
    if diverged:
        return Measurement(math.inf, math.inf, seeds=seeds, diverged=min(diverged, seeds - 1))
    return Measurement(slope, float(np.linalg.norm(weights * relative)), seeds=seeds)


def guess(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    """Moves every coordinate a little, seen or not: no method whose points lie in the span of the gradients."""
    m = pieces.ema(state["m"], pieces.correct(g, prev, gamma=gamma, beta=beta1), beta1)
    return x - lr * m + 0.5 * lr * (x.abs() <= 2), dict(m=m)


guessing = dataclasses.replace(mars, function=guess, diagnostics=())
