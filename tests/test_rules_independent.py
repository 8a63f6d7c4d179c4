"""Each elementwise rule against a loop written in numpy from its published equations, with schedules and both options."""

import numpy as np
import pytest
from rule_loops import assert_equal_to, falling, rising

PLAIN = {"lr": falling, "weight_decay": 0.3}
ADAM = PLAIN | {"beta1": rising, "beta2": 0.9, "eps": 1e-3}
MARS = ADAM | {"gamma": 0.4}
LION = PLAIN | {"beta1": 0.7, "beta2": 0.9}


def nesterov(x, steps):
    u = 0
    for s in steps:
        u = s.beta1 * u + s.g
        x = x - s.lr * (s.g + s.beta1 * u)
        yield x


def signum(x, steps):
    m = 0
    for s in steps:
        m = s.beta1 * m + (1 - s.beta1) * s.g
        x = x - s.lr * np.sign(m) - s.lr * s.weight_decay * x
        yield x


def lion(x, steps, direction=lambda c, s: np.sign(c)):
    m = 0
    for s in steps:
        c = s.beta1 * m + (1 - s.beta1) * s.g
        x = x - s.lr * (direction(c, s) + s.weight_decay * x)
        m = s.beta2 * m + (1 - s.beta2) * s.g
        yield x


def cautious(c, s):
    """d / (count + d eps) over the agreeing entries."""
    kept = np.sign(c) * s.g > 0
    return np.where(kept, np.sign(c), 0) * kept.size / (kept.sum() + kept.size * s.eps)


def careful(c, s):
    return np.sign(c) if np.abs(c[c != 0]).min() >= s.threshold else c


def raw(s):
    return s.g, s.g**2


def corrected(s):
    """MARS's clipped c, and what v averages."""
    c = s.g + s.gamma * s.beta1 / (1 - s.beta1) * (s.g - s.prev)
    c = c if np.linalg.norm(c) <= s.clip_radius else c * s.clip_radius / np.linalg.norm(c)
    return c, {"raw": s.g**2, "clipped": c**2}[s.second_moment]


def adam(x, steps, seen=raw, largest=False):
    m, v, v_max, b1, b2 = 0, 0, 0, 1.0, 1.0
    for s in steps:
        first, second = seen(s)
        b1, b2 = b1 * s.beta1, b2 * s.beta2
        m, v = s.beta1 * m + (1 - s.beta1) * first, s.beta2 * v + (1 - s.beta2) * second
        v_max = np.maximum(v_max, v) if largest else v
        x = (1 - s.lr * s.weight_decay) * x - s.lr * m / (1 - b1) / (np.sqrt(v_max / (1 - b2)) + s.eps)
        yield x


def nadam(x, steps):
    m, v, b2, products = 0, 0, 1.0, 1.0
    for s in steps:
        now, later = (s.beta1 * (1 - 0.5 * 0.96 ** (k * s.momentum_decay)) for k in (s.t, s.t + 1))
        now, later = (now, later) if s.warm_up == "dozat" else (s.beta1, s.beta1)
        products, b2 = products * now, b2 * s.beta2
        m, v = s.beta1 * m + (1 - s.beta1) * s.g, s.beta2 * v + (1 - s.beta2) * s.g**2
        top = later * m / (1 - products * later) + (1 - now) * s.g / (1 - products)
        x = x * (1 - s.lr * s.weight_decay) - s.lr * top / (np.sqrt(v / (1 - b2)) + s.eps)
        yield x


def qhadam(x, steps):
    m, v, b1, b2 = 0, 0, 1.0, 1.0
    for s in steps:
        b1, b2 = b1 * s.beta1, b2 * s.beta2
        m, v = s.beta1 * m + (1 - s.beta1) * s.g, s.beta2 * v + (1 - s.beta2) * s.g**2
        top = (1 - s.nu) * s.g + s.nu * m / (1 - b1)
        x = x - s.lr * (top / (np.sqrt((1 - s.nu2) * s.g**2 + s.nu2 * v / (1 - b2)) + s.eps) + s.weight_decay * x)
        yield x


