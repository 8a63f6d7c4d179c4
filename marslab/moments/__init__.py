"""Exact second moments of linear rules on quadratics: no sampling, any schedule, from the same rule object.

On a quadratic every eigenmode of a linear rule is a small linear system driven by noise, so that E[z z'] can be
propagated (:func:`propagate`), its fixed point solved for (:func:`stationary`) and its stability decided
(:func:`stability_limit`). The matrices are the images of basis vectors under the rule itself.
"""

from marslab.moments.law import Stationary, stability_limit, stationary
from marslab.moments.propagation import propagate

__all__ = ["Stationary", "propagate", "stability_limit", "stationary"]
