r"""The stationary law of SGD is the spread over independent runs at one step, not only an average over time.

With a = eta lambda and y = F'(x), one step is y' = (1 - a) y - a z, z of variance sigma^2. So E y^2 = a^2 sigma^2 / (1 - (1
- a)^2) = a sigma^2 / (2 - a), which is reached after a few times 1/a steps from any start. Seeds must then be as far apart
as independent draws are: if runs shared their noise, one number would stand for all of them. Measured at a = 0.5 after 100
steps; the margin of 25 % is eight standard errors at the quick budget.
"""

from marslab.claims._spread import RATE, SHARED, spread
from marslab.claims.base import Claim
from marslab.optimizers import sgd


def measure(data, **settings):
    """The spread over independent runs."""
    return spread(sgd, RATE / (2 - RATE), **settings)


spread_of_sgd = Claim(
    name="spread_of_sgd",
    statement="At one step, independent runs of SGD spread as its stationary law says: E F'² = aσ²/(2 − a).",
    source="derived here",
    measure=measure,
    **SHARED,
)
