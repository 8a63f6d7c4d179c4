r"""By simulation too, the proxy's gamma leaves a larger stationary gradient norm than the best gamma.

The setting of claim similarity_proxy_is_the_best_gamma: s^2 = 10, a = 0.1, beta = 0.9. The proxy is 1/11; the best
gamma is found from the closed form beforehand, so no run chooses it. Both see the same noise, coordinate by coordinate
and seed by seed (200 coordinates a seed); the log ratio of their root mean square gradient norms, averaged over the
second half of the run, is taken seed by seed. The closed form gives half the log of 1.576: 0.227. The claim that the
proxy is as good is granted 10 %. The curvature noise takes the values +-1 only, so that the second moments have light
tails; the law of w does not enter P.
"""

import math

import numpy as np

from marslab import theory
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive, curvature
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.simulate import run
from marslab.verdicts import Measurement

SIZE, GRID = 200, np.linspace(0, 1, 1001)
SIGMA = math.sqrt(SIZE)  # one for each coordinate


def measure(data, rule, noise, exact, a, beta1, squared_level, steps, seeds):
    """The mean log ratio of the proxy's gradient norm to the best gamma's, paired over seeds."""
    law = dict(beta=beta1, level=math.sqrt(squared_level))
    pair = [1 / (1 + squared_level), float(GRID[np.argmin(theory.stationary_exact(a, gamma=GRID, **law))])]
    problem, options = quadratic(1.0, shape=(SIZE,), start_scale=0.0), dict(exact=exact, lr=a, beta1=beta1, steps=steps)
    found = run(rule, problem=problem, noise=noise, gamma=pair, seeds=seeds, record=[steps // 2, steps], **options)
    early, late = found.grad_norm_squared_mean.transpose("step", "gamma", "seed").values
    proxy, other = np.log(2 * late - early) / 2
    wanted = math.log(np.divide(*theory.stationary_exact(a, gamma=np.array(pair), **law))) / 2
    note = f"gamma {pair[0]:.3f} against {pair[1]:.3f}; the closed form gives {wanted:.3f}"
    return Finding(Measurement.between(proxy, other), steps, 2 * steps - 1, note)


similarity_proxy_simulated = Claim(
    name="similarity_proxy_simulated",
    statement="With the proxy γ = L²/(L² + δ²) the stationary gradient norm is within 10 % of the best γ's.",
    source="Understanding MARS (ICML 2026), lemma 1, as a choice of gamma",
    kind="Monte Carlo",
    unit="log ratio of gradient norms",
    margin=math.log(1.1),
    predict=lambda: 0.0,
    measure=measure,
    settings={
        "rule": mars,
        "noise": additive(SIGMA) + curvature(math.sqrt(10.0), law="rademacher"),
        "exact": True,
        "a": 0.1,
        "beta1": 0.9,
        "squared_level": 10.0,
        "steps": Budget(3_000, 40_000),
        "seeds": Budget(48, 64),
    },
    plants={"the curvature noise is missing": Plant({"noise": additive(SIGMA)})},
)
