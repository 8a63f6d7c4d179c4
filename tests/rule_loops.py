"""What the tests of single rules against plain loops share: recorded observations, and the rule driven over them."""

from types import SimpleNamespace

import numpy as np
import torch

from marslab.optimizers import RULES

STEPS = 24


def falling(t):
    """A learning rate that follows a schedule."""
    return 0.1 / (1 + 0.1 * t)


def rising(t):
    """A beta that follows a schedule."""
    return 1 - 0.5 / (1 + 0.2 * t)


def recorded(shape, hyper, first="equal", seed=0):
    """One namespace a step: t, g, prev, full, hess and the hyper-parameters' values; entry 0 of g and prev is zero.

    The observations are random, since a rule may know nothing of where they come from.
    """
    draw, steps = np.random.default_rng(seed).standard_normal, []
    for t in range(1, STEPS + 1):
        seen = {name: draw(shape) for name in ("g", "prev", "full", "hess")}
        seen["g"].flat[0] = seen["prev"].flat[0] = 0.0  # signs of zero
        if t == 1:
            seen["prev"] = seen["g"].copy() if first == "equal" else np.zeros(shape)
        values = {name: value(t) if callable(value) else value for name, value in hyper.items()}
        steps.append(SimpleNamespace(t=t, **seen, **values))
    return steps


def driven(name, steps, hyper):
    """The points that the rule reaches over recorded steps, from x_1 = (1, ..., 1)."""
    rule, x, points = RULES[name], torch.ones(steps[0].g.shape, dtype=torch.float64), []
    state = rule.init(x)
    for s in steps:
        g, prev, full, hess = (torch.from_numpy(value) for value in (s.g, s.prev, s.full, s.hess))
        values = {key: getattr(s, key) for key in hyper}
        time = torch.tensor(float(s.t), dtype=torch.float64)
        x, state = rule(x, state, g, prev, t=time, full=full, hess=hess, **values)
        points.append(x.numpy())
    return np.stack(points)


def assert_equal_to(loop, name, shape, hyper):
    """The rule and a loop agree to 1e-12 after every step, and go somewhere."""
    steps = recorded(shape, hyper, first=RULES[name].first)
    assert hyper.keys() <= RULES[name].hyper.keys()
    ours, theirs = driven(name, steps, hyper), np.stack(list(loop(np.ones(shape), steps)))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    assert np.isfinite(ours).all() and np.abs(ours[-1] - 1).max() > 1e-3
