"""Each rule of variance reduction against a loop written in numpy from its published equations."""

import numpy as np
import pytest
from rule_loops import assert_equal_to, falling, rising


def storm(x, steps):
    d = 0
    for s in steps:
        d = s.g if s.t == 1 else s.g + s.beta1 * (d - s.prev)
        x = x - s.lr * d
        yield x


def storm_adaptive(x, steps):
    total, a, d = 0, 1, 0
    for s in steps:
        d = s.g if s.t == 1 else s.g + (1 - a) * (d - s.prev)
        total += np.sum(s.g**2) if s.adapt == "gradients" else s.deviation**2
        eta = s.lr / np.cbrt(s.floor + total)
        x, a = x - eta * d, min(1, s.c * eta**2)
        yield x


def storm_plus(x, steps):
    gradients, weighed, a, d = 1, 0, 1, 0
    for s in steps:
        d = s.g + (1 - a) * (d - s.prev) if s.t > 1 else s.g
        gradients += np.linalg.norm(s.g) ** 2
        a = 1 / np.cbrt(gradients) ** 2
        weighed += np.linalg.norm(d) ** 2 / a
        x = x - s.lr / np.cbrt(weighed) * d
        yield x


def sarah(x, steps):
    v = 0
    for s in steps:
        v = s.full if s.t % s.period == 1 else s.g - s.prev + v
        x = x - s.lr * v
        yield x


def spider(x, steps):
    v = 0
    for s in steps:
        v = s.g if s.t % s.period == 1 else s.g - s.prev + v
        x = x - min(s.lr, s.radius / np.linalg.norm(v)) * v
        yield x


def svrg(x, steps):
    for s in steps:
        x = x - s.lr * (s.g - getattr(s, "alpha", 1) * (s.prev - s.full))
        yield x


def superadam(x, steps, tau=1, exponent=1 / 3):
    """In the two lines of the published box: a proximal point, then a convex combination with it."""
    v, alpha, b2, e = 0, 1, 1, 0
    for s in steps:
        v, b2 = s.beta2 * v + (1 - s.beta2) * s.g**2, b2 * s.beta2
        e = s.g if s.t == 1 else alpha * s.g + (1 - alpha) * (e + tau * (s.g - s.prev))
        mu = s.k / (s.offset + s.t) ** exponent
        target = x - s.lr * e / (np.sqrt(v / (1 - b2)) + s.eps)
        x, alpha = (1 - mu) * x + mu * target, min(0.99, s.c * mu ** (2 if tau else 1))
        yield x


def superadam_momentum(x, steps):
    return superadam(x, steps, tau=0, exponent=1 / 2)


SUPER = {"lr": falling, "k": 1.0, "offset": 5.0, "c": 5.0, "beta2": rising, "eps": 1e-2}
CASES = {
    "storm": [(storm, {"lr": falling, "beta1": rising})],
    "storm_adaptive": [
        (storm_adaptive, {"lr": 0.3, "floor": 0.2, "c": c, "deviation": 1.3, "adapt": word})
        for c in (2.0, 100.0)
        for word in ("gradients", "sigma")
    ],
    "storm_plus": [(storm_plus, {"lr": lr}) for lr in (1.0, falling)],
    "sarah": [(sarah, {"lr": falling, "period": 5})],
    "spider": [(spider, {"lr": falling, "period": 5, "radius": radius}) for radius in (0.3, 1e-2, np.inf)],
    "svrg": [(svrg, {"lr": falling})],
    "alpha_svrg": [(svrg, {"lr": falling, "alpha": lambda t: 0.75 * (1 - t / 24)})],
    "superadam": [(superadam, SUPER), (superadam, SUPER | {"k": 0.3})],
    "superadam_momentum": [(superadam_momentum, SUPER), (superadam_momentum, SUPER | {"k": 0.3})],
}


@pytest.mark.parametrize(
    ("name", "loop", "hyper"),
    [pytest.param(name, *case, id=f"{name}-{k}") for name, cases in CASES.items() for k, case in enumerate(cases)],
)
def test_equal_to_a_loop(name, loop, hyper):
    assert_equal_to(loop, name, (4, 3), hyper)
