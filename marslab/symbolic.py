r"""Proofs about linear rules: sympy symbols pass through the rule itself.

The gradients are free symbols g_1, g_2, ...; in the exact form h_t is the gradient at the previous point on the sample of
step t, another free symbol. Two rules whose steps agree for all values of these symbols walk the same path on every
problem: while they have walked together they meet the same gradients, and so they take the same next step.
"""

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import NamedTuple

import sympy

from marslab.errors import UsageError, closest
from marslab.kinds import is_axis, one_of, whole
from marslab.optimizers import find_rule
from marslab.rule import Rule

__all__ = ["Step", "difference", "gradient", "previous_gradient", "scheduled", "start", "unroll"]

CONVENTIONS = ("exact", "first")


class Step(NamedTuple):
    """Step t: the point after it, the state after it, and the rule's estimate of the gradient before it."""

    t: int
    x: sympy.Expr
    state: Mapping[str, sympy.Expr]
    estimate: sympy.Expr


def gradient(t: int) -> sympy.Symbol:
    """g_t, the stochastic gradient of step t."""
    return sympy.Symbol(f"g_{t}")


def previous_gradient(t: int) -> sympy.Symbol:
    """h_t, the gradient at the point before, on the sample of step t (exact form, t >= 2)."""
    return sympy.Symbol(f"h_{t}")


def start() -> sympy.Symbol:
    """x_1, the starting point."""
    return sympy.Symbol("x_1")


def scheduled(name: str) -> Callable[[int], sympy.Symbol]:
    """A free symbol at every step, name_t: a hyper-parameter that may follow any schedule."""
    return lambda t: sympy.Symbol(f"{name}_{t}")


def unroll(rule: Rule | str, steps: int, *, exact: bool | None = None, first: str | None = None, **substitutions) -> list[Step]:
    """The first steps of a linear rule as expressions in x_1, g_t, h_t and the hyper-parameters.

    A hyper-parameter is the symbol of its own name, or what is substituted: a number (a float counts as its decimal digits),
    an expression, or a function of t that gives one. Options and infinite defaults (a clip that is off) stay. x and the state
    are simplified, linear forms.
    Refuses a rule that is not linear, or that symbols cannot pass.
    """
    rule = find_rule(rule)
    return list(Walk(rule, exact, first, substitutions).steps(whole("steps", steps)))


def difference(
    rule_a: Rule | str,
    rule_b: Rule | str,
    *,
    exact: bool | None = None,
    first: str | None = None,
    steps: int | None = None,
    a: Mapping | None = None,
    b: Mapping | None = None,
    **substitutions,
) -> sympy.Expr:
    r"""Zero where two rules take the same steps x_{t+1} - x_t, else the first difference that is not zero.

    exact, first     the convention of both; a rule without a previous gradient has none and ignores them
    substitutions    for the rules that have a hyper-parameter of that name; equal names mean equal symbols
    a, b             substitutions, exact and first for one rule alone: ``a={"nu": 1 - gamma, "first": "zero"}``
    steps            how many steps are compared; by default two more than the joint state dimension

    Why this many prove all t for constant hyper-parameters: both rules together are one linear system
    :math:`z_{t+1} = A z_t + B u_t,\ y_t = C z_t + D u_t` of dimension N, with y the difference of the steps. Its answers to
    the start and to each input are D and :math:`C A^k B`; by Cayley and Hamilton A^N is a combination of lower powers, so if
    the answers vanish for k < N they vanish for all k. The first step, which has a convention of its own, only makes another
    start. Where a hyper-parameter is a function of t, or a rule keeps running products, the proof covers the steps that were
    run; since every step is written in free symbols, an induction over t needs no more than the shape that they show.
    """
    pair = [find_rule(rule_a), find_rule(rule_b)]
    own = [dict(a or {}), dict(b or {})]
    check_names(pair, substitutions)
    walks = [walk(rule, exact, first, substitutions, extra) for rule, extra in zip(pair, own, strict=True)]
    count = whole("steps", steps) if steps is not None else 2 + sum(one.dimension for one in walks)
    past = [start(), start()]
    for here in zip(*(one.steps(count) for one in walks), strict=True):
        moves = [step.x - before for step, before in zip(here, past, strict=True)]
        if (gap := linear_form(moves[0] - moves[1])) != 0:
            return gap
        past = [step.x for step in here]
    return sympy.Integer(0)


def check_names(pair: list[Rule], substitutions: Mapping) -> None:
    """Refuse a substitution that neither rule knows."""
    known = {*pair[0].hyper, *pair[1].hyper}
    for name in substitutions:
        if name not in known:
            raise UsageError(
                f"neither {pair[0].name} nor {pair[1].name} has a hyper-parameter {name!r}: {closest(name, known)}"
            )


