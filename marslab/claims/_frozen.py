"""What the claims at a frozen point share: the variance of the estimate, exactly, at lr = 0."""

from collections.abc import Sequence

from marslab.moments import propagate
from marslab.noise.base import Noise
from marslab.problems import quadratic
from marslab.rule import Rule

STEPS, BETA, GAMMA = 600, 0.95, 0.025


def variances(rule: Rule, noise: Noise, exact: bool | None, gamma: Sequence[float] | float | None, beta1=BETA):
    """Var(m) / Var(g) after STEPS steps that go nowhere (BETA^STEPS is 4e-14), by exact moments, for every gamma."""
    hyper = {} if gamma is None else {"gamma": list(gamma) if isinstance(gamma, Sequence) else gamma}
    options = dict(problem=quadratic(1.0), noise=noise, steps=STEPS, record=[STEPS], lr=0.0, beta1=beta1)
    return propagate(rule, exact=exact, **options, **hyper).error_squared.values[..., -1]
