"""The same identities on numbers: float64, random gradients."""

import torch

from marslab.identities.base import Failure, Identity
from marslab.identities.table import find_identity
from marslab.identities.walk import Numbers, walk
from marslab.kinds import whole

__all__ = ["gap", "trace"]

SHAPES = {False: (7,), True: (6, 4)}


def gap(identity: Identity | str, first: str, failure: Failure | str | None = None, *, steps: int = 50, seed: int = 0) -> float:
    """The largest difference that the identity says is zero, over some steps of float64 on random gradients.

    The estimates' difference less the stated remainder, and the points' where they agree; in each form that the identity
    covers. ``failure`` drops a condition, by its name. Raises UsageError for unknown names.
    """
    identity = find_identity(identity)
    forms = identity.forms if failure is None else identity.forms[:1]
    traces = [trace(identity, first, failure, steps=steps, seed=seed, exact=exact) for exact in forms]
    return max(float(one.abs().max()) for found in traces for one in found.values())


def trace(
    identity: Identity | str,
    first: str,
    failure: Failure | str | None = None,
    *,
    steps: int = 50,
    seed: int = 0,
    exact: bool | None = None,
) -> dict[str, torch.Tensor]:
    """The differences A - B step by step, (steps, \\*shape): "estimate" less the stated remainder, and "x" where it agrees."""
    identity = find_identity(identity)
    failure, lags, missing = identity.failure(failure), identity.lags(first), None
    world = Numbers(SHAPES[any(rule.matrix for rule in identity.rules)], whole("steps", steps), seed)
    rows = {"estimate": []} | ({"x": []} if identity.points and not lags else {})
    for pair in walk(identity, world, first, steps, identity.form(exact), failure):
        (a, b), h, g = pair.state, pair.h, pair.g
        difference = identity.read(0, h, a, g) - identity.read(1, h, b, g)
        if lags:
            start, decay = identity.lag(pair.hyper)
            missing = start * g if missing is None else decay * missing
            difference = difference - identity.read(0, h, {**a, "m": missing}, g)
        for name, value in (("estimate", difference), ("x", pair.x[0] - pair.x[1])):
            rows.get(name, []).append(value)
    return {name: torch.stack(values) for name, values in rows.items()}
