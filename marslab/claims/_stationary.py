"""A stationary law three ways: the moment equations of the rule solved by sympy, the stated formula, the Lyapunov equation."""

import math

import numpy as np
import sympy

from marslab import moments, theory
from marslab.claims import _forms
from marslab.claims.base import Finding
from marslab.errors import UsageError
from marslab.verdicts import Measurement

GAMMAS, BETAS = [0.0, 0.025, 0.2, 0.7, 1.0], [0.0, 0.5, 0.9, 0.99]
SHARES = [1e-3, 0.1, 0.5, 0.9]  # of the stability limit


def compare(rule, exact, noise, formulas, law) -> Finding:
    """The largest relative difference of ``law`` and the Lyapunov solution; infinite where the solved equations differ."""
    solved = _forms.moments(rule, exact)
    left = [name for name, found, stated in zip("PR", solved, formulas, strict=True) if sympy.cancel(found - stated) != 0]
    worst = max(deviation(rule, exact, noise, law, beta) for beta in BETAS)
    cells = len(GAMMAS) * len(BETAS) * len(SHARES)
    note = f"{worst:.1e} over {cells} cells of (gamma, beta, a); moment equations solved: P = "
    note += sympy.sstr(sympy.factor(solved[0]))
    note += f"; {' and '.join(left)} differ from the formula" if left else ""
    return Finding(Measurement(math.inf if left else worst, kind="exact"), note=note)


def deviation(rule, exact, noise, law, beta) -> float:
    """The largest relative difference over gamma and a at one beta; infinite where the rule has no stationary law."""
    worst = 0.0
    for gamma in GAMMAS:
        a = np.array(SHARES) * theory.stability_limit(gamma=gamma, beta=beta)
        try:
            found = moments.stationary(rule, exact=exact, curvature=a.tolist(), lr=1.0, gamma=gamma, beta1=beta, **noise)
        except UsageError:
            return math.inf
        worst = max(worst, float(np.max(np.abs(law(a, gamma=gamma, beta=beta) / found.grad_norm_squared - 1))))
    return worst
