"""What the claims about rates at a fixed gamma share: exact curves under the theorem's schedule, and quasi-static slopes."""

import numpy as np

from marslab import moments, rates, theory
from marslab.noise import additive
from marslab.problems import quadratic
from marslab.schedules import theorem

GAMMAS = (0.0, 0.025, 0.1, 0.5, 1.0)
START = 1e4  # the window's first step: two decades at the quick budget, three at the full one


def slopes(rule, exact: bool, steps: int, schedule: dict, gammas=GAMMAS, noise=None) -> tuple[np.ndarray, np.ndarray]:
    """The recorded steps, and the exponent of the exact root mean square gradient norm for every gamma, from START on."""
    options = dict(exact=exact, gamma=list(gammas), record=300, **schedule)
    data = moments.propagate(rule, problem=quadratic(1.0), noise=noise or additive(1.0), steps=steps, **options)
    t, squares = data.step.values, data.grad_norm_squared.transpose("gamma", "step").values
    return t, np.array([slope(t, square, START) for square in squares])


def slope(t, square, first: float) -> float:
    """The exponent of the root of a squared norm, from ``first`` to the last step."""
    return rates.fit(t, np.sqrt(square), (first, float(t[-1]))).slope


def quasi_static(exact: bool, t, *, c: float, s: float, gamma: float):
    """E F'^2 at step t as if it were stationary, for small steps: ``theory.quasi_static``, and its approximate form.

    Approximate: P = (a/2) (k + a gamma^2) / (k + a gamma) with a = eta and k = c eta^2 (curvature and sigma are one).
    """
    if exact:
        return theory.quasi_static(t, c=c, s=s, gamma=gamma)
    a = (s + np.asarray(t, float)) ** (-1 / 3)
    return a / 2 * (c * a + gamma**2) / (c * a + gamma)


def gaps(rule, exact: bool, form: bool, steps: int, c: float, s: float, schedule=theorem, noise=None) -> tuple[float, str]:
    """The largest difference between measured and quasi-static exponents over gamma, with both in a sentence.

    exact  what is run; form  which form's law is predicted; schedule  (c, s) -> the keywords of the run
    """
    t, found = slopes(rule, exact, steps, schedule(c, s), noise=noise)
    wanted = [slope(t, quasi_static(form, t, c=c, s=s, gamma=gamma), START) for gamma in GAMMAS]
    lines = [f"{g:g}: {a:.4f} ({b:.4f})" for g, a, b in zip(GAMMAS, found, wanted, strict=True)]
    return float(np.abs(found - wanted).max()), f"exponent (predicted) at gamma = {', '.join(lines)}; window to {t[-1]:.0e}"


def constant_beta(c: float, s: float) -> dict:
    """The theorem's step size with beta = 0.95 throughout: a fault."""
    return theorem(c, s) | {"beta1": 0.95}
