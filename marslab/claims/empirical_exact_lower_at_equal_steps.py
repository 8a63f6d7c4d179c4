r"""Does the second gradient buy anything if it is not charged for?

A two-layer network on scikit-learn's digits, 1,162 weights, batches of 16, 200 steps, full-data training loss; five
learning rates and (quick) six tuning seeds each, 32 reporting seeds that share starts and rows. The paper's ablation has
the exact form consistently slightly lower at equal steps: 3.107 against 3.108, 2.980 against 2.981, 2.847 against 2.849
on GPT-2 small at 5B, 20B and 50B tokens, one run each. Here exact and approximate MARS-AdamW have taken the same number
of steps, the exact one with 399 gradient evaluations instead of 200. What speaks against an advantage: v averages c^2, so
in noise the approximate form takes 0.645 times as long a step at the same rate (but each has its own tuned rate here),
and the exact correction at gamma = 0.025 is of second order. Any loss below counts (margin 0). At equal evaluations:
claim digits_exact_like_approximate.
"""

from marslab.claims._races import RACE, race
from marslab.claims.base import Claim, Plant


def measure(data):
    """Log ratio of the tuned final losses at equal steps, exact over approximate."""
    return race(data, "mars_exact", "mars")


empirical_exact_lower_at_equal_steps = Claim(
    name="empirical_exact_lower_at_equal_steps",
    statement="Digits: at equal steps, the second gradient free of charge, exact MARS-AdamW ends below the approximate form.",
    source="arXiv 2411.10438, appendix E",
    side="below",
    margin=0.0,
    measure=measure,
    plants={
        "gamma is one in the exact form": Plant(runs={"race_digits": {"mars_exact": {"gamma": 1.0}}}),
    },
    **RACE,
)
