"""Claims, one a file; the folder is scanned. A claim predicts before it measures, and can fail.

Rules are imported, not named by a string, so that a changed rule is measured anew.

Template (``marslab/claims/my_claim.py``; the docstring is the derivation that the page shows)::

    from marslab.claims.base import Claim, Finding, Plant
    from marslab.verdicts import Measurement

    def predict(): return -0.25
    def measure(data, window):
        return Finding(Measurement(slope_of(data["rate_sgd"]["moments"], window), kind="exact"), steps=1_000_000)

    my_claim = Claim(name="my_claim", statement="...", source="...", kind="exact", unit="exponent", margin=0.01,
                     predict=predict, measure=measure, experiments=("rate_sgd",), settings={"window": (1e4, 1e6)},
                     plants={"the step is constant": Plant(runs={"rate_sgd": {"moments": {"lr": 0.01}}})})

``settings`` are keywords of ``measure`` (rules, noise, schedules, ``Budget(quick, full)`` of steps and seeds). A plant is the
same claim with a fault in it, in the settings or in an experiment's run; every plant must come out FAILS, and a claim without
one is refused by the tests.
"""

from marslab.claims.base import Claim
from marslab.registry import scan

KINDS = ("symbolic", "exact", "Monte Carlo", "empirical")
CLAIMS: dict[str, Claim] = dict(sorted(scan(__name__, Claim).items(), key=lambda item: KINDS.index(item[1].kind)))
globals().update(CLAIMS)
__all__ = [*CLAIMS]


def __dir__():
    return __all__
