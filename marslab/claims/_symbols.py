"""What the symbolic claims share."""

import sympy

from marslab.claims.base import Finding
from marslab.verdicts import Measurement


def remaining(*differences) -> Finding:
    """How many of the differences do not vanish: 0 when the identity is proved; the note shows the first that remains."""
    left = [sympy.simplify(d) for d in differences]
    left = [d for d in left if d != 0]
    note = f"remaining: {sympy.sstr(left[0])}" if left else f"{len(differences)} differences simplify to 0"
    return Finding(Measurement(float(len(left)), kind="symbolic"), note=note)


def nothing() -> float:
    """The prediction of an identity: no difference remains."""
    return 0.0
