r"""The same at gamma = 1/2 by Monte Carlo: the sampled gradient norm falls as the quasi-static law says.

c = s = 1, so that the crossover of claim fixed_gamma_rates_exact lies at t = (c/gamma)^3 = 8 and a short run sees the
late regime (outside the theorem's conditions on c, with betas in [0, 1)). 100 coordinates of curvature one a seed; the
slope of the root mean square over coordinates and seeds against log t over the last decade, minus the slope of the
closed form on the same records; resampled over seeds. The law neglects terms of relative order eta, so 0.02 is granted.
"""

import numpy as np

from marslab.claims._fixed_gamma import constant_beta, quasi_static
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.simulate import run
from marslab.verdicts import Measurement

C = S = 1.0
PROBLEM = quadratic(1.0, shape=(100,), start_scale=0.1)


def measure(data, rule, exact, schedule, noise, gamma, steps, seeds):
    """The sampled exponent minus the predicted one."""
    records = np.unique(np.rint(np.geomspace(steps // 10, steps, 60)).astype(int)).tolist()
    options = dict(exact=exact, gamma=gamma, steps=steps, seeds=seeds, record=records, **schedule(C, S))
    norms = run(rule, problem=PROBLEM, noise=noise, **options).grad_norm.transpose("seed", "step").values
    wanted = exponent(np.sqrt(quasi_static(True, records, c=C, s=S, gamma=gamma))[None], records)
    found = Measurement.resampled(lambda rows: exponent(rows, records) - wanted, norms, resamples=2000)
    note = f"exponent {exponent(norms, records):.4f}, predicted {wanted:.4f}, steps {records[0]} to {steps}"
    return Finding(found, steps, 2 * steps - 1, note)


def exponent(norms, records) -> float:
    """The least squares slope of the log root mean square over seeds against log t."""
    x = np.log(records) - np.log(records).mean()
    return float(x @ np.log((norms**2).mean(axis=0)) / 2 / (x @ x))


fixed_gamma_rate_sampled = Claim(
    name="fixed_gamma_rate_sampled",
    statement="Exact MARS at γ = 1/2, c = s = 1: the sampled gradient norm falls as the quasi-static law says, near T^(-1/3).",
    source="derived here (theory.quasi_static)",
    kind="Monte Carlo",
    unit="difference of exponents",
    margin=0.02,
    predict=lambda: 0.0,
    measure=measure,
    settings={
        "rule": mars,
        "exact": True,
        "schedule": theorem,
        "noise": additive(10.0),
        "gamma": 0.5,
        "steps": Budget(5_000, 100_000),
        "seeds": Budget(48, 128),
    },
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "beta stays constant": Plant({"schedule": constant_beta}),
    },
)
