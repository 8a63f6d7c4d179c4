"""Both rules of an identity side by side, on symbols or on numbers: the same calls serve proof and measurement."""

from types import SimpleNamespace
from typing import NamedTuple

import torch

from marslab.identities.base import Failure, Identity
from marslab.identities.terms import Book

__all__ = ["Numbers", "Pair", "Symbols", "advance", "readings", "remainders", "walk"]


class Symbols:
    """Free symbols: x, g_1, h_1 (the gradient at the previous point), and the hyper-parameters."""

    def __init__(self):
        self.book = Book()
        self.start = self.book.term("x")

    def onward(self, x):
        """The next points: both sides anew at x, since what is looked for is the first step that differs."""
        return self.start, self.start

    def gradients(self, t):
        """The gradient of step t and the one at the previous point on the same sample."""
        return self.book.term(f"g_{t}"), self.book.term(f"h_{t}")

    def state(self, rule):
        """The state before the first step."""
        return dict.fromkeys(rule.memory, self.book.term(0)) | dict.fromkeys(rule.scalars, self.book.term(1))

    def free(self, name, value, t, varies):
        """A hyper-parameter at step t: its own symbol."""
        return self.book.term(f"{name}_{t}" if varies else name)

    def time(self, t):
        """The number of the step."""
        return self.book.term(t)


class Numbers:
    """Independent standard normal gradients in float64, and the hyper-parameters' values."""

    def __init__(self, shape, steps: int, seed: int):
        generator = torch.Generator().manual_seed(seed)
        self.stream = torch.randn((steps, 2, *shape), generator=generator, dtype=torch.float64)
        self.start = torch.randn(shape, generator=generator, dtype=torch.float64)

    def onward(self, x):
        """The next points: those reached."""
        return x

    def gradients(self, t):
        """The gradient of step t and the one at the previous point on the same sample."""
        return tuple(self.stream[t - 1])

    def state(self, rule):
        """The state before the first step, running products as plain numbers."""
        return rule.init(self.start) | dict.fromkeys(rule.scalars, 1.0)

    def free(self, name, value, t, varies):
        """A hyper-parameter at step t; one that varies is 0.6 times its value at every second step."""
        return value * 0.6 if varies and t % 2 == 0 else value

    def time(self, t):
        """The number of the step."""
        return torch.tensor(float(t), dtype=torch.float64)


class Pair(NamedTuple):
    """Both sides after a step: (A, B) points and states, A's hyper-parameters, and what the map saw."""

    t: int
    h: SimpleNamespace
    x: tuple
    state: tuple
    hyper: dict
    g: object


def advance(identity: Identity, h, x, state, g, prev, failure: Failure | None = None) -> Pair:
    """One step of both rules; x, state and prev are pairs (A, B)."""
    maps = [identity.a | (failure.a if failure else {}), identity.b | (failure.b if failure else {})]
    hyper = [{name: value(h) if callable(value) else value for name, value in one.items()} for one in maps]
    sides = zip(identity.rules, x, state, prev, hyper, strict=True)
    new = [rule(point, own, g, last, t=h.t, **given) for rule, point, own, last, given in sides]
    return Pair(h.t, h, (new[0][0], new[1][0]), (new[0][1], new[1][1]), hyper[0], g)


def walk(identity: Identity, world, first: str, steps: int, exact: bool, failure: Failure | None = None):
    """Yield both sides after each of the steps 1..steps, under one convention of the first step."""
    x, state, g = (world.start,) * 2, tuple(world.state(rule) for rule in identity.rules), None
    for t in range(1, steps + 1):
        last, (g, same_sample) = g, world.gradients(t)
        prev = began(g, first, failure) if t == 1 else against(identity, last, same_sample, exact, failure)
        pair = advance(identity, settings(identity, world, t, state, failure), x, state, g, prev, failure)
        x, state = world.onward(pair.x), tuple(kept(rule, own) for rule, own in zip(identity.rules, pair.state, strict=True))
        yield pair


def remainders(identity: Identity, first: str, pairs):
    """Each pair with what A's m lacks after it, None where it lacks nothing."""
    missing = None
    for pair in pairs:
        if identity.lags(first):
            start, decay = identity.lag(pair.hyper)
            missing = start * pair.g if missing is None else decay * missing
        yield pair, missing


def readings(identity: Identity, pair: Pair, missing):
    """A's reading less B's, less what the remainder makes of A's."""
    a, b = pair.state
    difference = identity.read(0, pair.h, a, pair.g) - identity.read(1, pair.h, b, pair.g)
    return difference if missing is None else difference - identity.read(0, pair.h, {**a, "m": missing}, pair.g)


def kept(rule, state: dict) -> dict:
    """What the next step reads."""
    return {name: state[name] for name in (*rule.memory, *rule.scalars)}


def settings(identity: Identity, world, t: int, state, failure: Failure | None) -> SimpleNamespace:
    """What the map may use at step t."""
    varying = failure.varying if failure else ()
    free = {name: world.free(name, value, t, name in varying) for name, value in identity.free.items()}
    return SimpleNamespace(t=world.time(t), product=state[0].get("beta1_product", 1), **free)


def began(g, first: str, failure: Failure | None) -> tuple:
    """What the two first corrections are taken against."""
    starts = {"equal": g, "zero": g * 0}
    other = "zero" if first == "equal" else "equal"
    return starts[first], starts[other if failure and failure.other_start else first]


def against(identity: Identity, last, same_sample, exact: bool, failure: Failure | None) -> tuple:
    """What later corrections are taken against: B keeps the identity's form where A's is changed."""
    own = exact if failure is None or failure.exact is None else failure.exact
    return tuple(same_sample if form else last for form in (own, exact))
