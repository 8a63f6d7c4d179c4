"""What the claims on independent runs share: the spread over many seeds of one coordinate at one step, over its closed form."""

from marslab.claims.base import Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.problems import quadratic
from marslab.simulate import run
from marslab.verdicts import Measurement

RATE, BETA, STEPS = 0.5, 0.9, 100
SETTINGS = {"noise": additive(sigma=1.0), "rate": RATE, "seeds": Budget(2048, 65536)}
MARGIN = 0.25  # eight standard errors of a variance from 2048 normal numbers
PLANTS = {
    "the noise is correlated": Plant({"noise": additive(sigma=1.0, correlation=0.5)}),
    "the step is a tenth as long": Plant({"rate": RATE / 10}),
}
SHARED = dict(
    kind="Monte Carlo", unit="relative difference", margin=MARGIN, predict=lambda: 0.0, settings=SETTINGS, plants=PLANTS
)


def spread(rule, law: float, *, noise, rate, seeds, **hyper) -> Finding:
    """Mean over seeds of F'(x_T)^2, over the law, less one; the runs have nothing in common but their start."""
    options = dict(steps=STEPS, record=[STEPS], seeds=seeds, lr=rate, noise=noise)
    norms = run(rule, problem=quadratic(spectrum=(1.0,), start_scale=1e-3), **options, **hyper).grad_norm.values[:, 0]
    note = f"mean of squares {(norms**2).mean():.4f} over {len(norms)} seeds at step {STEPS}; closed form {law:.4f}"
    found = Measurement.of(norms**2 / law - 1, resamples=0)  # a mean of thousands of squares is normal: no bootstrap is needed
    return Finding(found, STEPS, STEPS, note)
