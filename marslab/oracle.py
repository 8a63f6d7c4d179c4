"""The oracle: stochastic gradients at the current and the previous point, on an explicit sample, each one charged.

Exact form: ``prev`` is the gradient at the previous point on the SAME sample. Approximate form: ``prev`` is the last
step's gradient. The true gradient is kept apart from the noise, so that the exact form reuses it at the previous point.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from marslab.noise.base import Noise
from marslab.samples import Samples

__all__ = ["Observation", "Oracle", "Samples"]


@dataclass(frozen=True)
class Observation:
    """What one step sees: the gradient, the previous one, and the true gradient where it is known anyway."""

    g: dict
    prev: dict | None
    true: dict | None


@dataclass
class Oracle:
    """Gradients of ``problem`` under ``noise`` for a rule's ``mode`` (single, approximate, exact).

    ``levels(event_ndim)`` gives the noise levels of the current step; ``first`` is the convention of the first step.
    """

    problem: object
    noise: Noise | None
    mode: str
    first: str
    levels: Callable
    evaluations: int = 0
    _last: dict | None = field(default=None, repr=False)

    def observe(self, x: dict, xi: dict) -> Observation:
        """Gradients at ``x`` on the sample ``xi`` (purpose -> tensor)."""
        base = self._base(x, xi)
        g = self._perturb(base, xi)
        self.evaluations += 1
        prev = self._previous(g, xi)
        true = None if self._rows(xi) is not None else base
        self._last = {"x": x, "true": true, "g": g}
        return Observation(g, prev, true)

    def _previous(self, g, xi):
        if self.mode == "single":
            return None
        if self._last is None:
            return g if self.first == "equal" else {name: torch.zeros_like(v) for name, v in g.items()}
        if self.mode == "approximate":
            return self._last["g"]
        self.evaluations += 1
        base = self._last["true"] if self._rows(xi) is None else self._base(self._last["x"], xi)
        return self._perturb(base, xi)

    def _rows(self, xi):
        return xi.get("rows")

    def _base(self, x, xi):
        return self.problem.gradient(x, self._rows(xi))

    def _perturb(self, g, xi):
        for law in self.noise.parts if self.noise is not None else ():
            if not law.uses_rows:
                g = law.perturb(self.problem, g, xi[law.purpose], self.levels)
        return g
