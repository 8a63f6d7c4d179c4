r"""The stationary law of approximate MARS is the spread over independent runs at one step.

With k = 1 - beta, h = gamma beta, a = eta lambda and N = h^2 + (k + h)^2 - h (k + h)(2 beta - k a - 2 h a), the variance of
the estimate is R = N sigma^2 / ((k + h a)(1 + beta - k a / 2 - h a)) and that of the gradient P = (a / (2 k)) (R (1 + beta - h
a) - 2 h (k + h) sigma^2): the last gradient carries noise of its own. Measured at a = 0.5, beta = 0.9, gamma = 0.5 after 100
steps, over seeds that share nothing but their start; the margin of 25 % is eight standard errors at the quick budget.
"""

from marslab import theory
from marslab.claims._spread import BETA, RATE, SHARED, spread
from marslab.claims.base import Claim
from marslab.optimizers import mars


def measure(data, **settings):
    """The spread over independent runs."""
    law = float(theory.stationary_approximate(RATE, gamma=0.5, beta=BETA))
    return spread(mars, law, **settings, beta1=BETA, gamma=0.5, exact=False)


spread_of_approximate_mars = Claim(
    name="spread_of_approximate_mars",
    statement="At one step, independent runs of approximate MARS spread as its stationary law says.",
    source="derived here",
    measure=measure,
    **SHARED,
)
