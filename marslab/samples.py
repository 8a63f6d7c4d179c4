"""The samples xi_1, xi_2, ... that a run sees: each seed and each purpose has a stream of its own."""

import torch

from marslab.noise.base import Noise
from marslab.streams import BLOCK, Stream

__all__ = ["Samples"]


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
