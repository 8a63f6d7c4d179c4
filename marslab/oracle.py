"""The oracle: stochastic gradients at the current and the previous point, on an explicit sample, each one charged.

Exact form: ``prev`` is the gradient at the previous point on the SAME sample. Approximate form: ``prev`` is the last
step's gradient. Snapshot form: ``prev`` is the gradient at the snapshot on the same sample. The true gradient is kept
apart from the noise, so that the exact form reuses it at the previous point. What a rule needs beyond these two it
declares; :mod:`marslab.extras` observes it, and it is charged here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from marslab.noise.base import Noise
from marslab.samples import Samples

__all__ = ["Observation", "Oracle", "Samples"]


@dataclass(frozen=True)
class Observation:
    """What one step sees: the gradient, the previous one, the true one where it is known anyway, and declared extras."""

    g: dict
    prev: dict | None
    true: dict | None
    extras: dict = field(default_factory=dict)


@dataclass
class Oracle:
    """Gradients of ``problem`` under ``noise`` for a rule's ``mode`` (single, approximate, exact, snapshot).

    ``levels(event_ndim)`` gives the noise levels of the current step; ``first`` is the convention of the first step;
    ``extras`` observes what the rule declares beyond g and prev. ``evaluations`` counts gradients on one sample.
    """

    problem: object
    noise: Noise | None
    mode: str
    first: str
    levels: Callable
    extras: object | None = None
    evaluations: int = 0
    _last: dict | None = field(default=None, repr=False)
    _sample: dict | None = field(default=None, repr=False)
    _acts: list = field(default_factory=list, repr=False)

    def observe(self, x: dict, xi: dict) -> Observation:
        """Gradients at ``x`` on the sample ``xi`` (purpose -> tensor)."""
        base = self.base(x, xi)
        g = self.perturb(base, xi, x)
        self.evaluations += 1
        seen = self.extras.observe(self, x, xi, g) if self.extras is not None else {}
        g, prev = self._pair(g, x, xi, seen)
        true = None if rows_of(xi) is not None else base
        self._last = {"x": x, "true": true, "g": g}
        return Observation(g, prev, true, {name: value for name, value in seen.items() if name in ("full", "hess")})

    def _pair(self, g, x, xi, seen):
        """The gradient and what it is compared with; a large batch replaces the former and needs no latter."""
        if "large_batch" in seen:
            self.evaluations -= 1  # the gradient on one sample was not asked for
            return seen["large_batch"], seen["large_batch"]
        if self.mode == "snapshot":
            return g, self._at_snapshot(g, x, xi, seen["snapshot"])
        return g, self._previous(g, xi)

    def _at_snapshot(self, g, x, xi, snapshot):
        if snapshot is x:
            return g
        self.evaluations += 1
        return self.perturb(self.base(snapshot, xi), xi, snapshot)

    def _previous(self, g, xi):
        if self.mode == "single":
            return None
        if self._last is None:
            return g if self.first == "equal" else {name: torch.zeros_like(v) for name, v in g.items()}
        if self.mode == "approximate":
            return self._last["g"]
        self.evaluations += 1
        base = self._last["true"] if rows_of(xi) is None else self.base(self._last["x"], xi)
        return self.perturb(base, xi, self._last["x"])

    def base(self, x, xi):
        """The gradient before noise: on the rows of the sample, where it has rows."""
        return self.problem.gradient(x, rows_of(xi))

    def perturb(self, g, xi, x):
        """What the noise laws without rows make of the gradient at x; what hangs on the sample alone is worked out once."""
        if xi is not self._sample:
            laws = self.noise.parts if self.noise is not None else ()
            acting = [law for law in laws if not law.uses_rows]
            self._acts = [(law.uses_point, law.at_sample(self.problem, xi[law.purpose], self.levels)) for law in acting]
            self._sample = xi
        for uses_point, act in self._acts:
            g = act(g, x) if uses_point else act(g)
        return g


def rows_of(xi: dict):
    """The rows of a sample, or None."""
    return xi.get("rows")
