r"""The stationary law of exact MARS is the spread over independent runs at one step.

With k = 1 - beta, h = gamma beta and a = eta lambda, R = k^2 sigma^2 / ((k + h a)(1 + beta - k a / 2 - h a)) is the variance
of the estimate and P = a R (1 + beta - h a) / (2 k) that of the gradient: both gradients of a step see the same noise, which
cancels in their difference. Measured at a = 0.5, beta = 0.9, gamma = 0.5 after 100 steps, over seeds that share nothing but
their start; the margin of 25 % is eight standard errors at the quick budget.
"""

from marslab import theory
from marslab.claims._spread import BETA, RATE, SHARED, spread
from marslab.claims.base import Claim
from marslab.optimizers import mars


def measure(data, **settings):
    """The spread over independent runs."""
    return spread(
        mars, float(theory.stationary_exact(RATE, gamma=0.5, beta=BETA)), **settings, beta1=BETA, gamma=0.5, exact=True
    )


spread_of_exact_mars = Claim(
    name="spread_of_exact_mars",
    statement="At one step, independent runs of exact MARS spread as its stationary law says.",
    source="derived here",
    measure=measure,
    **SHARED,
)
