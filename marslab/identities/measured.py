"""The same identities on numbers: float64, random gradients."""

import torch

from marslab.identities.base import Failure, Identity
from marslab.identities.table import find_identity
from marslab.identities.walk import Numbers, readings, remainders, walk
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
    world = Numbers(SHAPES[any(rule.matrix for rule in identity.rules)], whole("steps", steps), seed)
    pairs = walk(identity, world, first, steps, identity.form(exact), identity.failure(failure))
    rows = [(readings(identity, *found), found[0].x[0] - found[0].x[1]) for found in remainders(identity, first, pairs)]
    estimates, points = map(torch.stack, zip(*rows, strict=True))
    return {"estimate": estimates} | ({"x": points} if identity.points and not identity.lags(first) else {})
