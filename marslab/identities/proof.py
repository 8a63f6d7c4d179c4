"""Proofs by induction and refutations, on the rules' own updates."""

from collections.abc import Mapping
from typing import NamedTuple

import sympy

from marslab.identities.base import Failure, Identity
from marslab.identities.table import find_identity
from marslab.identities.walk import Pair, Symbols, advance, readings, remainders, settings, walk
from marslab.kinds import whole

__all__ = ["Proof", "prove", "refute"]


class Proof(NamedTuple):
    """What remained of each difference (0: proved), and the hyper-parameters that must not change from step to step.

    ``up_to`` says what the two differ by although the proof holds: under "equal" some identities hold up to a stated remainder
    of the estimate, which fades geometrically, and then say nothing of the points.
    """

    identity: str
    first: str
    remaining: Mapping[str, sympy.Expr]
    constant: tuple[str, ...]
    up_to: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing remained."""
        return all(value == 0 for value in self.remaining.values())


def prove(identity: Identity | str, first: str) -> Proof:
    """Prove an identity for every t, by induction on the rules' own updates.

    Start: after the first step, under the convention ``first``, points and readings agree and the invariant relates the two
    states (up to the stated remainder, where the identity has one under "equal"; then the points are left out). Step: from
    any states so related, any point, gradient and hyper-parameters, one step of both keeps all this. Hyper-parameters that
    the invariant does not mention may follow any schedule. Signs, roots, norms and matrix products are unknown functions.
    Raises UsageError for an unknown identity or convention.
    """
    identity, world, remaining = find_identity(identity), Symbols(), {}
    lags = identity.lags(first)
    for exact in identity.forms:
        form = "exact" if exact else "approximate"
        start = next(walk(identity, world, first, 1, exact))
        gap = identity.lag(start.hyper)[0] * start.g if lags else None
        later, remainder = induced(identity, world, exact, lags)
        for name, pair, missing in (("start", start, gap), ("step", later, remainder)):
            remaining |= {f"{form} {name} {what}": d for what, d in differences(identity, pair, missing).items()}
    up_to = f"a remainder of the estimates, and the points are not compared: {identity.note}" if lags else ""
    return Proof(identity.name, first, remaining, constant(identity, world), up_to)


def induced(identity: Identity, world: Symbols, exact: bool, lags: bool) -> tuple[Pair, object]:
    """One step from any states that the invariant relates, and the remainder after it."""
    names = [(*rule.memory, *rule.scalars) for rule in identity.rules]
    b = {name: world.book.term(f"b_{identity.tied.get(name, name)}") for name in names[1]}
    last, (g, same_sample) = world.book.term("g_last"), (world.book.term("g"), world.book.term("h"))
    h = settings(identity, world, "t", ({}, b), None)
    a = {name: world.book.term(f"a_{name}") for name in names[0]}
    a |= {name: relation(h, b, last) for name, relation in identity.invariant.items()}
    missing = world.book.term("w")
    if lags:
        a["m"] = a["m"] + missing
    h.product = a.get("beta1_product", 1)
    prev = (same_sample if exact else last,) * 2
    pair = advance(identity, h, (world.start,) * 2, (a, b), g, prev)
    return pair, identity.lag(pair.hyper)[1] * missing if lags else None


def differences(identity: Identity, pair: Pair, missing) -> dict[str, sympy.Expr]:
    """What must vanish after a step: points, readings, and the invariant."""
    (a, b), h, g = pair.state, pair.h, pair.g
    found = {} if missing is not None or not identity.points else {"x": pair.x[0] - pair.x[1]}
    found["estimate"] = readings(identity, pair, missing)
    for name, relation in identity.invariant.items():
        lack = missing if name == "m" and missing is not None else 0
        found[name] = a[name] - relation(h, b, g) - lack
    found |= {f"b {name}": b[name] - b[other] for name, other in identity.tied.items()}
    return {name: sympy.cancel(value.value) for name, value in found.items()}


def constant(identity: Identity, world: Symbols) -> tuple[str, ...]:
    """The hyper-parameters that the invariant mentions."""
    h = settings(identity, world, 1, ({}, {}), None)
    b = {name: world.book.term(f"b_{name}") for name in (*identity.rules[1].memory, *identity.rules[1].scalars)}
    met = [relation(h, b, world.book.term("g")).value.free_symbols for relation in identity.invariant.values()]
    return tuple(sorted({symbol.name for symbols in met for symbol in symbols} & set(identity.free)))


def refute(identity: Identity | str, first: str, failure: Failure | str, *, steps: int = 3) -> sympy.Expr:
    """The first difference that does not vanish under a dropped condition, within some steps; 0 if all vanish.

    Unknown functions are compared by their arguments: a difference between them says that the identity does not follow
    from the updates; :func:`gap` shows its size on numbers. Raises UsageError for unknown names.
    """
    identity, world = find_identity(identity), Symbols()
    pairs = walk(identity, world, first, whole("steps", steps), identity.form(None), identity.failure(failure))
    for pair, missing in remainders(identity, first, pairs):
        found = differences(identity, pair, missing)
        for name in ("x", "estimate"):
            if found.get(name, 0) != 0:
                return found[name]
    return sympy.Integer(0)
