r"""With noise of infinite variance the error of exact MARS falls like T^(-(2/3)(1 - 1/nu)) instead of T^(-1/3).

At gamma = 1 additive noise cancels in the correction, so e_t is a weighted sum of the noises, with the weights (1 - beta)
times products of betas: about 1 / k of them, each near k = 1 - beta = c eta_t^2. If P(|z| > u) ~ u^(-nu) with 1 < nu < 2,
the sum of n such terms grows like n^(1/nu), not like n^(1/2): |e_t| ~ k (1/k)^(1/nu) = k^(1 - 1/nu), and k ~ t^(-2/3) gives
the exponent -(2/3)(1 - 1/nu). At nu = 2 this is the theorem's -1/3; at nu = 6/5 it is -1/9; at nu = 1 (Cauchy) averaging
helps no more. Assumption B.1, a bounded variance, is thus needed for the rate even where "error" means a typical one: the
mean square of the theorem is infinite at every t. Measured: slope of log |e_t| against log t in each seed, noise Student's
t of nu = 6/5 degrees, c = s = 1, steps 20 to T. The margin of 0.06 leaves both -1/3 and 0 outside.
"""

from marslab.claims._broken import log_slopes
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.simulate import run
from marslab.verdicts import Measurement

DEGREES = 1.2


def measure(data, rule, noise, exact, steps, seeds):
    """The mean over seeds of the slope of log error."""
    found = run(rule, problem=quadratic(spectrum=(1.0,)), noise=noise, steps=steps, seeds=seeds, exact=exact, gamma=1.0,
                record=60, **theorem(c=1, s=1))  # fmt: skip
    note = "finite variance would give -0.333, no averaging at all 0"
    return Finding(Measurement.of(log_slopes(found, "error", (20, steps))), steps, int(found.evaluations[-1]), note)


heavy_tails = Claim(
    name="heavy_tails",
    statement="Noise of tail index 6/5 (infinite variance): the error of exact MARS, γ = 1, falls like T^(−1/9), not T^(−1/3).",
    source="derived here, on arXiv 2411.10438, assumption B.1",
    kind="Monte Carlo",
    unit="exponent",
    margin=0.06,
    predict=lambda: -2 / 3 * (1 - 1 / DEGREES),
    measure=measure,
    settings={
        "rule": mars,
        "noise": additive(sigma=1.0, law="student", degrees=DEGREES),
        "exact": True,
        "steps": Budget(5_000, 20_000),
        "seeds": Budget(512, 2_048),
    },
    plants={
        "the noise has a variance": Plant({"noise": additive(sigma=1.0)}),
        "prev is of another sample": Plant({"exact": False}),
    },
)
