r"""Is the one-gradient approximation as good as the exact form?

A two-layer network on scikit-learn's digits, minibatches of 32 rows, full-data training loss after the same number of
gradient evaluations. Every method has the same grid of five learning rates and tuning seeds (quick: 100..107); the
comparison is paired over reporting seeds (quick: 0..15), which share starts and rows. The unit is the logarithm of the
ratio of final losses: the claim is that it lies within 5 % of zero; at equal gradient evaluations the exact form has
taken half as many steps. This is a tiny network near interpolation: it says nothing about GPT-2.
"""

from marslab.claims._digits import SHARED, compare, lost
from marslab.claims.base import Claim


def measure(data):
    """Paired over the reporting seeds, each method at its own tuned learning rate."""
    return compare(data, "exact", "approximate")


digits_exact_like_approximate = Claim(
    name="digits_exact_like_approximate",
    statement="Digits: exact and approximate MARS-AdamW end within 5 % of each other at equal gradient evaluations.",
    source="arXiv 2411.10438, remark 3.3 and appendix E, charged in gradient evaluations",
    side="within",
    measure=measure,
    plants=lost("exact"),
    **SHARED,
)
