r"""The paper's optimal gamma in the stationary state of a quadratic, by Monte Carlo.

Lemma C.2's error is a parabola in gamma with its minimum at gamma* = (beta |E Delta|^2 - G) / (beta E|Delta|^2), G = (1
- beta) E<Delta, z> + beta E<Delta, eps>. On one eigenmode with F'(x) = lambda x and g = lambda (1 + s w) x + v let D =
x_{t+1} - x_t = -eta m_t. Stationarity of E x^2 gives 2 E x_t D = -E D^2, so E D x_{t+1} = E D^2 / 2; and E D m_t = -E
D^2 / eta. Hence |E Delta|^2 = lambda^2 E D^2, E|Delta|^2 = (1 + s^2) lambda^2 E D^2, E<Delta, z> = s^2 lambda^2 E D^2 /
2 and E<Delta, eps> = lambda^2 E D^2 (1/2 - 1/a) with a = eta lambda. E D^2 cancels:

    gamma* = (1/2 + 1/a - (1 - beta) s^2 / (2 beta)) / (1 + s^2).

So it depends on the step and on the noise, and not on the gamma in use (claim gamma_star_for_every_gamma). It is not
confined to [0, 1]: at a = 0.1, s^2 = 1, beta = 0.9 it is 5.2, since the momentum's error remembers the last move.
Measured from 50 independent coordinates a seed by the terms of the formula, each averaged over the run; the margin is 3
% of it.
"""

from marslab.claims._gamma_star import BETA, RATE, SETTINGS, SQUARED_LEVEL, closed_form, gamma_star, terms, walk
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive, curvature
from marslab.verdicts import Measurement


def predict():
    """The closed form."""
    return closed_form(RATE, BETA, SQUARED_LEVEL)


def measure(data, rule, noise, lr, beta1, gamma, steps, seeds):
    """The formula's terms averaged over steps and seeds, resampled over seeds."""
    sums = walk(rule, noise, steps, seeds, terms, lr=lr, beta1=beta1, gamma=gamma).numpy()
    found = Measurement.resampled(lambda rows: gamma_star(rows, beta1), sums, resamples=2000)
    return Finding(found, steps, 2 * steps - 1, f"with gamma = {gamma} in use, a = {lr}, beta = {beta1}")


gamma_star_closed_form = Claim(
    name="gamma_star_closed_form",
    statement="In stationarity the optimal gamma is (1/2 + 1/a − (1−β)s²/(2β)) / (1 + s²), here 5.2 and not in [0, 1].",
    source="derived here, from arXiv 2411.10438, lemma C.2",
    kind="Monte Carlo",
    unit="gamma",
    margin=0.03 * closed_form(RATE, BETA, SQUARED_LEVEL),
    predict=predict,
    measure=measure,
    settings={**SETTINGS, "steps": Budget(1_500, 40_000), "seeds": Budget(32, 64)},
    plants={
        "the step is twice as long": FAULTY_MARS["the estimate is right and the step is twice as long"],
        "the curvature noise is missing": Plant({"noise": additive(sigma=1.0)}),
        "the curvature noise is stronger": Plant({"noise": additive(sigma=1.0) + curvature(level=2.0)}),
        "the curvature noise is correlated in time": Plant({"noise": additive(1.0) + curvature(1.0, correlation=0.9)}),
    },
)
