"""Random streams keyed by (seed, purpose): a seed sees the same noise whatever else runs beside it.

Normals come from torch in float32 (five times cheaper than float64) in blocks of ``BLOCK`` steps: the block length is part of
the stream's definition, since torch's normals depend on the size that is asked for.
"""

import numpy as np
import torch

from marslab.errors import UsageError
from marslab.kinds import is_axis, is_number, whole

__all__ = ["BLOCK", "PURPOSES", "Stream", "check_seeds"]

BLOCK = 128
PURPOSES = ("additive", "curvature", "rows", "large_batch", "probe")
SEED_BITS = 26


def scramble(word: int) -> int:
    """A bijection of 32-bit words (the murmur3 finaliser): different streams never share a generator's seed."""
    word ^= word >> 16
    word = word * 0x85EBCA6B & 0xFFFFFFFF
    word ^= word >> 13
    word = word * 0xC2B2AE35 & 0xFFFFFFFF
    return word ^ word >> 16


def check_seeds(seeds) -> list[int]:
    """``n`` means the seeds 0..n-1; a sequence of different integers in [0, 2^26) is taken as it is."""
    if not (is_axis(seeds) or isinstance(seeds, range)):
        return list(range(whole("seeds", seeds)))
    if len(seeds) == 0:
        raise UsageError(f"seeds = {seeds!r} leaves nothing to run; give at least 1.")
    for seed in seeds:
        if not is_number(seed) or not float(seed).is_integer() or not 0 <= seed < 1 << SEED_BITS:
            raise UsageError(f"seed {seed!r} is no whole number in [0, 2^{SEED_BITS}); choose one inside.")
    chosen = [int(seed) for seed in seeds]
    if len(set(chosen)) < len(chosen):
        raise UsageError(f"seeds = {chosen} names a seed twice; lanes that share a seed are not independent.")
    return chosen


class Stream:
    """The numbers of one seed for one purpose, drawn in order.

    The torch generator is seeded by a bijection of (purpose, seed), the numpy ones by SeedSequences with the same key.
    """

    def __init__(self, seed: int, purpose: str):
        index = PURPOSES.index(purpose)
        self.torch = torch.Generator().manual_seed(scramble(index << SEED_BITS | seed))
        self.key = np.random.SeedSequence(seed, spawn_key=(index,))
        self.numpy = np.random.Generator(np.random.SFC64(self.key))

    def normal(self, shape) -> torch.Tensor:
        """Standard normals in float32."""
        return torch.empty(shape, dtype=torch.float32).normal_(generator=self.torch)

    def rademacher(self, shape) -> torch.Tensor:
        """Fair signs -1 and 1 in float32."""
        return torch.randint(0, 2, shape, generator=self.torch, dtype=torch.float32) * 2 - 1

    def student_t(self, shape, degrees: float) -> torch.Tensor:
        """Student's t with the given degrees of freedom, not scaled, in float64."""
        return torch.from_numpy(self.numpy.standard_t(degrees, size=shape))

    def integers(self, high: int, shape) -> torch.Tensor:
        """Uniform integers in [0, high), filled in order: the first k of a longer draw are the draw of k.

        Each call has a generator of its own, so that this holds for every call, whatever the length of the ones before.
        """
        child = np.random.Generator(np.random.SFC64(self.key.spawn(1)[0]))
        return torch.from_numpy(child.integers(high, size=shape))
