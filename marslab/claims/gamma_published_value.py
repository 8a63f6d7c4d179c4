r"""The published gamma = 0.025 is the variance-optimal one near a = eta lambda = 20, a sharp direction.

The stationary law of approximate MARS with additive noise (theory.stationary_approximate, at beta = 0.95) has its
minimum over gamma at 0.353, 0.161, 0.069 and 0.024 for a = 0.1, 1, 5 and 20: the sharper the direction, the smaller the
best gamma. So 0.025 is not small because corrections are weak in general; it fits directions where the step is far
beyond the stability of SGD (a = 2) and of momentum's comfortable range. At a = 20 it cuts P to 0.21 of its value at
gamma = 0, at a = 1 to 0.70, and at a = 39, close to its stability limit of 40, P is 1.97 times that of gamma = 0.
Predicted: 0.025 at a = 20; measured: the minimum of the rule's exact moments; granted: 10 %.
"""

from marslab.claims._stationary_gamma import best, power
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement

SHARPNESSES = (1.0, 20.0, 39.0)


def measure(data, rule, exact, a, beta1, published):
    """The best gamma at a, and what the published one does to P at several sharpnesses."""
    options = dict(exact=exact, beta1=beta1)
    ratios = [power(rule, s, published, **options) / power(rule, s, 0.0, **options) for s in SHARPNESSES]
    text = ", ".join(f"{ratio:.3f} at a = {s:g}" for s, ratio in zip(SHARPNESSES, ratios, strict=True))
    note = f"P at gamma = {published} over P at gamma = 0: {text}"
    return Finding(Measurement(best(rule, a, highest=0.1, **options), kind="exact"), note=note)


gamma_published_value = Claim(
    name="gamma_published_value",
    statement="At β = 0.95 the published γ = 0.025 is variance-optimal for approximate MARS at sharpness ηλ = 20.",
    source="derived here, for the gamma of arXiv 2411.10438",
    kind="exact",
    unit="gamma",
    margin=0.0025,
    predict=lambda: 0.025,
    measure=measure,
    settings={"rule": mars, "exact": False, "a": 20.0, "beta1": 0.95, "published": 0.025},
    plants={
        "prev is of the same sample": Plant({"exact": True}),
        "the factor 1/(1 - beta) of the correction is lost": FAULTY_MARS["the factor 1/(1 - beta) of the correction is lost"],
    },
)
