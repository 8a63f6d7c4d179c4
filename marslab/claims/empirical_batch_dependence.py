r"""Does the gain over AdamW grow as the batch shrinks?

A two-layer network on scikit-learn's digits, 1,162 weights, 200 steps, full-data training loss, batches of 4 and of 64;
five learning rates and (quick) six tuning seeds for each method and batch, 24 reporting seeds; the smaller batch is a
part of the larger one. The paper (batches of 240, 480, 960 sequences, 80k steps, figures only) has the gap grow as the
batch shrinks, which is where averaging and variance reduction should help. arXiv 2509.01440 has the opposite at 124M
weights: MARS below AdamW at 16k tokens a batch, improving at 131k, second of all at 262k. Both cannot be the whole story,
and the number of steps, the clip and the tensors that get MARS differ. Measured: the log loss ratio of approximate
MARS-AdamW over AdamW (0.9, 0.999) at the small batch minus that at the large one, paired by seed. Below 0 the gain is
larger at the small batch; any amount counts (margin 0). Steps are equal, not evaluations, as in the paper's figure.
"""

import numpy as np

from marslab.claims._digits import note, ratio
from marslab.claims._races import effort
from marslab.claims.base import Claim, Finding, Plant
from marslab.tuning import final_loss
from marslab.verdicts import Measurement


def measure(data):
    """Log ratio at the small batch minus log ratio at the large one."""
    runs = data["race_batch"]
    gains = {size: np.log(final_loss(runs[f"mars_{size}"]) / final_loss(runs[f"adamw_{size}"])) for size in ("small", "large")}
    measurement = Measurement.between(gains["small"], gains["large"], kind="empirical")
    each = {size: (runs[f"mars_{size}"], runs[f"adamw_{size}"]) for size in gains}
    text = f"batches of 4: {told(each['small'])}; of 64: {told(each['large'])}"
    return Finding(measurement, *effort(runs["mars_small"]), text)


def told(pair) -> str:
    """The ratio of MARS-AdamW over AdamW and the tuned rates."""
    return note(ratio(*pair), {"mars": pair[0], "adamw": pair[1]})


empirical_batch_dependence = Claim(
    name="empirical_batch_dependence",
    statement="Digits: the gain of MARS-AdamW over tuned AdamW is larger with batches of 4 than with batches of 64.",
    source="arXiv 2411.10438, appendix E; the opposite in arXiv 2509.01440",
    kind="empirical",
    unit="difference of log loss ratios",
    side="below",
    predict=lambda: 0.0,
    measure=measure,
    experiments=("race_batch",),
    plants={
        "gamma is too large for small batches": Plant(runs={"race_batch": {"mars_small": {"gamma": 0.2}}}),
        "gamma has the wrong sign at the small batch": Plant(runs={"race_batch": {"mars_small": {"gamma": -0.2}}}),
    },
)
