"""The oracle: stochastic gradients at the current and the previous point, on an explicit sample, each one charged.

Exact form: ``prev`` is the gradient at the previous point on the SAME sample. Approximate form: ``prev`` is the last
step's gradient. The true gradient is kept apart from the noise, so that the exact form reuses it at the previous point.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from marslab.noise.base import Noise
from marslab.streams import BLOCK, Stream

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
        base, perturbed = self._base(x, xi), self._at_sample(xi)
        g = perturbed(base)
        self.evaluations += 1
        prev = self._previous(g, xi, perturbed)
        true = None if self._rows(xi) is not None else base
        self._last = {"x": x, "true": true, "g": g}
        return Observation(g, prev, true)

    def _previous(self, g, xi, perturbed):
        if self.mode == "single":
            return None
        if self._last is None:
            return g if self.first == "equal" else {name: torch.zeros_like(v) for name, v in g.items()}
        if self.mode == "approximate":
            return self._last["g"]
        self.evaluations += 1
        base = self._last["true"] if self._rows(xi) is None else self._base(self._last["x"], xi)
        return perturbed(base)

    def _rows(self, xi):
        return xi.get("rows")

    def _base(self, x, xi):
        return self.problem.gradient(x, self._rows(xi))

    def _at_sample(self, xi):
        """g -> the stochastic gradient on this sample, the laws in the order in which they act."""
        laws = self.noise.parts if self.noise is not None else ()
        acts = [law.at_sample(self.problem, xi[law.purpose], self.levels) for law in laws if not law.uses_rows]

        def perturbed(g):
            for act in acts:
                g = act(g)
            return g

        return perturbed


class Samples:
    """The samples xi_1, xi_2, ... of several seeds, drawn in blocks; each seed and purpose has its own stream."""

    def __init__(self, problem, noise: Noise | None, seeds: list[int], dtype: torch.dtype):
        self.problem, self.dtype, self.count = problem, dtype, len(seeds)
        self.laws = noise.parts if noise is not None else ()
        self.streams = {law.purpose: [Stream(seed, law.purpose) for seed in seeds] for law in self.laws}
        self._block, self._last = {}, {}

    def at(self, t: int) -> dict:
        """The sample of step t (called for t = 1, 2, ... in order): purpose -> tensor (seeds, k)."""
        index = (t - 1) % BLOCK
        if index == 0:
            self._block = {law.purpose: self._draw(law) for law in self.laws}
        return {law.purpose: self._correlate(law, self._block[law.purpose][index]) for law in self.laws}

    def _draw(self, law):
        drawn = [law.draw(self.problem, stream) for stream in self.streams[law.purpose]]
        dtype = drawn[0].dtype if law.uses_rows else self.dtype
        block = torch.empty(BLOCK, self.count, *drawn[0].shape[1:], dtype=dtype)
        for seed, values in enumerate(drawn):
            block[:, seed] = values
        return block

    def _correlate(self, law, fresh):
        """AR(1) with stationary variance one: z_t = phi z_{t-1} + sqrt(1 - phi^2) w_t, z_1 = w_1."""
        phi = law.correlation
        if phi == 0.0:
            return fresh
        last = self._last.get(law.purpose)
        self._last[law.purpose] = fresh if last is None else phi * last + (1 - phi * phi) ** 0.5 * fresh
        return self._last[law.purpose]
