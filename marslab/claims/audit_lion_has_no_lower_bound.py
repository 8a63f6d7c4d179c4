r"""MARS-Lion's preconditioner diag|m| has no lower bound: assumption B.3 fails, and with it the theorem's rho.

MARS-Lion is algorithm 1 with H = diag|m_t|, to which nothing is added (only AdamW has an epsilon). Near stationarity the
law of a coordinate of m_t has a density p > 0 at 0, so the smallest |m_t| over N coordinates and steps is about 1/(2 p N):
it falls like 1/N, and its infimum is 0. A rho > 0 taken from the first N steps is therefore violated about N steps later,
and s >= 8 L^3/rho^3 grows like N^3. If there were a bound, the running minimum would settle: exponent 0.

Measured: exact MARS-Lion at its published beta and gamma on an 8-dimensional quadratic with additive noise; one number a
seed, the exponent log10(min over 10 N / min over N) of the smallest |m_t| + eps from step 100 on. The running minimum of an
exponential law gives the exponent -1 with a standard deviation of about 0.9 a seed. A bound is claimed, to within 0.25.
"""

import numpy as np
import torch

from marslab.claims._audit import walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars_lion
from marslab.problems import quadratic
from marslab.verdicts import Measurement

SETTLED = 100


def smallest(rule, noise, steps, seeds, eps) -> np.ndarray:
    """The running minimum over coordinates and steps of |m_t| + eps from step SETTLED on, (steps, seeds)."""
    options = dict(problem=quadratic([1.0] * 8), noise=noise, exact=True, lr=0.01, clip_radius=float("inf"))
    run = walk(rule, steps=SETTLED + steps, seeds=seeds, **options)
    sizes = torch.stack([step.states["x"]["m"].abs().amin(-1) for step in run if step.t > SETTLED])
    return np.minimum.accumulate(sizes.numpy() + eps, axis=0)


def measure(data, rule, noise, steps, seeds, eps):
    """The exponent of the running minimum over its last decade of steps."""
    found = smallest(rule, noise, steps, seeds, eps)
    exponents = np.log10(found[-1] / found[steps // 10 - 1])
    rho = np.median(found[-1])
    note = f"the median of the smallest |m| + eps is {rho:.1e} after {steps} steps; "
    note += f"as ρ it asks for s ≥ {8 / rho**3:.0e} at L = 1"
    return Finding(Measurement.of(exponents), SETTLED + steps, 2 * (SETTLED + steps) - 1, note)


audit_lion_has_no_lower_bound = Claim(
    name="audit_lion_has_no_lower_bound",
    statement="MARS-Lion's preconditioner diag|m| keeps above some ρ > 0, as assumption B.3 asks.",
    source="arXiv 2411.10438, assumption B.3 and algorithm 3",
    kind="Monte Carlo",
    unit="exponent of the smallest |m|",
    predict=lambda: 0.0,
    margin=0.25,
    measure=measure,
    settings={
        "rule": mars_lion,
        "noise": additive(1.0),
        "steps": Budget(2_000, 20_000),
        "seeds": Budget(48, 128),
        "eps": 0.0,
    },
    plants={
        "the noise is a tenth": Plant({"noise": additive(0.1)}),
        "the published eps of MARS-AdamW is added": Plant({"eps": 1e-8}),
    },
)