def adan(x, steps):
    m, d, n, b = 0, 0, 0, np.ones(3)
    for s in steps:
        b = b * [s.beta1, s.beta2, s.beta3]
        m, d = s.beta1 * m + (1 - s.beta1) * s.g, s.beta2 * d + (1 - s.beta2) * (s.g - s.prev)
        n = s.beta3 * n + (1 - s.beta3) * (s.g + s.beta2 * (s.g - s.prev)) ** 2
        rates = s.lr / (np.sqrt(n / (1 - b[2])) + s.eps)
        step = rates * (m / (1 - b[0]) + s.beta2 * d / (1 - b[1]))
        decay = s.lr * s.weight_decay
        x = (x - step) / (1 + decay) if s.decay == "proximal" else (1 - decay) * x - step
        yield x


def mgup_adamw(x, steps):
    m, v, b1, b2 = 0, 0, 1.0, 1.0
    for s in steps:
        b1, b2 = b1 * s.beta1, b2 * s.beta2
        m, v = s.beta1 * m + (1 - s.beta1) * s.g, s.beta2 * v + (1 - s.beta2) * s.g**2
        u = m / (np.sqrt(v) + s.eps)
        ranked = sorted(range(u.size), key=lambda i: -(u * s.g).flat[i])
        phi = np.full(u.size, s.lowered)
        phi[ranked[: int(s.tau * u.size)]] = s.raised
        x = (1 - s.lr * s.weight_decay) * x - s.lr * np.sqrt(1 - b2) / (1 - b1) * phi.reshape(u.shape) * u
        yield x


def sophia(x, steps):
    m, h = 0, 0
    for s in steps:
        m = s.beta1 * m + (1 - s.beta1) * s.g
        if s.t % s.period == 1:
            h = s.beta2 * h + (1 - s.beta2) * s.hess
        ratio = m / np.maximum(s.rho * h, s.eps)
        x = x - s.lr * s.weight_decay * x - s.lr * np.clip(ratio, -1, 1)
        yield x


SOPHIA = PLAIN | {"beta1": 0.8, "beta2": 0.7, "rho": 2.0, "eps": 1e-2, "period": 4}
ADAN = ADAM | {"beta2": 0.6, "beta3": 0.9}
CASES = {
    "nesterov": [(nesterov, {"lr": falling, "beta1": rising})],
    "signum": [(signum, PLAIN | {"beta1": rising})],
    "lion": [(lion, LION)],
    "adamw": [(adam, ADAM)],
    "cautious_lion": [(lambda x, s: lion(x, s, cautious), LION | {"eps": 0.05})],
    "clion": [(lambda x, s: lion(x, s, careful), LION | {"threshold": value}) for value in (0.01, 0.04, 10.0)],
    "amsgrad": [(lambda x, s: adam(x, s, largest=True), ADAM)],
    "mars_amsgrad": [
        (lambda x, s: adam(x, s, corrected, largest=True), MARS | {"second_moment": word, "clip_radius": radius})
        for word, radius in (("raw", 3.0), ("clipped", 3.0), ("clipped", np.inf))
    ],
    "mars_adamw": [
        (lambda x, s: adam(x, s, corrected), MARS | {"second_moment": word, "clip_radius": radius})
        for word, radius in (("raw", 3.0), ("clipped", 3.0), ("raw", np.inf))
    ],
    "nadam": [(nadam, ADAM | {"warm_up": word, "momentum_decay": 0.2}) for word in ("dozat", "constant")],
    "qhadam": [(qhadam, ADAM | {"nu": rising, "nu2": nu2}) for nu2 in (1.0, 0.6)],
    "adan": [(adan, ADAN | {"decay": word}) for word in ("proximal", "decoupled")],
    "mgup_adamw": [(mgup_adamw, ADAM | {"tau": tau, "raised": 1.7, "lowered": 0.3}) for tau in (0.0, 0.3, 0.99)],
    "sophia_h": [(sophia, SOPHIA)],
    "sophia_g": [(sophia, SOPHIA | {"rho": 0.3})],
}


@pytest.mark.parametrize(
    ("name", "loop", "hyper"),
    [pytest.param(name, *case, id=f"{name}-{k}") for name, cases in CASES.items() for k, case in enumerate(cases)],
)
def test_equal_to_a_loop(name, loop, hyper):
    assert_equal_to(loop, name, (4, 3), hyper)
