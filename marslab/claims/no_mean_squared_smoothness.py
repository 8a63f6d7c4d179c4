r"""Where samples are not smooth the exact correction makes the error grow like T^(+1/3).

Take noise n(x, xi) of variance sigma^2 that is uncorrelated at different points of one sample, as where a threshold or a
rounding sits in the sample: g has bounded variance and F is as smooth as before, yet no constant bounds E|g(x, xi) - g(y,
xi)|^2 / |x - y|^2 (assumption B.2 is broken). At gamma = 1, e_{t+1} = beta e_t + n(x_{t+1}, xi) - beta n(x_t, xi): the
difference no longer cancels anything, and brings 2 sigma^2 at each step. Hence E|e_t|^2 is about (1 + beta^2) sigma^2 / (1
- beta^2), near sigma^2 / k with k = 1 - beta = c eta_t^2 ~ t^(-2/3): the error grows like t^(1/3), without bound, where the
theorem has t^(-1/3). With the last step's gradient the noises telescope to e_t = z_t, and with gamma = 0 they average to
sigma (k / 2)^(1/2). The noise is sigma w(grad F / l + xi) with a square wave w, a uniform phase and l = 10^-9, far below
every step: two points of a sample are then uncorrelated on average over steps. Measured as the slope of log |e_t| against
log t, c = s = 1.
"""

from marslab.claims._broken import SquareWave, log_slopes, squared_errors
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.simulate import run
from marslab.verdicts import Measurement


def measure(data, rule, noise, exact, gamma, steps, seeds):
    """The mean over seeds of the slope of log error."""
    found = run(rule, problem=quadratic(spectrum=(1.0,)), noise=noise, steps=steps, seeds=seeds, exact=exact, gamma=gamma,
                record=60, **theorem(c=1, s=1))  # fmt: skip
    last = squared_errors(found, (steps, steps)).mean() * (steps + 1) ** (-2 / 3)
    note = f"at the last step k E|e|^2 / sigma^2 = {last:.2f} over seeds, where 1 is predicted"
    return Finding(Measurement.of(log_slopes(found, "error", (20, steps))), steps, int(found.evaluations[-1]), note)


no_mean_squared_smoothness = Claim(
    name="no_mean_squared_smoothness",
    statement="Without mean-squared smooth samples the error of exact MARS, γ = 1, grows like T^(1/3) instead of falling so.",
    source="derived here, on arXiv 2411.10438, assumption B.2",
    kind="Monte Carlo",
    unit="exponent",
    margin=0.06,
    predict=lambda: 1 / 3,
    measure=measure,
    settings={
        "rule": mars,
        "noise": SquareWave(sigma=1.0, length=1e-9),
        "exact": True,
        "gamma": 1.0,
        "steps": Budget(5_000, 20_000),
        "seeds": Budget(384, 2_048),
    },
    plants={
        "the samples are smooth": Plant({"noise": additive(sigma=1.0)}),
        "prev is of another sample": Plant({"exact": False}),
        "the correction is off": Plant({"gamma": 0.0}),
    },
)
