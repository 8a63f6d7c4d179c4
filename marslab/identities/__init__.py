"""Which optimizer is MARS: identities between rules, declared as data, proved on the rules' updates, measured on numbers.

    identities.prove("lion", "zero").holds        # by induction, for every t and every gradient
    identities.gap("lion", "zero")                # the largest difference over 50 steps of float64
    identities.gap("lion", "zero", "clip")        # a condition dropped: IDENTITIES["lion"].failures lists them
    identities.refute("lion", "zero", "clip")     # the first difference in symbols
    print(identities.IDENTITIES["lion"].note)

A and B start alike under both conventions of the first step. Where an identity needs a zero gradient before the first
("zero"), the paper's start ("equal") leaves a remainder that is stated, and proved and measured as such.
"""

from marslab.identities.base import FIRST, Failure, Identity
from marslab.identities.measured import gap, trace
from marslab.identities.proof import Proof, prove, refute
from marslab.identities.table import IDENTITIES, find_identity

__all__ = ["FIRST", "IDENTITIES", "Failure", "Identity", "Proof", "find_identity", "gap", "prove", "refute", "trace"]
