r"""On a quadratic with additive noise the error has no logarithm and a constant c sigma^2 / 2.

Additive noise cancels in the correction of gamma = 1, so e_{t+1} = beta e_t + (1 - beta) z exactly, wherever x is, and v_t
= E|e_t|^2 follows v' = beta^2 v + (1 - beta)^2 sigma^2. With k_t = 1 - beta = c eta_t^2, which changes by a share of only 2
/ (3 t) a step, while v forgets within 1 / (2 k_t) ~ t^(2/3) steps, v_t = k_t sigma^2 / (2 - k_t) up to shares of order
t^(-1/3): T^(2/3) v_T goes to c sigma^2 / 2, and the mean of v to (3 c / 2) sigma^2 T^(-2/3). Theorem B.5 allows c^2 sigma^2
log(s + T) / (4 L^2) instead: too much by c log(s + T) / (6 L^2), that is at least (16 / 3) log(s + T). The logarithm
belongs to the proof, not to the method on these problems. Measured by exact moments at T = 10^6 as the ratio to c sigma^2 /
2 that lies farthest from 1, over three L; at that T the shares left out, k / 2 and the lag 1 / (3 c t^(1/3)), are below 0.2
% each.
"""

import numpy as np

from marslab.claims._theorem import SMOOTHNESS, Setting, column, curves
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.verdicts import Measurement

STEPS = 1_000_000


def measure(data, rule, noise, exact):
    """T^(2/3) E|e_T|^2 over c sigma^2 / 2, the farthest from 1."""
    ratios = [last_over_limit(rule, noise, exact, L) for L in SMOOTHNESS]
    farthest = max(ratios, key=lambda r: abs(r - 1))
    note = "at " + ", ".join(f"L = {L:.3g}: {r:.4f}" for L, r in zip(SMOOTHNESS, ratios, strict=True))
    return Finding(Measurement(farthest, kind="exact"), steps=STEPS, evaluations=2 * STEPS - 1, note=note)


def last_over_limit(rule, noise, exact, L) -> float:
    """The ratio at one smoothness."""
    setting = Setting(L)
    options = dict(problem=quadratic(spectrum=(L,)), noise=noise, exact=exact, steps=STEPS, record=[STEPS], gamma=1.0)
    last = curves(rule, **options, **setting.schedules)["error_squared"][-1]
    return float(last * STEPS ** (2 / 3) / (setting.c * np.square(column(noise)).item() / 2))


theorem_b5_logarithm = Claim(
    name="theorem_b5_logarithm",
    statement="With additive noise on a quadratic T^{2/3} E|m_T − ∇F|² tends to cσ²/2: the bound's logarithm is not attained.",
    source="derived here, on arXiv 2411.10438, theorem B.5",
    kind="exact",
    unit="ratio to cσ²/2",
    margin=0.005,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "noise": additive(sigma=1.0), "exact": True},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "the noise is correlated": Plant({"noise": additive(sigma=1.0, correlation=0.3)}),
    },
)
