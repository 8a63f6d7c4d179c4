"""Exact against approximate over a map of (gamma, eta lambda, noise): paired log ratios of stationary squared gradients."""

import numpy as np

from marslab.claims._forms import late_squares, ratio
from marslab.claims.base import Finding
from marslab.verdicts import Measurement

BETA, COORDINATES, RECORD = 0.95, 40, range(200, 501, 20)


def furthest(rule, laws, gammas, rates, seeds) -> Finding:
    """The cell whose mean log ratio, approximate over exact, is furthest from 0; the note lists every law's furthest."""
    cells = {name: log_ratios(rule, law, gammas, rates, seeds) for name, law in laws.items()}
    tops = {name: found[top(found)] for name, found in cells.items()}
    name = max(tops, key=lambda law: abs(tops[law].mean()))
    gamma, rate = (values[index] for values, index in zip((gammas, rates), top(cells[name]), strict=True))
    listed = ", ".join(f"{law} {np.exp(each.mean()):.3f}" for law, each in tops.items())
    note = (
        f"furthest ratio by law: {listed}; here {name}, gamma = {gamma:g}, a = {rate:g}, "
        f"where additive noise has {ratio(rate, gamma=gamma, beta=BETA):.3f}"
    )
    return Finding(Measurement.of(tops[name]), RECORD[-1], 2 * RECORD[-1] - 1, note)


def top(found: np.ndarray) -> tuple:
    """Where the mean over seeds is furthest from 0."""
    mean = np.abs(found.mean(axis=-1))
    return np.unravel_index(mean.argmax(), mean.shape)


def log_ratios(rule, law, gammas, rates, seeds) -> np.ndarray:
    """log of approximate over exact, shape (gammas, rates, seeds), on common noise."""
    options = dict(steps=RECORD[-1], record=RECORD, coordinates=COORDINATES, seeds=seeds, beta1=BETA)
    seen = late_squares(law, rule=rule, gamma=list(gammas), lr=list(rates), **options)
    return np.log(seen[False] / seen[True])
