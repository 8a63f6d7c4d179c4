r"""Under bounded variance alone one-gradient MARS has no route to eps^-3: queries against accuracy on the hard instance.

chain.hard(gap, L, sigma, eps) scales the chain so that every unfinished point has |grad F| > 2 eps, F(0) - inf F is at
most the gap, and the noise's variance at most sigma^2: T grows like gap L/eps^2, the chance p falls like eps^2/sigma^2,
and T/p samples (chain_unlocks_one_coordinate) are gap L sigma^2 / eps^4 up to a constant. A method that had a route to
eps^-3 would show it here. Accuracies 1, 1/sqrt 2, 1/2 with T = 2, 4, 8 and p = 0.02, 0.01, 0.005; momentum, approximate
MARS and SGD at one learning rate that takes each coordinate at first sight, so that tuning has nothing left to win: T/p
is a bound. The claim is that the least exponent of the mean number of queries in 1/eps is above 3 by at least a half.
The final descent takes some 20 steps a coordinate at T = 2, which is why momentum's exponent stays somewhat below 4.
The second gradient of the exact form is of no help under this oracle, which is not mean-squared smooth
(chain_unlocks_one_coordinate).
"""

from marslab.claims._chain import bounded_variance, exponent, guessing, longest, mean_squared, queries
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.optimizers import mars

ACCURACIES = (1.0, 2**-0.5, 0.5)
GAMMAS = {"momentum": 0.0, "approximate MARS": 0.025, "SGD": 1.0}


def measure(data, rule, instance, seeds):
    """The least exponent over the methods."""
    counts = queries(rule, instance, ACCURACIES, seeds, exact=False, gamma=list(GAMMAS.values()))
    found = {name: exponent([each[index] for each in counts], ACCURACIES) for index, name in enumerate(GAMMAS)}
    least = min(found.values(), key=lambda one: one.estimate)
    listed = ", ".join(f"{name} {one.estimate:.2f}" for name, one in found.items())
    means = ", ".join(f"{each[1].mean():.0f}" for each in counts)
    note = f"exponents {listed}; approximate MARS needs {means} queries"
    steps = longest(instance, ACCURACIES)
    return Finding(least, steps, steps, note)


one_gradient_no_epsilon_cubed = Claim(
    name="one_gradient_no_epsilon_cubed",
    statement="On the hard instance of bounded variance one-gradient MARS needs ε⁻⁴ queries: the exponent exceeds 3.5.",
    source="arXiv 1912.02365, bounded variance; arXiv 2411.10438, remark 3.3 states no rate",
    kind="Monte Carlo",
    unit="exponent of queries in 1/ε",
    margin=0.5,
    side="above",
    predict=lambda: 3.0,
    measure=measure,
    settings={"rule": mars, "instance": bounded_variance, "seeds": Budget(192, 1000)},
    plants={
        "the method moves what it has not seen": Plant({"rule": guessing}),
        "the noise is mean-squared smooth": Plant({"instance": mean_squared}),
    },
)
