r"""With a constant beta the error of exact MARS stops at sigma^2 (1 - beta) / (1 + beta), whatever the step does.

Practice keeps beta constant; theorem B.5 needs beta_{t+1} = 1 - c eta_t^2. At gamma = 1 additive noise cancels in the
correction, so e_{t+1} = beta e_t + (1 - beta) z exactly, wherever x is and however small eta: v = E|e|^2 solves v = beta^2
v + (1 - beta)^2 sigma^2, that is v = sigma^2 (1 - beta) / (1 + beta), reached like beta^(2t). At beta = 0.95: 0.0256
sigma^2, a floor that no step size lowers and that breaks the theorem's bound for T large. With gamma = 0 the same floor
remains. Held against exact moments under eta_t = (190 + t)^(-1/3) at T = 10^5 for three betas, as the ratio farthest from
1.
"""

from marslab.claims._theorem import curves
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import PowerLaw, TheoremBeta
from marslab.verdicts import Measurement

BETAS = (0.9, 0.95, 0.99)
STEPS = 100_000


def measure(data, rule, noise, exact, schedule):
    """E|e_T|^2 over the floor at each beta, the farthest from 1; ``schedule`` None: beta stays constant."""
    ratios = [last(rule, noise, exact, beta if schedule is None else schedule) / floor(beta) for beta in BETAS]
    note = ", ".join(f"beta {b}: {r * floor(b):.5g} against {floor(b):.5g}" for b, r in zip(BETAS, ratios, strict=True))
    farthest = max(ratios, key=lambda r: abs(r - 1))
    return Finding(Measurement(farthest, kind="exact"), steps=STEPS, evaluations=2 * STEPS - 1, note=note)


def floor(beta: float) -> float:
    """(1 - beta) / (1 + beta), sigma = 1."""
    return (1 - beta) / (1 + beta)


def last(rule, noise, exact, beta) -> float:
    """E|e_T|^2."""
    found = curves(rule, problem=quadratic(spectrum=(1.0,)), noise=noise, exact=exact, steps=STEPS, record=[STEPS], gamma=1.0,
                   lr=PowerLaw(1.0, 1 / 3, 190), beta1=beta)  # fmt: skip
    return float(found["error_squared"][-1])


constant_beta_floor = Claim(
    name="constant_beta_floor",
    statement="With a constant β the error of exact MARS, γ = 1, stops at σ²(1 − β)/(1 + β), whatever the step size does.",
    source="derived here, on arXiv 2411.10438, theorem B.5",
    kind="exact",
    unit="ratio to the floor",
    margin=1e-9,
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "noise": additive(sigma=1.0), "exact": True, "schedule": None},
    plants={
        "beta follows the theorem": Plant({"schedule": TheoremBeta(33, 190)}),
        "prev is of another sample": Plant({"exact": False}),
        "the noise is correlated": Plant({"noise": additive(sigma=1.0, correlation=0.1)}),
    },
)
