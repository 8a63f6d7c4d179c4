r"""Is the best learning rate of MARS-AdamW ten times AdamW's?

The paper runs MARS-AdamW at 6e-3, 3e-3 and 2e-3 where AdamW has 6e-4, 3e-4 and 2e-4 (GPT-2 small, medium, large), and
credits MARS with the stability for it. Derived: in noise v averages c^2, whose variance is (1 + kappa)^2 + kappa^2 =
2.401 times that of g, so the approximate form at 1.55 times the rate takes steps as long as AdamW's; a factor of ten is
not explained by it. A two-layer network on scikit-learn's digits, batches of 16, 200 steps, five rates from 0.003 to
0.048 each, so that a factor of up to 16 could be seen. Measured: for every reporting seed the log ratio of the rates with
the lowest final loss, MARS-AdamW over AdamW with the paper's betas (0.9, 0.95), averaged. The grid has a factor of two,
hence the margin log 2.
"""

import math

import numpy as np

from marslab.claims._races import RACE, effort
from marslab.claims.base import Claim, Finding, Plant
from marslab.tuning import best, reporting
from marslab.verdicts import Measurement


def measure(data):
    """Mean over seeds of the log ratio of each seed's best rates."""
    runs = data["race_digits"]
    ours, other = runs["mars"], runs["adamw_paper"]
    measurement = Measurement.between(np.log(chosen(ours)), np.log(chosen(other)), kind="empirical")
    note = f"factor {math.exp(measurement.estimate):.2f}; tuned rates {best(ours):g} and {best(other):g}; published: 10"
    return Finding(measurement, *effort(ours), note)


def chosen(data) -> np.ndarray:
    """Each reporting seed's best rate."""
    final = reporting(data).loss.isel(step=-1).transpose("seed", "lr").values
    return data.lr.values[final.argmin(axis=1)]


empirical_learning_rate_ten_times = Claim(
    name="empirical_learning_rate_ten_times",
    statement="Digits: the best learning rate of MARS-AdamW is ten times AdamW's, within a factor of two.",
    source="arXiv 2411.10438, tables 10 to 12: 6e-3 against 6e-4 and so on",
    measure=measure,
    margin=math.log(2),
    **RACE | {"unit": "log ratio of rates", "predict": lambda: math.log(10)},
    plants={"gamma is almost zero": Plant(runs={"race_digits": {"mars": {"gamma": 1e-4}}})},
)
