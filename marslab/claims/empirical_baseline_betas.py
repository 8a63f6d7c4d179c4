r"""Is AdamW with betas (0.9, 0.95), the paper's baseline, a weak one?

A two-layer network on scikit-learn's digits, 1,162 weights, batches of 16, 200 steps, full-data training loss; five
learning rates and (quick) six tuning seeds each, 32 reporting seeds that share starts and rows. The paper gives AdamW
betas (0.9, 0.95). The study of arXiv 2509.01440 trained with beta_2 = 0.999 and found 0.95 worse, in runs of 124M
weights; a weak baseline would explain part of the published gain. Claimed, as that study says: (0.9, 0.95) ends at least
5 % above (0.9, 0.999), each at its own tuned rate. Short runs favour a short memory: 200 steps are a fifth of 1/(1 -
0.999), so a failure here speaks of this length only.
"""

from marslab.claims._races import MARGIN, RACE, race
from marslab.claims.base import Claim, Plant


def measure(data):
    """Log ratio of the tuned final losses, AdamW (0.9, 0.95) over AdamW (0.9, 0.999)."""
    return race(data, "adamw_paper", "adamw")


empirical_baseline_betas = Claim(
    name="empirical_baseline_betas",
    statement="Digits: AdamW with the paper's betas (0.9, 0.95) ends at least 5 % above AdamW with (0.9, 0.999).",
    source="arXiv 2509.01440, on the baseline of arXiv 2411.10438",
    side="above",
    margin=MARGIN,
    measure=measure,
    plants={"the other's first beta is 0.99": Plant(runs={"race_digits": {"adamw": {"beta1": 0.99}}})},
    **RACE,
)
