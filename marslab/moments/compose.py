"""Affine maps of moments, composed pairwise over time.

Shapes are (row, column, time, ...): matrices first, so that a product of small matrices is a few long vector operations
(three times faster than batched matrix products at three rows).
"""

from functools import cache

import torch

__all__ = ["Bent", "Straight", "prefix", "product"]


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Matrix product over the two leading axes."""
    out = a[:, 0, None] * b[0]
    for k in range(1, a.shape[1]):
        out = out.addcmul(a[:, k, None], b[k])
    return out


def congruence(a: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    """a s a'."""
    return product(product(a, s), a.transpose(0, 1))


class Straight:
    r"""Without curvature noise: the covariance follows :math:`S \mapsto A S A^\top + Q`, the mean :math:`\mu \mapsto A\mu`.

    A map is the pair (A, Q); a state is (S, mu) of a start at zero with noise and of a unit start without.
    """

    @staticmethod
    def maps(step) -> tuple:
        """The one-step maps of :class:`StepMatrices`."""
        return step.drift, product(step.kick, step.kick.transpose(0, 1))

    @staticmethod
    def after(first: tuple, then: tuple) -> tuple:
        """The map that applies ``first`` and ``then``."""
        return product(then[0], first[0]), congruence(then[0], first[1]) + then[1]

    @staticmethod
    def start(covariance: torch.Tensor, mean: torch.Tensor) -> tuple:
        """The state of the given covariance (n, n, ...) and mean (n, 1, ...)."""
        return covariance, mean

    @staticmethod
    def apply(maps: tuple, state: tuple) -> tuple:
        """The state after one map."""
        return congruence(maps[0], state[0]) + maps[1], product(maps[0], state[1])

    @staticmethod
    def read(state: tuple, row: torch.Tensor, kick=0.0, bent=None) -> tuple:
        """Of y = row z + kick v: the variance due to noise, the squared and the plain response to a unit start."""
        mean = product(row, state[1])[0, 0]
        return congruence(row, state[0])[0, 0] + kick * kick, mean * mean, mean


class Bent:
    r"""With curvature noise: vech(E[z z']) follows :math:`p \mapsto M p + q`, lifted from A and C.

    A map is (A, M, q); a state is (p of a start at zero with noise, p of a unit start without, mean of that).
    """

    @staticmethod
    def maps(step) -> tuple:
        """The one-step maps of :class:`StepMatrices`."""
        return step.drift, lift(step.drift) + lift(step.bend), pack(product(step.kick, step.kick.transpose(0, 1)))

    @staticmethod
    def after(first: tuple, then: tuple) -> tuple:
        """The map that applies ``first`` and ``then``."""
        return product(then[0], first[0]), product(then[1], first[1]), product(then[1], first[2]) + then[2]

    @staticmethod
    def start(covariance: torch.Tensor, mean: torch.Tensor) -> tuple:
        """The state of the given covariance (n, n, ...) and mean (n, 1, ...)."""
        return pack(covariance), pack(product(mean, mean.transpose(0, 1))), mean

    @staticmethod
    def apply(maps: tuple, state: tuple) -> tuple:
        """The state after one map."""
        return product(maps[1], state[0]) + maps[2], product(maps[1], state[1]), product(maps[0], state[2])

    @staticmethod
    def read(state: tuple, row: torch.Tensor, kick=0.0, bent=None) -> tuple:
        """Of y = (row + w bent) z + kick v: the part due to noise, the squared and the plain response to a unit start."""
        form = quadratic_form(row) if bent is None else quadratic_form(row) + quadratic_form(bent)
        parts = [product(form, p)[0, 0] for p in state[:2]]
        return parts[0] + kick * kick, parts[1], product(row, state[2])[0, 0]


@cache
def triangle(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and columns of the upper triangle, the order of vech."""
    rows, columns = torch.triu_indices(n, n)
    return rows, columns


def pack(s: torch.Tensor) -> torch.Tensor:
    """vech of a symmetric matrix (n, n, ...) as a column (p, 1, ...), p = n (n + 1) / 2."""
    i, j = triangle(s.shape[0])
    return s[i, j].unsqueeze(1)


def lift(a: torch.Tensor) -> torch.Tensor:
    """The matrix (p, p, ...) of vech(P) -> vech(a P a')."""
    i, j = triangle(a.shape[0])
    i, j, k, m = i[:, None], j[:, None], i[None], j[None]
    twice = (k != m).to(a.dtype).reshape(1, -1, *(1,) * (a.ndim - 2))
    return a[i, k] * a[j, m] + twice * (a[i, m] * a[j, k])


def quadratic_form(row: torch.Tensor) -> torch.Tensor:
    """The row (1, p, ...) that takes vech(P) to row P row'."""
    i, j = triangle(row.shape[1])
    weight = torch.where(i == j, 1.0, 2.0).to(row.dtype).reshape(1, -1, *(1,) * (row.ndim - 2))
    return weight * row[:, i] * row[:, j]


def over(kind, maps: tuple, first: int, last: int) -> tuple:
    """The map of the steps first..last-1 of ``maps`` (time positions), by a pairwise tree."""
    maps = tuple(part[:, :, first:last] for part in maps)
    while (length := maps[0].shape[2]) > 1:
        even = length // 2 * 2
        pairs = kind.after(*(tuple(part[:, :, begin:even:2] for part in maps) for begin in (0, 1)))
        rest = tuple(part[:, :, even:] for part in maps)
        maps = tuple(torch.cat(both, dim=2) for both in zip(pairs, rest, strict=True)) if even < length else pairs
    return maps


def power(kind, maps: tuple, count: int) -> tuple:
    """One map applied ``count`` >= 1 times, by squaring."""
    done = None
    while True:
        if count % 2:
            done = maps if done is None else kind.after(done, maps)
        count //= 2
        if not count:
            return done
        maps = kind.after(maps, maps)


def prefix(a: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The maps s -> a s + c of the first 1, 2, 3, ... steps: a (k, k, time, ...), c (k, 1, time, ...)."""
    shift = 1
    while shift < a.shape[2]:
        late, early = a[:, :, shift:], slice(None, -shift)
        c = torch.cat([c[:, :, :shift], product(late, c[:, :, early]) + c[:, :, shift:]], dim=2)
        a = torch.cat([a[:, :, :shift], product(late, a[:, :, early])], dim=2)
        shift *= 2
    return a, c
