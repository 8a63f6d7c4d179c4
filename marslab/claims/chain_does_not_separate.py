r"""The mean-squared smooth chain is no harder for one gradient than for two: eps^-3 for both.

For the class with E|g(x, xi) - g(y, xi)|^2 <= Lbar^2 |x - y|^2 the chain uses noise.unlock(p, smooth=True), whose
constant is 328 L/(152 sqrt p). With Lbar fixed, L must shrink like sqrt p, and p like eps^2, so T = gap L/eps^2 grows
like 1/eps only, and T/p like Lbar gap sigma/eps^3. That is the lower bound of methods with two points per sample; but
T/p samples suffice for one-gradient methods as well. So this instance cannot show what the second gradient is worth.
(By its summary that paper leaves open whether one query a sample suffices for eps^-3 under mean-squared smoothness; the
lower bound eps^-4 is for bounded variance alone, one_gradient_no_epsilon_cubed.) Accuracies 1 and 1/2, T = 4 and 8, p =
0.02 and 0.005; the claim is that the exponent of approximate MARS (0.95, 0.025) is 3 within 0.4.
"""

from marslab.claims._chain import bounded_variance, exponent, guessing, longest, mean_squared, queries
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.optimizers import mars

ACCURACIES = (1.0, 0.5)


def measure(data, rule, instance, seeds):
    """The exponent of approximate MARS."""
    counts = queries(rule, instance, ACCURACIES, seeds, exact=False, gamma=0.025)
    means = [f"{each.mean():.0f} at accuracy {eps:g}" for each, eps in zip(counts, ACCURACIES, strict=True)]
    note = "mean queries " + ", ".join(means)
    return Finding(exponent(counts, ACCURACIES), *[longest(instance, ACCURACIES)] * 2, note)


chain_does_not_separate = Claim(
    name="chain_does_not_separate",
    statement="On the mean-squared smooth chain one-gradient MARS finishes in ε⁻³ queries: it does not separate the forms.",
    source="derived here, on the mean-squared smooth instance of arXiv 1912.02365",
    kind="Monte Carlo",
    unit="exponent of queries in 1/ε",
    margin=0.4,
    predict=lambda: 3.0,
    measure=measure,
    settings={"rule": mars, "instance": mean_squared, "seeds": Budget(192, 1000)},
    plants={
        "the method moves what it has not seen": Plant({"rule": guessing}),
        "the noise is of bounded variance alone": Plant({"instance": bounded_variance}),
    },
)
