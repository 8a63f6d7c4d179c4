r"""The closed form of the stationary gamma*, re-derived by algebra from the rule itself.

One eigenmode, scaled so that lambda = 1 and eta = a: g(x) = (1 + s w) x + v at both points of a step, with w and v
fresh, of mean zero and E w^2 = 1. Let y = x_t, m = m_t and x = x_{t+1}. The rule's own step gives x as a multiple of y
and m; one call of the rule at x gives m_{t+1} as a polynomial in gamma. Taking E w = E v = 0 and writing E y^2, E y m
and E m^2 as symbols, E(m_{t+1} - x)^2 is a parabola in gamma. Stationarity is used once, as E x^2 = E y^2, which gives
E y m = a E m^2 / 2; then E y^2, E m^2 and the noise's variance cancel from the parabola's minimum, and what is left is

    gamma* = (1/2 + 1/a - (1 - beta) s^2 / (2 beta)) / (1 + s^2).

The proof never asks which gamma produced y and m, so the answer does not depend on the gamma in use.
"""

import sympy

from marslab import symbolic
from marslab.claims._gamma_star import closed_form
from marslab.claims._symbols import FAULTY_MARS, nothing, remaining
from marslab.claims.base import Claim
from marslab.optimizers import mars

A, BETA, GAMMA, LEVEL, SIGMA = sympy.symbols("a beta gamma s sigma", positive=True)
Y, M, W, V = sympy.symbols("y m w v")
POINT, CROSS, MOMENTUM = sympy.symbols("E_yy E_ym E_mm", positive=True)
MOMENTS = {Y**2: POINT, Y * M: CROSS, M**2: MOMENTUM}


def measure(data, rule):
    """Derive the minimum of the next error and compare it with the closed form."""
    x = moved(rule)
    g, prev = ((1 + LEVEL * W) * point + V for point in (x, Y))
    state = rule(x, {"m": M}, g, prev, lr=A, gamma=GAMMA, beta1=BETA)[1]
    error = sympy.expand(expectation((rule.estimate(state, g) - x) ** 2))
    still = sympy.solve(expectation(x**2) - POINT, CROSS)[0]
    slope = sympy.diff(error, GAMMA).subs(CROSS, still)
    minima = sympy.solve(slope, GAMMA) if slope.has(GAMMA) else []
    # a rule whose error gamma does not change has no minimum: nothing is proved
    wanted = closed_form(A, BETA, LEVEL**2)
    return remaining(minima[0] - wanted if len(minima) == 1 else sympy.Symbol("no_single_minimum"))


def moved(rule):
    """The point after a step from y whose new momentum is m."""
    first = symbolic.unroll(rule, 1, exact=True, lr=A)[0]
    return Y + sympy.cancel((first.x - symbolic.start()) / first.estimate) * M


def expectation(expression):
    """E over w and v, which are independent of y and m, and second moments of y and m as symbols."""
    total = sympy.Integer(0)
    for (power_w, power_v), part in sympy.Poly(expression, W, V).terms():
        if power_w % 2 == 0 and power_v % 2 == 0:
            total += part * SIGMA**power_v
    return sum((c * MOMENTS[Y**i * M**j] for (i, j), c in sympy.Poly(total, Y, M).terms() if i + j), constant(total))


def constant(expression):
    """The part without y and m."""
    return expression.subs({Y: 0, M: 0})


gamma_star_derived = Claim(
    name="gamma_star_derived",
    statement="The closed form of the stationary gamma* follows by algebra, whatever gamma is in use.",
    source="derived here, from arXiv 2411.10438, lemma C.2",
    kind="symbolic",
    unit="remaining differences",
    predict=nothing,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
)
