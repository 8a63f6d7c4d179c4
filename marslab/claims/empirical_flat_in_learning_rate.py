r"""Is MARS-AdamW flatter in the learning rate than AdamW?

A two-layer network on scikit-learn's digits, 1,162 weights, batches of 16, 200 steps, full-data training loss; five
learning rates and (quick) six tuning seeds each, 32 reporting seeds that share starts and rows. The study of arXiv
2509.01440 calls MARS unusually flat in the learning rate (1e-4 to 2e-3, figures only), and the paper shows it below AdamW
at two constant rates each. Measured: what half and twice the tuned rate lose on average over the tuned one, in log loss,
MARS-AdamW minus AdamW with the paper's betas, seed by seed; below 0 MARS is flatter, and the claim asks for 5 %. The
tuned rates lie inside their grids, or the note says so.
"""

import numpy as np

from marslab.claims._races import MARGIN, RACE, effort
from marslab.claims.base import Claim, Finding, Plant
from marslab.tuning import best, on_edge, reporting
from marslab.verdicts import Measurement


def measure(data):
    """Extra loss off the tuned rate, MARS-AdamW minus AdamW."""
    runs = data["race_digits"]
    ours, other = runs["mars"], runs["adamw_paper"]
    measurement = Measurement.between(lost(ours), lost(other), kind="empirical")
    edge = " (a tuned rate lies ON THE EDGE)" if on_edge(ours) or on_edge(other) else ""
    note = f"half and twice the tuned rate cost {lost(ours).mean():.3f} (MARS-AdamW) and {lost(other).mean():.3f} (AdamW){edge}"
    return Finding(measurement, *effort(ours), note)


def lost(data) -> np.ndarray:
    """Mean log loss of the neighbours of the tuned rate over that of the rate itself, shape (seeds,)."""
    final = np.log(reporting(data).loss.isel(step=-1).transpose("seed", "lr").values)
    at = int(np.flatnonzero(data.lr.values == best(data))[0])
    beside = [i for i in (at - 1, at + 1) if 0 <= i < final.shape[1]]
    return final[:, beside].mean(axis=1) - final[:, at]


empirical_flat_in_learning_rate = Claim(
    name="empirical_flat_in_learning_rate",
    statement="Digits: half or twice its tuned learning rate costs MARS-AdamW at least 5 % less than it costs AdamW.",
    source="arXiv 2509.01440; arXiv 2411.10438, appendix E",
    measure=measure,
    side="below",
    margin=MARGIN,
    plants={
        "AdamW's rates are nearer together": Plant(
            runs={"race_digits": {"adamw_paper": {"lr": [0.0085, 0.01, 0.012, 0.0144, 0.017]}}}
        ),
    },
    **RACE,
)
