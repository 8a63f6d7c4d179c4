r"""The stationary gamma* is the same whatever gamma is in use and in both forms of MARS, from exact moments.

In the derivation (claim gamma_star_closed_form) only E x^2 = const and x_{t+1} = x_t - eta m_t are used, so that even
approximate MARS must have the same gamma*. The three numbers needed are stationary second moments: with R = E m^2, P =
E F'^2 and Q = E(m - F')^2 at lambda = 1, E m F' = (R + P - Q) / 2; then |E Delta|^2 = a^2 R, E|Delta|^2 = (1 + s^2) a^2
R, E<Delta, eps> = -a (R - E m F') and E<Delta, z> = -a s^2 (E m F' - a R). They are solved for by linear algebra from
the matrices of the rule, nothing is sampled, on a grid of gamma, a, beta and s; the largest difference is reported.
"""

import numpy as np

from marslab import moments
from marslab.claims._gamma_star import FAULTY_STEP, closed_form
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars
from marslab.verdicts import Measurement

GAMMAS, RATES, BETAS = [0.0, 0.025, 0.5, 1.0], [0.05, 0.3], [0.9, 0.95]


def measure(data, rule, squared_levels, forms):
    """The largest difference between the closed form and gamma* from the moments."""
    gaps = [
        np.abs(from_moments(rule, a, beta, square, exact) - closed_form(a, beta, square)).max()
        for a in RATES
        for beta in BETAS
        for square in squared_levels
        for exact in forms
    ]
    note = f"gamma in {GAMMAS}, a in {RATES}, beta in {BETAS}, s² in {list(squared_levels)}, exact and approximate form"
    return Finding(Measurement(max(gaps), kind="exact"), note=note)


def from_moments(rule, a, beta, square, exact):
    """gamma* from the stationary moments of one eigenmode with lambda = 1, for every gamma in use."""
    law = moments.stationary(rule, curvature=1.0, level=square**0.5, exact=exact, lr=a, beta1=beta, gamma=GAMMAS)
    both = (law.estimate_squared + law.grad_norm_squared - law.error_squared) / 2
    with_noise = -a * square * (both - a * law.estimate_squared)
    cross = (1 - beta) * with_noise - beta * a * (law.estimate_squared - both)
    mean = a**2 * law.estimate_squared
    return (beta * mean - cross) / (beta * (1 + square) * mean)


gamma_star_for_every_gamma = Claim(
    name="gamma_star_for_every_gamma",
    statement="The stationary gamma* does not depend on the gamma in use, nor on the form, exact or approximate.",
    source="derived here, from arXiv 2411.10438, lemma C.2",
    kind="exact",
    unit="largest difference of gamma",
    margin=1e-8,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "squared_levels": (0.0, 1.0), "forms": (True, False)},
    plants=FAULTY_STEP,
)
