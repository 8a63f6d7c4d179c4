"""Finite sums: many lanes, few row sets. Lanes that share their rows are folded into one matrix product.

In the simulator a point has lanes (hyper-parameters, seeds) while the rows have lanes (seeds, ) only. Lane axes are
sorted into *own* (the rows differ along them) and *shared* (the rows do not), flattened to (own, shared, *event), so
that features are gathered once for each own lane and multiplied with the weights of all its shared lanes at once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from marslab.problems.base import Point, Problem

__all__ = ["FiniteSum", "Fold"]

CHUNK = 64  # rows in one product: keeps the intermediates of a full-data pass in cache; a constant, so lanes agree


@dataclass(frozen=True)
class Fold:
    """How lanes of a point and of its rows lie: `order` puts the own axes first, `own` of them, in shape `lanes`."""

    lanes: tuple[int, ...]
    order: tuple[int, ...]
    own: int

    @classmethod
    def of(cls, lanes: tuple[int, ...], row_lanes: tuple[int, ...]) -> Fold:
        """Return the fold of a point with `lanes` whose rows have `row_lanes`; the two broadcast."""
        lanes = tuple(torch.broadcast_shapes(lanes, row_lanes))
        padded = (1,) * (len(lanes) - len(row_lanes)) + tuple(row_lanes)
        own = [axis for axis, size in enumerate(padded) if size != 1]
        shared = [axis for axis, size in enumerate(padded) if size == 1]
        return cls(lanes, (*own, *shared), len(own))

    @property
    def sorted(self) -> tuple[int, ...]:
        """The lanes in the order own, shared."""
        return tuple(self.lanes[axis] for axis in self.order)

    def fold(self, tensor: Tensor, event: int) -> Tensor:
        """Return `tensor` (*lanes, *event) as (own, shared, *event); `event` is the number of event axes."""
        tail = tensor.shape[tensor.ndim - event :]
        ahead = range(len(self.lanes), len(self.lanes) + event)
        whole = tensor.expand((*self.lanes, *tail)).permute((*self.order, *ahead))
        return whole.reshape((math.prod(self.sorted[: self.own]), math.prod(self.sorted[self.own :]), *tail))

    def unfold(self, tensor: Tensor) -> Tensor:
        """Undo `fold`: (own, shared, *event) becomes (*lanes, *event), contiguous."""
        split = tensor.reshape((*self.sorted, *tensor.shape[2:]))
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        return split.permute((*back, *range(len(self.order), split.ndim))).contiguous()


class FiniteSum(Problem):
    """F(x) = 1/n sum_i f_i(x): subclasses give forward, loss and slope on a piece of rows; this class averages."""

    def value(self, x: Point, rows: Tensor | None = None) -> Tensor:
        """Return the mean loss over `rows`, or over all n, at every lane."""
        fold, weights = self._folded(x, rows)
        parts = (self._loss(self._forward(weights, piece)) for piece in self._pieces(rows))
        return fold.unfold(reduce(operator.add, parts) / self._count(rows))

    def gradient(self, x: Point, rows: Tensor | None = None) -> Point:
        """Return the mean gradient over `rows`, or over all n, at every lane."""
        fold, weights = self._folded(x, rows)
        count = self._count(rows)
        parts = (self._slope(weights, self._forward(weights, piece), count) for piece in self._pieces(rows))
        return _unfolded(fold, reduce(_plus, parts))

    def value_and_gradient(self, x: Point, rows: Tensor | None = None) -> tuple[Tensor, Point]:
        """Return (value, gradient) from one forward pass."""
        fold, weights = self._folded(x, rows)
        count = self._count(rows)
        forwards = (self._forward(weights, piece) for piece in self._pieces(rows))
        parts = ({"value": self._loss(each) / count, **self._slope(weights, each, count)} for each in forwards)
        totals = _unfolded(fold, reduce(_plus, parts))
        return totals.pop("value"), totals

    def _forward(self, weights: Point, rows: Tensor) -> Point:
        """Return what loss and slope share, for rows (own, batch) at weights (own, shared, *event)."""
        raise NotImplementedError

    def _loss(self, forward: Point) -> Tensor:
        """Return the sum of the losses over the rows, (own, shared)."""
        raise NotImplementedError

    def _slope(self, weights: Point, forward: Point, count: int) -> Point:
        """Return the gradient of the sum of the losses divided by `count`, shaped like `weights`."""
        raise NotImplementedError

    def _folded(self, x: Point, rows: Tensor | None) -> tuple[Fold, Point]:
        fold = Fold.of(self.lanes(x), () if rows is None else tuple(rows.shape[:-1]))
        return fold, {name: fold.fold(x[name], len(shape)) for name, shape in self.shapes.items()}

    def _pieces(self, rows: Tensor | None) -> Iterator[Tensor]:
        """Yield rows (own, at most CHUNK); lane axes of size 1 vanish in the reshape."""
        rows = torch.arange(self.examples) if rows is None else rows
        yield from rows.reshape(-1, rows.shape[-1]).split(CHUNK, dim=-1)

    def _count(self, rows: Tensor | None) -> int:
        return self.examples if rows is None else rows.shape[-1]

    def _gather(self, name: str, rows: Tensor, like: Tensor) -> Tensor:
        """Return the rows (own, batch, *) of the cached tensor `name`, in the dtype of `like`."""
        table = self.cast(name, like)
        return table.index_select(0, rows.flatten().to(table.device)).reshape(*rows.shape, *table.shape[1:])


def _plus(one: Point, other: Point) -> Point:
    return {name: one[name] + other[name] for name in one}


def _unfolded(fold: Fold, parts: Point) -> Point:
    return {name: fold.unfold(part) for name, part in parts.items()}
