r"""How much noise the approximate form keeps over the exact one on a quadratic: an exact ratio.

With P of stationary_law_exact and stationary_law_approximate, N = k^2 + h (k + h)(2 k + k a + 2 h a), and the ratio
simplifies to

    P(approximate) / P(exact) = 1 + 2 a h (k + h) / (k (1 + beta - h a)),    k = 1 - beta, h = gamma beta, a = eta lambda,

so the exact form is never worse under additive noise. To first order in a the excess is 2 a gamma beta (k + gamma beta)
/ (k (1 + beta)): about a gamma for gamma below k and a gamma^2 / k for gamma above it. At the defaults (0.95, 0.025) it
is 0.036 a: below 5 % for a < 1.37, which is why the two forms look alike there; at gamma = 0.95, a = 1 the ratio is 34.
Proved from the rule's moment equations, and measured by Lyapunov solutions over a grid. With curvature noise of any
level both laws grow by one factor (curvature_noise_same_factor) and the ratio stays what it is.
"""

import math

import numpy as np
import sympy

from marslab import moments, theory
from marslab.claims import _forms
from marslab.claims._forms import BETA, A, H, K
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.errors import UsageError
from marslab.optimizers import mars
from marslab.verdicts import Measurement

GAMMAS, SHARES, BETAS = (0.01, 0.025, 0.1, 0.5, 0.95), (0.01, 0.1, 0.3), (0.5, 0.9, 0.95)


def measure(data, rule, noise):
    """The largest relative deviation of the ratio's excess over 1; infinite where the algebra differs."""
    approximate, exact = (_forms.moments(rule, form)[0] for form in (False, True))
    gap = sympy.cancel(approximate / exact - 1 - 2 * A * H * (K + H) / (K * (1 + BETA - H * A)))
    worst = max(deviation(rule, noise, gamma, beta) for gamma in GAMMAS for beta in BETAS)
    steps = np.linspace(0.1, 5, 4901)
    near = steps[_forms.ratio(steps, gamma=0.025, beta=0.95) < 1.05][-1]
    note = (
        f"at (0.95, 0.025) {_forms.ratio(1.0, gamma=0.025, beta=0.95):.4f} at a = 1 and 1.05 at a = {near:.2f}; "
        f"at gamma = 0.95, a = 1: {_forms.ratio(1.0, gamma=0.95, beta=0.95):.1f}"
    )
    return Finding(Measurement(worst if gap == 0 else math.inf, kind="exact"), note=note)


def deviation(rule, noise, gamma, beta) -> float:
    """At one gamma and beta, the largest over a."""
    a = np.array(SHARES) * theory.stability_limit(gamma=gamma, beta=beta)
    options = dict(curvature=a.tolist(), lr=1.0, gamma=gamma, beta1=beta, **noise)
    try:
        ours, other = (moments.stationary(rule, exact=form, **options).grad_norm_squared for form in (False, True))
    except UsageError:
        return math.inf
    expected = _forms.ratio(a, gamma=gamma, beta=beta) - 1
    return float(np.max(np.abs((ours / other - 1) / expected.reshape(-1, *(1,) * (ours.ndim - 1)) - 1)))


stationary_ratio = Claim(
    name="stationary_ratio",
    statement="Stationary E(F′)² of approximate over exact MARS is 1 + 2ah(k + h)/(k(1 + β − ha)), h = γβ, k = 1 − β.",
    source="derived here",
    kind="exact",
    unit="relative difference",
    margin=1e-6,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "noise": {"sigma": 1.0, "level": [0.0, 0.5]}},
    plants={
        **FAULTY_MARS,
        "the noise is correlated": Plant({"noise": {"sigma": 1.0, "level": 0.0, "correlation": 0.3}}),
    },
)
