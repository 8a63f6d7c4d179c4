r"""Is the gain over AdamW due to the correction, or to the betas?

A two-layer network on scikit-learn's digits, minibatches of 32 rows, full-data training loss after the same number of
gradient evaluations. Every method has the same grid of five learning rates and tuning seeds (quick: 100..107); the
comparison is paired over reporting seeds (quick: 0..15), which share starts and rows. The unit is the logarithm of the
ratio of final losses: the control is AdamW with MARS's own betas (0.95, 0.99), so that only correction and clip
differ. This is a tiny network near interpolation: it says nothing about GPT-2.
"""

from marslab.claims._digits import SHARED, compare, lost
from marslab.claims.base import Claim


def measure(data):
    """Paired over the reporting seeds, each method at its own tuned learning rate."""
    return compare(data, "approximate", "adamw_betas")


digits_approximate_beats_adamw_betas = Claim(
    name="digits_approximate_beats_adamw_betas",
    statement="Digits: approximate MARS-AdamW ends at least 5 % below AdamW with the same betas (0.95, 0.99).",
    source="arXiv 2411.10438, section 4, with a control added here",
    side="below",
    measure=measure,
    plants=lost("approximate"),
    **SHARED,
)
