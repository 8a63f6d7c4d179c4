r"""Does approximate MARS-AdamW end with a lower training loss than a tuned AdamW?

A two-layer network on scikit-learn's digits, minibatches of 32 rows, full-data training loss after the same number of
gradient evaluations. Every method has the same grid of five learning rates and tuning seeds (quick: 100..107); the
comparison is paired over reporting seeds (quick: 0..15), which share starts and rows. The unit is the logarithm of the
ratio of final losses: below zero, approximate MARS-AdamW is ahead of AdamW with torch's betas. This is a tiny network
near interpolation: it says nothing about GPT-2.
"""

from marslab.claims._digits import SHARED, compare, lost
from marslab.claims.base import Claim


def measure(data):
    """Paired over the reporting seeds, each method at its own tuned learning rate."""
    return compare(data, "approximate", "adamw")


digits_approximate_beats_adamw = Claim(
    name="digits_approximate_beats_adamw",
    statement="Digits: approximate MARS-AdamW ends at least 5 % below tuned AdamW (0.9, 0.999) at equal gradient evaluations.",
    source="arXiv 2411.10438, section 4, read on a small network",
    side="below",
    measure=measure,
    plants=lost("approximate"),
    **SHARED,
)
