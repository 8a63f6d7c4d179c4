r"""The published gamma = 0.025 nearly halves the sharpness at which MARS is stable: 78 becomes 40 at beta = 0.95.

Without noise both forms are m_t = beta m_{t-1} + (k + h) lambda x_t - h lambda x_{t-1}, x_{t+1} = x_t - eta m_t, with k
= 1 - beta, h = gamma beta, a = eta lambda. Eliminating m: x_{t+1} = (1 + beta - a (k + h)) x_t - (beta - a h) x_{t-1}.
The roots of p(z) = z^2 - (1 + beta - a (k + h)) z + beta - a h lie inside the unit circle when p(1) = a k > 0, p(-1) =
2 (1 + beta) - a (k + 2 h) > 0 and |beta - a h| < 1; the second is the strictest, so a < 2 (1 + beta)/(1 - beta + 2 beta
gamma): theory. stability_limit. At beta = 0.95: 78 at gamma = 0, 40 at 0.025, 26.9 at 0.05 (Nesterov), 2 at 1. p is
derived by algebra from the rule's own steps; measured is the largest relative difference of the formula to where the
rule's spectral radius reaches one, over gamma and both forms.
"""

import numpy as np
import sympy

from marslab import moments, theory
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars
from marslab.verdicts import Measurement

GAMMAS = [0.0, 0.025, 0.05, 0.5, 1.0]


def measure(data, rule, beta1):
    """The largest relative difference over gamma and form."""
    wanted = theory.stability_limit(gamma=np.array(GAMMAS), beta=beta1)
    # a rule that gamma does not touch gives one limit for all of them
    found = [np.broadcast_to(limit(rule, exact, beta1), wanted.shape) for exact in (True, False)]
    worst = max(np.abs(limits / wanted - 1).max() for limits in found)
    text = ", ".join(f"{edge:.4g} at gamma = {gamma:g}" for gamma, edge in zip(GAMMAS, found[0], strict=True))
    note = f"limits {text}; p(-1) = 0 at the formula by algebra: {derived(rule)}"
    return Finding(Measurement(float(worst), kind="exact"), note=note)


def limit(rule, exact: bool, beta1: float):
    """The rule's own limit for every gamma."""
    return moments.stability_limit(rule, exact=exact, beta1=beta1, gamma=GAMMAS)


def derived(rule) -> bool:
    """Whether the path -1, 1, -1, ... (z = -1) is one of the noiseless rule exactly at the formula's a.

    From -1 to 1 the momentum was -2 / a; the next step must lead back to -1.
    """
    a, beta, gamma = sympy.symbols("a beta gamma", positive=True)
    one = sympy.Integer(1)
    back = rule(one, {"m": -2 / a}, one, -one, lr=a, gamma=gamma, beta1=beta)[0]
    edges = sympy.solve(back + 1, a)
    return len(edges) == 1 and sympy.simplify(edges[0] - 2 * (1 + beta) / (1 - beta + 2 * beta * gamma)) == 0


gamma_halves_the_stable_sharpness = Claim(
    name="gamma_halves_the_stable_sharpness",
    statement="MARS is stable for ηλ < 2(1+β)/(1−β+2βγ): at β = 0.95 the limit falls from 78 at γ = 0 to 40 at γ = 0.025.",
    source="derived here (theory.stability_limit)",
    kind="exact",
    unit="largest relative difference of the limit",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "beta1": 0.95},
    plants=FAULTY_MARS,
)
