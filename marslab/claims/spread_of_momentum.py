r"""The stationary law of momentum is the spread over independent runs at one step.

Momentum is MARS at gamma = 0. With k = 1 - beta and a = eta lambda the law of the exact form at gamma = 0 is R = k sigma^2 /
(1 + beta - k a / 2) for the estimate's variance and P = a R (1 + beta) / (2 k) for the gradient's. It is reached after a few
times 1/k steps. Measured at a = 0.5, beta = 0.9 after 100 steps, over seeds that share nothing but their start; the margin
of 25 % is eight standard errors at the quick budget.
"""

from marslab import theory
from marslab.claims._spread import BETA, RATE, SHARED, spread
from marslab.claims.base import Claim
from marslab.optimizers import momentum


def measure(data, **settings):
    """The spread over independent runs."""
    return spread(momentum, float(theory.stationary_exact(RATE, gamma=0.0, beta=BETA)), **settings, beta1=BETA)


spread_of_momentum = Claim(
    name="spread_of_momentum",
    statement="At one step, independent runs of momentum spread as its stationary law says.",
    source="derived here",
    measure=measure,
    **SHARED,
)
