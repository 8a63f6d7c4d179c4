"""Claims, one a file; the folder is scanned. A claim predicts before it measures, and can fail.

Rules are imported, not named by a string, so that a changed rule is measured anew.

Template (``marslab/claims/my_claim.py``; the docstring is the derivation that the page shows)::

    from marslab.claims.base import Claim, Finding
    from marslab.verdicts import Measurement

    def predict(): return -0.25
    def measure(data): return Finding(Measurement(slope_of(data["rate_sgd"]["moments"]), kind="exact"), steps=1_000_000)

    my_claim = Claim(name="my_claim", statement="...", source="...", kind="exact", unit="exponent", margin=0.01,
                     predict=predict, measure=measure, experiments=("rate_sgd",))
"""

from marslab.claims.base import Claim
from marslab.registry import scan

KINDS = ("symbolic", "exact", "Monte Carlo", "empirical")
CLAIMS: dict[str, Claim] = dict(sorted(scan(__name__, Claim).items(), key=lambda item: KINDS.index(item[1].kind)))
globals().update(CLAIMS)
__all__ = [*CLAIMS]


def __dir__():
    return __all__
