"""What the claims on connections between optimizers share: a proof by induction, its size on numbers, and where it fails."""

import dataclasses

from marslab import identities
from marslab.claims.base import Finding, Plant
from marslab.verdicts import Measurement

FIRST = identities.FIRST


def connected(name: str, rules, dropped: str | None) -> Finding:
    """How many differences remain of the proof under both first steps; ``dropped`` names a condition that is left out."""
    identity = dataclasses.replace(identities.find_identity(name), rule_a=rules[0], rule_b=rules[1])
    left = [value for first in FIRST for value in identities.prove(identity, first).remaining.values() if value != 0]
    if dropped is not None:
        left += [value for first in FIRST if (value := identities.refute(identity, first, dropped)) != 0]
    return Finding(Measurement(float(len(left)), kind="symbolic"), note=told(identity))


def told(identity) -> str:
    """The same on numbers: the largest difference where it holds, and where a condition is dropped."""
    held = max(identities.gap(identity, first) for first in FIRST)
    broken = ", ".join(f"{one.name} {identities.gap(identity, one.first[-1], one):.1e}" for one in identity.failures)
    return f"largest difference over 50 steps of float64, both first steps: {held:.0e}; with a condition dropped: {broken}"


def conditions(name: str) -> dict[str, Plant]:
    """Every condition of an identity, dropped."""
    return {f"{one.name}: {one.then}": Plant({"dropped": one.name}) for one in identities.find_identity(name).failures}


def shared(name: str, *rules) -> dict:
    """The fields that these claims have in common."""
    settings = {"rules": rules, "dropped": None}
    return dict(kind="symbolic", unit="remaining differences", settings=settings, plants=conditions(name))
