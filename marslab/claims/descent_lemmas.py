r"""Lemmas C.3 and C.5: the step lowers F, and 1 / eta grows slowly enough.

C.3. With x' = x - eta H^(-1) m, H >= rho and d = x' - x, m = -H d / eta and grad F = m - e, so that smoothness gives F(x')
- F(x) <= -d'H d / eta - <e, d> + L |d|^2 / 2. Along d write h >= rho for H, h = rho + u, and L = rho / (2 eta) - w, where
u, w >= 0 are the assumptions. The lemma's right side minus this is

    eta e^2 / rho - rho d^2 / (2 eta) - [...] = (sqrt(eta / rho) e + sqrt(rho / eta) d / 2)^2 + (u / eta + w / 2) d^2 >= 0.

C.5. With eta_t = (s + t)^(-1/3), s + t = a^3 and a >= 1, 1 / eta_t - 1 / eta_{t-1} <= eta_t says a - 1 / a <= (a^3 -
1)^(1/3). Cubed and times a^3: 3 a^4 - a^3 - 3 a^2 + 1 = (a - 1) (3 a^3 + 2 a^2 - a - 1) >= 0, which has no root above 1; so
the lemma holds for every s >= 0 and t >= 1. Counted: the identity where it does not simplify to zero (d is taken from the
rule itself), and the inequality where its polynomial, made from the schedule, has a root above 1 or is negative there.
"""

import sympy

from marslab import optimizers
from marslab.claims._symbols import FAULTY_MARS, nothing
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.schedules import PowerLaw
from marslab.verdicts import Measurement

THIRD = sympy.Rational(1, 3)


def measure(data, rule, exponent):
    """The number of lemmas that do not come out."""
    gap, polynomial = slack(optimizers.find_rule(rule)), growth(exponent)
    wrong = int(gap != 0) + int(not positive_above_one(polynomial))
    note = f"C.3: difference {sympy.sstr(gap)}; C.5: {sympy.sstr(sympy.factor(polynomial))} for a > 1"
    return Finding(Measurement(float(wrong), kind="symbolic"), note=note)


def slack(rule) -> sympy.Expr:
    """What the lemma leaves minus the sum of squares, for a first step of m = g with the step eta / h."""
    eta, rho, u, w = sympy.symbols("eta rho u w", positive=True)
    m, e = sympy.symbols("m e", real=True)
    h, L = rho + u, rho / (2 * eta) - w
    d = rule(sympy.Integer(0), {"m": sympy.Integer(0)}, m, m, lr=eta / h, gamma=sympy.Integer(1), beta1=sympy.Integer(0))[0]
    left = (m - e) * d + L * d**2 / 2
    right = eta * e**2 / rho - rho * d**2 / (2 * eta)
    d = -eta * m / h
    squares = (sympy.sqrt(eta / rho) * e + sympy.sqrt(rho / eta) * d / 2) ** 2 + (u / eta + w / 2) * d**2
    return sympy.simplify(sympy.expand(right - left - squares))


def growth(exponent) -> sympy.Expr:
    """The numerator of eta_{t-1}^(-3) - (1 / eta_t - eta_t)^3 in a, where s + t = a^3."""
    a = sympy.Symbol("a", positive=True)
    schedule = PowerLaw(1, exponent, 0)
    now, before = sympy.simplify(schedule(a**3)), schedule(a**3 - 1)
    return sympy.fraction(sympy.together(sympy.expand(before**-3 - (1 / now - now) ** 3)))[0]


def positive_above_one(expression) -> bool:
    """Whether a polynomial is positive at every a > 1."""
    polynomial = sympy.Poly(expression)
    return polynomial.eval(2) > 0 and polynomial.count_roots(1, sympy.oo) == int(polynomial.eval(1) == 0)


descent_lemmas = Claim(
    name="descent_lemmas",
    statement="Lemma C.3 holds with a sum of squares to spare for η ≤ ρ/(2L), and lemma C.5 for every s ≥ 0 and t ≥ 1.",
    source="arXiv 2411.10438, lemmas C.3 and C.5",
    kind="symbolic",
    unit="lemmas that do not come out",
    predict=nothing,
    measure=measure,
    settings={"rule": mars, "exponent": THIRD},
    plants={
        "the step shrinks like 1 / t": Plant({"exponent": sympy.Integer(1)}),
        **{name: plant for name, plant in FAULTY_MARS.items() if "step" in name},
    },
)
