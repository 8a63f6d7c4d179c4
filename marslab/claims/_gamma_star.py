"""What the claims about the optimal gamma share: the terms of its formula along a run, and the settings that they all use."""

import dataclasses
import math

import torch

from marslab import pieces
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Plant
from marslab.noise import additive, curvature
from marslab.optimizers import mars
from marslab.oracle import Oracle, Samples
from marslab.plan import Clock, Plan
from marslab.problems import quadratic
from marslab.rule import Rule
from marslab.simulate import started, step

RATE, BETA, SQUARED_LEVEL = 0.1, 0.9, 1.0
NOISE = additive(sigma=1.0) + curvature(level=math.sqrt(SQUARED_LEVEL))
SETTINGS = {"rule": mars, "noise": NOISE, "lr": RATE, "beta1": BETA, "gamma": 0.5}
FAULTY_ESTIMATE = {name: plant for name, plant in FAULTY_MARS.items() if "step" not in name}  # those that change m itself


def late_step(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    """The step is taken with the momentum of the step before."""
    m = pieces.ema(state["m"], pieces.correct(g, prev, gamma=gamma, beta=beta1), beta1)
    return x - lr * state["m"], dict(m=m)


def shrunk_step(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    """The point is shrunk as well, by the step size."""
    m = pieces.ema(state["m"], pieces.correct(g, prev, gamma=gamma, beta=beta1), beta1)
    return x - lr * (m + x), dict(m=m)


FAULTY_STEP = {
    function.__doc__[0].lower() + function.__doc__[1:-1]: Plant(
        {"rule": dataclasses.replace(mars, function=function, diagnostics=())}
    )
    for function in (late_step, shrunk_step)
}


def closed_form(a: float, beta: float, squared_level: float) -> float:
    """The stationary gamma* of one eigenmode: (1/2 + 1/a - (1 - beta) s^2 / (2 beta)) / (1 + s^2)."""
    return (0.5 + 1 / a - (1 - beta) * squared_level / (2 * beta)) / (1 + squared_level)


def walk(rule: Rule, noise, steps: int, seeds, observe, *, problem=None, burn: int = 200, **hyper) -> torch.Tensor:
    """Run exact ``rule`` and add up, after ``burn`` steps, what ``observe(plan, clock, before, x, seen)`` gives, (seeds, k).

    ``before`` holds the state, the point and the true gradient of the step before; ``seen`` the gradients at x and at the
    point before on one sample, and the true one at x.
    """
    problem = problem or quadratic(1.0, shape=(50,), start_scale=0.0)
    plan = Plan(rule, problem, noise, steps, seeds, True, None, "tensor", None, None, "float64", hyper)
    clock, samples = Clock(plan), Samples(problem, noise, plan.seeds, plan.dtype)
    oracle = Oracle(problem, noise, plan.mode, plan.first, clock.levels)
    x, before, total = plan.start(), None, 0.0
    states = {name: started(rule, value) for name, value in x.items()}
    for t in range(1, steps + 1):
        clock.tick(t)
        seen = oracle.observe(x, samples.at(t))
        if t > burn:
            total = total + observe(plan, clock, before, x, seen)
        before = {"state": states["x"], "x": x["x"], "true": seen.true["x"]}
        x, states = step(plan, clock, x, states, seen)
        before["after"] = states["x"]
    return total


def terms(plan, clock, before, x, seen) -> torch.Tensor:
    """|E Delta|^2, |Delta|^2, <Delta, z> and <Delta, eps> of one step, (seeds, 4)."""
    delta, mean = seen.g["x"] - seen.prev["x"], seen.true["x"] - before["true"]
    z = seen.g["x"] - seen.true["x"]
    error = plan.rule.estimate(before["after"], None) - before["true"]
    return torch.stack([(a * b).sum(-1) for a, b in ((mean, mean), (delta, delta), (delta, z), (delta, error))], dim=-1)


def gamma_star(sums, beta: float):
    """The paper's gamma* from sums (seeds, 4) of ``terms``, over all seeds together."""
    mean, square, with_noise, with_error = sums.sum(0)
    return (beta * mean - (1 - beta) * with_noise - beta * with_error) / (beta * square)


def without_cross_term(sums) -> float:
    """The same with G = 0: |E Delta|^2 / E|Delta|^2."""
    return sums[:, 0].sum() / sums[:, 1].sum()
