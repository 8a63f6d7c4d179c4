r"""Without its cross term the formula for the optimal gamma misses it by a factor of ten in stationarity.

The follow-up estimates the optimal momentum scaling by |d|^2 / E|d_xi|^2 (its lemma 2 and its CIFAR-10 probe), which is
the gamma* of lemma C.2 with G = 0. On the quadratic of claim gamma_star_closed_form it tends to 1 / (1 + s^2), while
the gamma that minimises the momentum's next error is (1/2 + 1/a - (1 - beta) s^2 / (2 beta)) / (1 + s^2): the ratio of
the two is 1/2 + 1/a - (1 - beta) s^2 / (2 beta), which is 10.4 at a = 0.1, s^2 = 1, beta = 0.9, and is near one only
near a = 2. The counterexample is a deterministic statement about two formulas; here both are measured on the same
simulated moves. The published form is granted a factor of two either way.
"""

import math

import numpy as np

from marslab.claims._gamma_star import SETTINGS, gamma_star, terms, walk, without_cross_term
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive, curvature
from marslab.verdicts import Measurement


def measure(data, rule, noise, lr, beta1, gamma, steps, seeds):
    """The log ratio of gamma* to the simplified form, both from the same sums."""
    sums = walk(rule, noise, steps, seeds, terms, lr=lr, beta1=beta1, gamma=gamma).numpy()
    full, simple = gamma_star(sums, beta1), without_cross_term(sums)
    found = Measurement.resampled(lambda rows: log_ratio(rows, beta1), sums, resamples=2000)
    return Finding(found, steps, 2 * steps - 1, f"gamma* = {full:.3f}, without the cross term {simple:.3f}")


def log_ratio(sums, beta1):
    """log of gamma* over its simplified form; a negative gamma* is infinitely far off."""
    ratio = gamma_star(sums, beta1) / without_cross_term(sums)
    return np.log(ratio) if ratio > 0 else -np.inf


gamma_star_without_cross_term = Claim(
    name="gamma_star_without_cross_term",
    statement="|E Δ|²/E|Δ|², the form without cross term, estimates the gamma that minimises the next momentum error.",
    source="Understanding MARS (ICML 2026), lemma 2 and the estimator of its experiments",
    kind="Monte Carlo",
    unit="log ratio to gamma*",
    margin=math.log(2),
    predict=lambda: 0.0,
    measure=measure,
    settings={**SETTINGS, "steps": Budget(1_500, 40_000), "seeds": Budget(32, 64)},
    plants={
        "the step is twice as long": FAULTY_MARS["the estimate is right and the step is twice as long"],
        "the curvature noise is stronger": Plant({"noise": additive(sigma=1.0) + curvature(level=2.0)}),
    },
)
