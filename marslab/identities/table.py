"""The identities by name; each family has a file."""

from marslab.errors import unknown
from marslab.identities import adaptive, directions, linear
from marslab.identities.base import Identity

__all__ = ["IDENTITIES", "find_identity"]

IDENTITIES: dict[str, Identity] = {one.name: one for family in (linear, adaptive, directions) for one in family.FAMILY}


def find_identity(identity: Identity | str) -> Identity:
    """An identity by name, or the identity itself; an unknown name is refused with the closest one."""
    if isinstance(identity, Identity):
        return identity
    if not isinstance(identity, str) or identity not in IDENTITIES:
        raise unknown("identity", identity, IDENTITIES)
    return IDENTITIES[identity]