def walk(rule: Rule, exact, first, shared: Mapping, own: dict) -> "Walk":
    """The walk of one of two rules: its own conventions and substitutions go before the shared ones."""
    exact = own.get("exact", exact if rule.modes else None)
    first = own.get("first", first)
    known = {name: value for name, value in shared.items() if name in rule.hyper}
    return Walk(rule, exact, first, {**known, **{n: v for n, v in own.items() if n not in CONVENTIONS}})


class Walk:
    """Symbols passing through one rule, step after step."""

    def __init__(self, rule: Rule, exact, first, given: Mapping):
        self.rule, self.mode = rule, rule.mode(exact)
        self.first = one_of("first", first or rule.first, ("equal", "zero"))
        for name, value in given.items():
            if is_axis(value):
                raise UsageError(
                    f"{name} = {value!r} is an axis, but a proof takes one value; prove each, or leave the symbol."
                )
        # expressions stand in for numbers, so the rule's own check sees the defaults in their place
        rule.check({name: rule.hyper.get(name) if isinstance(value, sympy.Basic) else value for name, value in given.items()})
        self.hyper = {name: symbol_of(name, default) for name, default in rule.hyper.items()} | {
            name: exactly(value) for name, value in given.items()
        }
        self.dimension = 1 + len(rule.memory) + len(rule.scalars) + (self.mode == "approximate")

    def steps(self, count: int):
        """Yield the steps 1..count."""
        x, last = start(), None
        state = {name: sympy.Integer(0) for name in self.rule.memory} | {n: sympy.Integer(1) for n in self.rule.scalars}
        for t in range(1, count + 1):
            g = gradient(t)
            new, full = self.call(x, state, g, self.previous(t, g, last), t)
            x = linear_form(new, self.rule)
            full = {name: self.tidy(name, value) for name, value in full.items()}
            yield Step(t, x, full, linear_form(self.rule.estimate(full, g), self.rule))
            state, last = {name: full[name] for name in state}, g

    def tidy(self, name, value):
        """Memory is a linear form; scalars and diagnostics are what they are."""
        return linear_form(value, self.rule) if name in self.rule.memory else sympy.sympify(value)

    def previous(self, t: int, g, last):
        """What the correction of step t is taken against."""
        if self.mode == "single":
            return None
        if t == 1:
            return g if self.first == "equal" else sympy.Integer(0)
        return previous_gradient(t) if self.mode == "exact" else last

    def call(self, x, state, g, prev, t: int):
        """One call of the rule; what symbols cannot pass is refused."""
        hyper = {name: value(t) if callable(value) else value for name, value in self.hyper.items()}
        try:
            return self.rule(x, state, g, prev, t=sympy.Integer(t), axes=None, **hyper)
        except (TypeError, AttributeError, RuntimeError, ValueError) as error:
            hint = "" if math.inf == hyper.get("clip_radius", math.inf) else ", or pass clip_radius=inf to switch its clip off"
            raise UsageError(
                f"symbols cannot pass through {self.rule.name} ({error}); only linear rules have symbolic proofs{hint}."
            ) from error


def symbol_of(name: str, default):
    """The symbol of a hyper-parameter; options and infinite defaults stay as they are."""
    number = isinstance(default, Real) and not isinstance(default, bool)
    return sympy.Symbol(name) if number and math.isfinite(default) else default


def exactly(value):
    """A finite float as the rational number that its digits say, since rounding would look like a difference."""
    return sympy.Rational(repr(float(value))) if isinstance(value, float) and math.isfinite(value) else value


def streams(expression) -> list[sympy.Symbol]:
    """The symbols of start and gradients in an expression, in the order of their steps."""
    found = [s for s in expression.free_symbols if s.name[:2] in ("g_", "h_", "x_") and s.name[2:].isdigit()]
    return sorted(found, key=lambda s: (int(s.name[2:]), s.name))


def linear_form(expression, rule: Rule | None = None) -> sympy.Expr:
    """The expression as a sum of simplified coefficients times start and gradients; refused where it is none."""
    expression = sympy.sympify(expression)
    found = streams(expression)
    coefficients = [sympy.diff(expression, symbol) for symbol in found]
    rest = expression.xreplace(dict.fromkeys(found, sympy.Integer(0)))
    if rule is not None and (any(streams(c) and streams(sympy.cancel(c)) for c in coefficients) or sympy.cancel(rest) != 0):
        raise UsageError(f"{rule.name} is not linear in the gradients, so sympy proves nothing about it; use its simulation.")
    return sympy.Add(*(sympy.factor(c) * symbol for c, symbol in zip(coefficients, found, strict=True)))
