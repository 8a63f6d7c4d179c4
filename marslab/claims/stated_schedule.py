r"""The smallest s that theorem B.5 states makes beta_1 negative at t = 2, for every L and rho.

The theorem asks for s >= 8 L^3/rho^3 and c >= 32 L^2/rho^2 + 1 with beta_{1,t+1} = 1 - c eta_t^2, eta_t = (s +
t)^(-1/3); its lemmas need beta >= 0, that is c^3 <= (s + 1)^2. Put u = L/rho > 0. At the stated minimum c^3 - (s +
1)^2 = (32 u^2 + 1)^3 - (8 u^3 + 1)^2 = 16 u^2 (2044 u^4 + 192 u^2 - u + 6), and the bracket is positive for every
real u: its minimum is, since 192 u^2 - u + 6 has the discriminant 1 - 4608 < 0. So no beta at t = 2 is feasible
there. The repaired s = c^(3/2) - 1 gives beta_{1,2} = 0 and larger betas from then on.
"""

import sympy

from marslab.claims.base import Claim, Finding, Plant
from marslab.verdicts import Measurement


def stated(u):
    """The smallest c and s that the theorem's conditions allow at u = L / rho."""
    return 32 * u**2 + 1, 8 * u**3


def repaired(u):
    """The same c with the smallest s that is feasible."""
    c = 32 * u**2 + 1
    return c, c ** sympy.Rational(3, 2) - 1


def dearer(u):
    """A fault: a larger c at the same s."""
    c, s = stated(u)
    return 2 * c, s


def excess(c, s):
    """c^3 - (s + 1)^2: where it is positive, beta_1 is negative at t = 2."""
    return sympy.factor(sympy.expand(c**3 - (s + 1) ** 2))


def positive_everywhere(expression, u) -> bool:
    """Whether a polynomial in u is positive at every u > 0, by counting its positive roots."""
    polynomial = sympy.Poly(expression, u)
    return not polynomial.is_zero and polynomial.subs(u, 1) > 0 and roots_above_zero(polynomial) == 0


def roots_above_zero(polynomial) -> int:
    """How many different positive roots there are; zero itself, where c and s mean nothing, does not count."""
    return polynomial.count_roots(0, sympy.oo) - (polynomial.eval(0) == 0)


def measure(data, schedule):
    """Factor the excess at the stated minimum and count the positive roots; the same at the repaired s."""
    u = sympy.Symbol("u", positive=True)
    c, s = schedule(u)
    at_one = float((1 - c * (s + 1) ** sympy.Rational(-2, 3)).subs(u, 1))
    note = f"c³ − (s+1)² = {excess(c, s)}; at L = ρ: β₁,₂ = {at_one:.2f}; at the repaired s: {excess(*repaired(u))}"
    feasible = 0.0 if positive_everywhere(excess(c, s), u) else 1.0
    return Finding(Measurement(feasible, kind="symbolic"), note=note)


stated_schedule = Claim(
    name="stated_schedule",
    statement="The theorem's conditions s ≥ 8L³/ρ³, c ≥ 32L²/ρ² + 1 leave β₁ in [0, 1) at their stated minimum.",
    source="arXiv 2411.10438, theorem B.5 and lemma C.2",
    kind="symbolic",
    unit="feasible (1) or not (0)",
    predict=lambda: 1.0,  # the theorem's conditions are consistent: beta stays in [0, 1) at the stated minimum for some L / rho
    measure=measure,
    settings={"schedule": stated},
    plants={"c is twice its minimum": Plant({"schedule": dearer})},
)
