r"""Does Muon end above AdamW, as the paper reports?

A two-layer network on scikit-learn's digits, 1,162 weights, batches of 16, 200 steps, full-data training loss; five
learning rates and (quick) six tuning seeds each, 32 reporting seeds that share starts and rows. Muon orthogonalises the
two matrices and leaves the biases to AdamW at a fixed rate of 0.012, near AdamW's tuned one. Published final losses,
AdamW against Muon: 2.885 and 2.901 (small), 2.691 and 2.688 (medium), 2.568 and 2.606 (large); downstream Muon is below
AdamW on small and large. Independent studies disagree: arXiv 2509.02046, every method tuned, has Muon ahead everywhere
(130M, one Chinchilla: 3.464 against 3.529). Claimed: at least 5 % above the paper's AdamW (0.9, 0.95), both tuned.
"""

from marslab.claims._races import MARGIN, RACE, race
from marslab.claims.base import Claim, Plant


def measure(data):
    """Log ratio of the tuned final losses, Muon over AdamW (0.9, 0.95)."""
    return race(data, "muon", "adamw_paper")


empirical_muon_above_adamw = Claim(
    name="empirical_muon_above_adamw",
    statement="Digits: tuned Muon ends at least 5 % above tuned AdamW (0.9, 0.95).",
    source="arXiv 2411.10438, section 4.2 and tables 1 to 8",
    side="above",
    margin=MARGIN,
    measure=measure,
    plants={
        "AdamW's first beta is 0.99": Plant(runs={"race_digits": {"adamw_paper": {"beta1": 0.99}}}),
    },
    **RACE,
)
