"""Each matrix rule against a loop written in numpy from its published equations: tall, wide and four axes, every option."""

from itertools import product

import numpy as np
import pytest
from rule_loops import assert_equal_to, falling, rising

BASE = {"lr": falling, "beta1": rising, "weight_decay": 0.3}
MARS = BASE | {"gamma": 0.4}
SHAPES = [(5, 3), (3, 5), (4, 2, 3)]


def newton_schulz(m):
    x = m / (np.linalg.norm(m) + 1e-7)
    for _ in range(5):
        short = x @ x.T if len(x) <= len(x.T) else x.T @ x
        poly = 3.4445 * np.eye(len(short)) - 4.7750 * short + 2.0315 * short @ short
        x = poly @ x if len(x) <= len(x.T) else x @ poly
    return x


def powered(m, exponent):
    u, sizes, vt = np.linalg.svd(m, full_matrices=False)
    return u @ np.diag(sizes**exponent) @ vt


def orthogonal(m, s):
    return newton_schulz(m) if s.orthogonalization == "newton_schulz" else powered(m, 0)


def flat(function):
    """A loop over matrices as one over tensors of any number of axes."""

    def loop(x, steps):
        for s in steps:
            s.g, s.prev = (v.reshape(len(v), -1) for v in (s.g, s.prev))
        for point in function(x.reshape(len(x), -1), steps):
            yield point.reshape(x.shape)

    return loop


def decayed(x, s, step):
    return (1 - s.lr * s.weight_decay) * x - s.lr * step


def adam_sized(x, s, m):
    """Moonlight's scale: the update has the root mean square that AdamW's usually has."""
    return 0.2 * np.sqrt(max(x.shape)) * orthogonal(m, s)


@flat
def moonlight(x, steps):
    u = 0
    for s in steps:
        u = s.beta1 * u + s.g
        x = decayed(x, s, adam_sized(x, s, s.g + s.beta1 * u))
        yield x


def momenta(steps):
    """The average of MARS's corrected and clipped gradient."""
    m = 0
    for s in steps:
        c = s.g + s.gamma * s.beta1 / (1 - s.beta1) * (s.g - s.prev)
        m = s.beta1 * m + (1 - s.beta1) * c / max(1, np.linalg.norm(c) / s.clip_radius)
        yield s, m


@flat
def mars_m(x, steps):
    for s, m in momenta(steps):
        x = decayed(x, s, adam_sized(x, s, m))
        yield x


@flat
def mars_shampoo(x, steps):
    for s, m in momenta(steps):
        factor = np.sqrt(max(1, x.shape[0] / x.shape[1])) if s.shape_factor == "original" else 1
        x = decayed(x, s, factor * orthogonal(m, s))
        yield x


@flat
def mars_m_efficient(x, steps):
    """By the identity m = (1 - gamma) e + gamma g with the plain average e, for constant gamma and beta1."""
    e = 0
    for s in steps:
        e = s.beta1 * e + (1 - s.beta1) * s.g
        x = decayed(x, s, adam_sized(x, s, (1 - s.gamma) * e + s.gamma * s.g))
        yield x


def nesterovs(steps):
    m = 0
    for s in steps:
        m = s.beta1 * m + (1 - s.beta1) * s.g
        yield s, m, (1 - s.beta1) * s.g + s.beta1 * m


@flat
def muon(x, steps):
    rows, columns = x.shape
    scales = {"original": max(1, rows / columns) ** 0.5, "match_rms_adamw": 0.2 * max(rows, columns) ** 0.5, "none": 1}
    for s, m, mixed in nesterovs(steps):
        x = decayed(x, s, scales[s.shape_factor] * orthogonal(mixed if s.form == "nesterov" else m, s))
        yield x


@flat
def htmuon(x, steps):
    for s, _, mixed in nesterovs(steps):
        x = decayed(x, s, np.sqrt(max(1, x.shape[0] / x.shape[1])) * powered(mixed, s.power))
        yield x


@flat
def scion(x, steps):
    d, (outputs, inputs) = 0, x.shape
    for s in steps:
        d = s.beta1 * d + (1 - s.beta1) * s.g
        corner = {
            "spectral": lambda d=d, s=s: -s.rho * np.sqrt(outputs / inputs) * orthogonal(d, s),
            "sign": lambda d=d, s=s: -s.rho / inputs * np.sign(d),
            "input_sign": lambda d=d, s=s: -s.rho * np.sign(d),
        }[s.ball]()
        x = x + s.lr * (corner if s.constraint == "none" else corner - x)
        yield x


def inverse_fourth_root(a):
    values, vectors = np.linalg.eigh(a)
    return sum(v**-0.25 * np.outer(e, e) for v, e in zip(values, vectors.T, strict=True) if v > 1e-12 * values[-1])


@flat
def shampoo(x, steps):
    left, right, product = 0, 0, 1.0
    for s in steps:
        keep, fresh = (s.beta2, 1 - s.beta2) if s.statistics == "ema" else (1, 1)
        left, right = keep * left + fresh * s.g @ s.g.T, keep * right + fresh * s.g.T @ s.g
        product *= s.beta2
        whole = 1 - product if s.statistics == "ema" else 1
        step = inverse_fourth_root(left / whole) @ s.g @ inverse_fourth_root(right / whole)
        x = decayed(x, s, step)
        yield x


def choices(**words):
    return [dict(zip(words, chosen, strict=True)) for chosen in product(*words.values())]


ROUGH = ("newton_schulz", "polar")
RADII = (2.0, np.inf)
CASES = {
    "moonlight": [(moonlight, BASE | c) for c in choices(orthogonalization=ROUGH)],
    "mars_m": [(mars_m, MARS | c) for c in choices(orthogonalization=ROUGH, clip_radius=RADII)],
    "muon_mvr": [
        (mars_m, MARS | c | {"gamma": lambda t: t**-0.5}) for c in choices(orthogonalization=ROUGH, clip_radius=RADII)
    ],
    "mars_shampoo": [
        (mars_shampoo, MARS | c) for c in choices(orthogonalization=ROUGH, clip_radius=RADII, shape_factor=("none", "original"))
    ],
    "mars_m_efficient": [(mars_m_efficient, MARS | c | {"beta1": 0.8}) for c in choices(orthogonalization=ROUGH)],
    "muon": [
        (muon, BASE | c)
        for c in choices(
            orthogonalization=ROUGH, form=("nesterov", "plain"), shape_factor=("original", "match_rms_adamw", "none")
        )
    ],
    "htmuon": [(htmuon, BASE | c) for c in choices(power=(0.125, 0.5))],
    "scion": [
        (scion, {"lr": falling, "beta1": rising, "rho": 5.0} | c)
        for c in choices(orthogonalization=ROUGH, constraint=("none", "ball"), ball=("spectral", "sign", "input_sign"))
    ],
    "shampoo": [
        (shampoo, {"lr": falling, "weight_decay": 0.3, "beta2": rising, "eps": 0.0} | c)
        for c in choices(statistics=("ema", "sum"))
    ],
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("name", "loop", "hyper"),
    [pytest.param(name, *case, id=f"{name}-{k}") for name, cases in CASES.items() for k, case in enumerate(cases)],
)
def test_equal_to_a_loop(name, loop, hyper, shape):
    assert_equal_to(loop, name, shape, hyper)
