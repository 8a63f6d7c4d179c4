"""What the claims on the exact against the approximate form share: stationary moments derived from a rule, and paired runs."""

import numpy as np
import sympy

from marslab import symbolic
from marslab.problems import quadratic
from marslab.rule import Rule
from marslab.simulate import run

A, BETA, GAMMA = sympy.symbols("a beta gamma", positive=True)
K, H = 1 - BETA, GAMMA * BETA


def weights(rule: Rule, exact: bool) -> list:
    """(A, B, C) of m_t = A m_{t-1} + B g_t + C p_t, read off the rule; p_t is the other gradient of the step."""
    steps = symbolic.unroll(rule, 3, exact=exact, first="zero", gamma=GAMMA, beta1=BETA)
    of_first = [sympy.expand(step.estimate).coeff(symbolic.gradient(1)) for step in steps]
    last = sympy.expand(steps[-1].estimate)
    if exact:
        return [
            sympy.cancel(of_first[1] / of_first[0]),
            *(last.coeff(s(3)) for s in (symbolic.gradient, symbolic.previous_gradient)),
        ]
    kept = sympy.cancel(of_first[2] / of_first[1])  # g_1 is met twice, as g and as the last gradient, and then decays
    return [kept, last.coeff(symbolic.gradient(3)), sympy.expand(of_first[1] - kept * of_first[0])]


def moments(rule: Rule, exact: bool) -> tuple:
    """Stationary (E u^2, E m^2) of the gradient u = F' and the estimate m at unit additive noise, from the moment equations.

    u' = u - a m', m' the estimate at u. Exact form: the point before had the gradient u + a m, so (u, m) is a linear system
    driven by fresh noise. Approximate form: w = m + (C/A) g takes the last gradient in, and (u, w) is one.
    """
    kept, fresh, other = weights(rule, exact)
    if exact:
        return solved(kept + A * other, fresh + other, fresh + other)
    # w' = m' + (C/A) g' = A w + (B + C/A) g'
    return solved(kept, fresh + other / kept, fresh)


def bent(rule: Rule, level) -> sympy.Expr:
    """Stationary E u^2 of the exact form at unit additive noise and curvature noise of this level.

    w multiplies the true gradients of the sample, u and at the old point u + a m: m' gains level w ((B + C) u + a C m).
    """
    kept, fresh, other = weights(rule, True)
    gain = fresh + other
    return solved(kept + A * other, gain, gain, level * sympy.Matrix([[-A * gain, -(A**2) * other], [gain, A * other]]))[0]


def solved(kept, gain, fresh, bend=None) -> tuple:
    """E u^2 and E m^2 where w' = kept w + gain (u + z), m' = kept w + fresh (u + z), u' = u - a m'.

    ``bend`` is the matrix that unit noise of its own multiplies with (u, w), or None.
    """
    step = sympy.Matrix([[1 - A * fresh, -A * kept], [gain, kept]])
    kick = sympy.Matrix([-A * fresh, gain])
    uu, uw, ww = sympy.symbols("uu uw ww")
    second = sympy.Matrix([[uu, uw], [uw, ww]])
    rest = step * second * step.T + kick * kick.T - second
    rest += sympy.zeros(2, 2) if bend is None else bend * second * bend.T
    (found,) = sympy.linsolve([rest[0, 0], rest[0, 1], rest[1, 1]], uu, uw, ww)
    estimate = sympy.Matrix([[fresh, kept]])
    squared = (estimate * second * estimate.T)[0] + fresh**2
    return sympy.cancel(found[0]), sympy.cancel(squared.subs(dict(zip((uu, uw, ww), found, strict=True))))


def ratio(a, *, gamma, beta):
    """Stationary E(F')^2 of the approximate form over that of the exact one: 1 + 2 a h (k + h) / (k (1 + beta - h a))."""
    k, h = 1 - beta, gamma * beta
    return 1 + 2 * a * h * (k + h) / (k * (1 + beta - h * a))


def late_squares(noise, *, rule, steps, seeds, record, coordinates, forms=(True, False), **hyper) -> dict[bool, np.ndarray]:
    """|grad F|^2 averaged over late records at curvature 1, by form; shape (*axes, seeds). The noise is common to both."""
    problem = quadratic(spectrum=1.0, shape=(coordinates,), start_scale=0.0)
    options = dict(problem=problem, noise=noise, steps=steps, seeds=seeds, record=list(record), **hyper)
    return {form: (run(rule, exact=form, **options).grad_norm.values ** 2).mean(axis=-1) for form in forms}
