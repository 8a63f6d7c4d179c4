r"""MARS-Lion under the theorem's schedule: the error stops near d delta^2 / (2 c) instead of falling.

Lion's H = diag|m| has no lower bound, which assumption B.3 asks for: a coordinate moves by eta_t however small m is. Two
things follow. The theorem's second bounded quantity, the mean of |x_{t+1} - x_t|^2 / eta_t^2, is the number of coordinates
d at every T, so its bound, which falls like T^(-2/3) log T, cannot hold. And the error does not fall either. Let samples
differ in curvature, g_i = lambda (1 + l w_i) x_i, so that delta = l lambda. In each coordinate e' = beta e + delta w [(1 -
beta) x' + beta (x' - x)], where |x' - x| = eta whatever w does. With k = 1 - beta = c eta_t^2 small, E e^2 = delta^2 eta^2
/ (2 k) = delta^2 / (2 c): as the steps shrink, the memory grows just as fast. With H = I the step is eta |m| and shrinks
with the error. Held on F = x^2 / 2 with l = 1, c = 33, s = 190 as the ratio of the mean of e^2 over the second half of the
steps to 1 / 66. Left out are shares of the order k, which is at most 0.08 there, of both signs: beta^2 takes 2 k away,
while x follows -e, so that (1 - beta)^2 x^2 adds k / 2 and its product with x' - x more. The margin of 0.1 covers them; it
was chosen with short runs in view, and the full budget, where k is at most 0.024, is the sharper test.
"""

import math

from marslab.claims._broken import squared_errors
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive, curvature
from marslab.optimizers import mars, mars_lion
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.simulate import run
from marslab.verdicts import Measurement

C, S = 33, 190
UNCLIPPED = {"clip_radius": math.inf}


def measure(data, rule, hyper, noise, steps, seeds):
    """The mean squared error over the second half of the steps, over its limit."""
    window = (steps // 2, steps)
    found = run(rule, problem=quadratic(spectrum=(1.0,)), noise=noise, steps=steps, seeds=seeds, exact=True, gamma=1.0,
                record=list(range(window[0], steps + 1, 20)), **theorem(c=C, s=S), **hyper)  # fmt: skip
    measurement = Measurement.of(squared_errors(found, window) * 2 * C)
    k = C * (S + window[0]) ** (-2 / 3)
    note = f"the limit is 1 / (2 c) = {1 / (2 * C):.5f}; 1 - beta was at most {k:.3f}"
    return Finding(measurement, steps, int(found.evaluations[-1]), note)


lion_error_floor = Claim(
    name="lion_error_floor",
    statement="MARS-Lion (H without lower bound), γ = 1, the theorem's schedule: E|m − ∇F|² stops at dδ²/(2c).",
    source="derived here, on arXiv 2411.10438, assumption B.3",
    kind="Monte Carlo",
    unit="ratio to the floor",
    margin=0.1,
    predict=lambda: 1.0,
    measure=measure,
    settings={
        "rule": mars_lion,
        "hyper": UNCLIPPED,
        "noise": curvature(level=1.0),
        "steps": Budget(16_000, 100_000),
        "seeds": Budget(64, 256),
    },
    plants={
        "H is the identity": Plant({"rule": mars, "hyper": {}}),
        "the noise is additive": Plant({"noise": additive(sigma=1.0)}),
    },
)
