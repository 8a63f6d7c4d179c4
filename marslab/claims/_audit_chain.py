r"""The proof of theorem B.5 redone with sympy, one step of the chain after the other.

Lemma C.3 bounds the descent of F, lemma C.2 the growth of E|eps_t|^2 (eps_t = m_t - grad F(x_t)); added up with the weight
rho / (16 L^2 eta) they bound the change of the Lyapunov function Phi_t = F(x_t) + rho/(16 L^2 eta_{t-1}) |eps_t|^2 by

    -A E|eps_t|^2 - B E|x_{t+1} - x_t|^2 + C sigma^2 - D M_{t+1},

and (C.8) is the sum over t. ``chain`` returns A, B, C, D with beta^2 <= beta, c >= 32 L^2/rho^2 + 1 and 1/eta_t -
1/eta_{t-1} <= eta_t put in, as the proof does; lemma C.2 is read off the rule's own recursion.
"""

from typing import NamedTuple

import sympy

from marslab import symbolic

rho, eta, L, c, sigma = sympy.symbols("rho eta L c sigma", positive=True)
beta, gamma = sympy.symbols("beta1 gamma")


class Chain(NamedTuple):
    """What multiplies -E|eps|^2, -E|dx|^2, sigma^2 and -M in the change of the Lyapunov function."""

    error: sympy.Expr
    move: sympy.Expr
    noise: sympy.Expr
    gain: sympy.Expr


# the error's recursion, read off the rule itself

eps, z, delta, drift = sympy.symbols("epsilon z Delta delta")  # Delta on the sample, delta = E Delta given the past


def recursion(rule) -> sympy.Expr:
    """eps_{t+1} of a rule in eps_t, the noise z at the new point, the difference Delta on its sample and its mean delta.

    Two steps of the rule with g_1 = m_1 = eps + grad F(x_t) (the theorem's beta_{1,1} = 0) and g_2 = grad F(x_{t+1}) + z.
    """
    second = symbolic.unroll(rule, 2, exact=True, first="equal", beta1=lambda t: 0 if t == 1 else beta)[1].estimate
    old, here = sympy.symbols("old"), sympy.Symbol("old") + drift  # grad F(x_t), grad F(x_{t+1})
    seen = {
        symbolic.gradient(1): old + eps,
        symbolic.gradient(2): here + z,
        symbolic.previous_gradient(2): here + z - delta,
    }
    return sympy.expand(sympy.expand(second.xreplace(seen)) - here)


# second moments: S = E|Delta|^2, D = E|delta|^2, Q = E<Delta, eps> = E<delta, eps>, P = E<Delta, z>, N = E|z|^2, V = E|eps|^2
S, D, Q, P, N, V = sympy.symbols("S D Q P N V", real=True)
MOMENTS = {
    (delta, delta): S, (drift, drift): D, (delta, drift): D, (delta, eps): Q, (drift, eps): Q,
    (delta, z): P, (z, z): N, (eps, eps): V, (drift, z): 0, (eps, z): 0,
}  # fmt: skip


def expected_square(form: sympy.Expr) -> sympy.Expr:
    """E|form|^2 of a linear form in eps, z, Delta and delta: given the past, E z = 0 and E Delta = delta."""
    parts = (eps, z, delta, drift)
    weights = {part: sympy.diff(form, part) for part in parts}
    if sympy.simplify(form - sum(w * part for part, w in weights.items())) != 0:
        raise ValueError(f"{form} is no linear form in the error, the noise and the difference")
    pairs = ((a, b, MOMENTS.get((a, b), MOMENTS.get((b, a)))) for a in parts for b in parts)
    return sympy.expand(sum(weights[a] * weights[b] * moment for a, b, moment in pairs))


def gain(rule) -> sympy.Expr:
    """M: how much E|eps_{t+1}|^2 falls from gamma = 1 to gamma."""
    square = expected_square(recursion(rule))
    return sympy.expand(square.subs(gamma, 1) - square)


def optimal_gamma(rule) -> sympy.Expr | None:
    """The gamma at which E|eps_{t+1}|^2 is lowest; None for a rule that has none."""
    found = sympy.solve(sympy.diff(expected_square(recursion(rule)), gamma), gamma)
    return sympy.factor(found[0]) if found else None


def lemma(rule) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """Lemma C.2 at gamma = 1: what multiplies E|eps_t|^2, E|Delta|^2 and E|z|^2 at most, by |a + b|^2 <= 2 |a|^2 + 2 |b|^2.

    Refuses a rule for which the square is more than the fresh noise, the spread of Delta and the kept error.
    """
    square = expected_square(recursion(rule).subs(gamma, 1))
    kept, smooth, fresh = square.coeff(V), 2 * square.coeff(S), 2 * square.coeff(N)
    slack = kept * V + fresh * N + smooth * (S - D) - square
    if sympy.expand(slack - expected_square((1 - beta) * z - beta * (delta - drift))) != 0:
        raise ValueError(f"lemma C.2 is not proved for {rule.name}: {slack} is no square")
    return kept, smooth, fresh


def chain(rule) -> Chain:
    """One step of the chain for a rule."""
    kept, smooth, fresh = lemma(rule)
    weight = rho / (16 * L**2)
    decay = sympy.cancel(kept / beta).subs(beta, 1) * (1 - c * eta**2) / eta - 1 / eta + eta  # beta^2 <= beta, lemma C.5
    error = -(eta / rho + weight * sympy.expand(decay).subs(c, 32 * L**2 / rho**2 + 1))
    move = rho / (2 * eta) - weight * smooth.subs(beta, 1) * L**2 / eta
    noise = weight * fresh.subs(beta, 1 - c * eta**2) / eta
    return Chain(*map(sympy.simplify, (error, move, noise, weight / eta)))


def proved(rule, power: int, exponent) -> sympy.Expr:
    """The bound that the chain gives for the mean of E|x_{t+1} - x_t|^2 / eta_t^power, power 1 or 2, at G = 0.

    eta_t = (s + t)^-exponent; the sum of eta_t^3 is at most its integral.
    """
    found = chain(rule)
    noise = sympy.simplify(found.noise / eta**3) * integral(3 * exponent)
    per_step = sympy.simplify(found.move * eta)  # sums E|dx|^2 / eta
    return noise / per_step / T * (s + T) ** (exponent * (power - 1))


T, s = sympy.symbols("T s", positive=True)


def integral(p) -> sympy.Expr:
    """An upper bound of the sum over t = 1..T of (s + t)^-p up to a constant: its integral from 1 - s on."""
    return sympy.log(s + T) if p == 1 else ((s + T) ** (1 - p) / (1 - p) if p < 1 else 1 / (p - 1))


def growth(bound) -> sympy.Expr:
    """The exponent of T in a bound: the limit of T d log(bound)/dT."""
    return sympy.limit(sympy.simplify(T * sympy.diff(sympy.log(bound), T)), T, sympy.oo)
