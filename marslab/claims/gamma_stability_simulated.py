r"""By simulation: with the published gamma = 0.025 MARS diverges from eta lambda = 40 on.

The limit of claim gamma_halves_the_stable_sharpness, on paths of the simulator without noise: one eigenmode of
curvature one, step sizes from 36 to 44 in steps of 1/4, exact and approximate form (without noise they are one
algorithm). Past the limit the root of the recursion is -1 - r with r about 0.1 for each unit of eta lambda, so in 2000
steps a quarter of a unit multiplies the gradient by e^48 or divides it. Reported: the middle between the largest step
size whose gradient shrinks over the second half of the run and the smallest whose gradient grows; it is exact to 1/8,
and 1/4 is granted.
"""

import numpy as np

from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive, curvature
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.simulate import run
from marslab.verdicts import Measurement

RATES, STEPS = np.arange(36, 44.01, 0.25), 2_000


def measure(data, rule, noise, gamma, beta1):
    """Where the gradient begins to grow, the form farther from 40."""
    edges = [edge(rule, noise, exact, gamma, beta1) for exact in (True, False)]
    worst = max(edges, key=lambda found: abs(found - 40))
    note = f"exact {edges[0]}, approximate {edges[1]}; {len(RATES)} step sizes"
    return Finding(Measurement(worst, kind="exact"), STEPS, 2 * STEPS - 1, note)


def edge(rule, noise, exact, gamma, beta1) -> float:
    """The middle of the last step size that shrinks and the first that grows; an end of the grid where all do the same."""
    options = dict(exact=exact, gamma=gamma, beta1=beta1, lr=RATES.tolist(), steps=STEPS, record=[STEPS // 2, STEPS])
    norms = run(rule, problem=quadratic(1.0), noise=noise, **options).grad_norm.isel(seed=0).transpose("step", "lr").values
    grows = (norms[1] > norms[0]) | np.isinf(norms[1])
    if grows[0] or not grows.any():
        return float(RATES[0] if grows[0] else RATES[-1])
    first = int(np.argmax(grows))
    return float(RATES[first - 1 : first + 1].mean())


gamma_stability_simulated = Claim(
    name="gamma_stability_simulated",
    statement="Simulated without noise, MARS at γ = 0.025, β = 0.95 starts to diverge at ηλ = 40.",
    source="derived here (theory.stability_limit)",
    kind="exact",
    unit="ηλ",
    margin=0.25,
    predict=lambda: 40.0,
    measure=measure,
    settings={"rule": mars, "noise": None, "gamma": 0.025, "beta1": 0.95},
    plants=FAULTY_MARS | {"there is noise of the curvature": Plant({"noise": curvature(level=1.0) + additive(sigma=1.0)})},
)
