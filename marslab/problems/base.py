"""What every problem offers: F(x) = value, its gradient, a start, and the constants that theorems ask for.

A point is a dict of named tensors, each of shape (*lanes, *event): lanes are any leading shape, seeds and
hyper-parameters in the simulator. Every method works on all lanes at once and follows the dtype of the point.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from marslab.errors import UsageError
from marslab.problems import _checks
from marslab.problems._cached import keepable

__all__ = ["Point", "Problem", "inner", "random_rotation"]

Point = dict[str, Tensor]


class Problem:
    """Base of all problems: subclasses are frozen dataclasses whose fields are the whole configuration.

    Attributes:
        shapes: event shape of each named tensor, in order.
        examples: number of rows n of a finite sum F = 1/n sum_i f_i, else None.
        L: smallest known constant with |grad F(x) - grad F(y)| <= L |x - y| for all x, y; None when there is none.
        L_max: smallest known constant with |grad f_i(x) - grad f_i(y)| <= L_max |x - y| for every row i; None when
            there is none, or when the problem is no finite sum.
        L_mean_squared: smallest known constant with E|grad f_i(x) - grad f_i(y)|^2 <= L_mean_squared^2 |x - y|^2,
            i uniform; None when there is none, or when the problem is no finite sum.
        f_min: infimum of F, or None.
        sigma: bound on the standard deviation of grad f_i(x) over rows, for all x; None when there is none, or when
            the problem is no finite sum (then the noise law knows it).
        eigenvalues: float64 tensor of the Hessian's eigenvalues, flat, for quadratics; else None.
        spectrum: the same as a tuple of floats; else None.
        model_gradient: where F is the mean negative log-likelihood of a model, a method (x, rows, uniforms) that returns
            the gradient on rows whose labels are drawn from the model; else None.
        certainty: how each constant is known: 'exact', 'bound' (true, perhaps not attained) or 'measured'.
    """

    shapes: Mapping[str, tuple[int, ...]]
    examples: int | None = None
    L: float | None = None
    L_max: float | None = None
    L_mean_squared: float | None = None
    f_min: float | None = None
    sigma: float | None = None
    eigenvalues: Tensor | None = None
    spectrum: tuple[float, ...] | None = None
    model_gradient = None
    certainty: ClassVar[Mapping[str, str]] = {}

    @property
    def name(self) -> str:
        """Public name: the name of the file, or folder, that defines the problem."""
        return type(self).__module__.split(".problems.")[-1].split(".")[0]

    @cached_property
    def size(self) -> int:
        """Number of coordinates of one point, over all tensors."""
        return sum(int(np.prod(shape)) for shape in self.shapes.values())

    def start(self) -> Point:
        """Return the deterministic starting point: float64, no lanes."""
        raise NotImplementedError

    def value(self, x: Point, rows: Tensor | None = None) -> Tensor:
        """Return F at every lane, or the mean loss over `rows`.

        Args:
            x: point with tensors (*lanes, *event).
            rows: None for the full data, or row indices (*row_lanes, batch); row_lanes and lanes broadcast.

        Returns:
            Tensor (*lanes).
        """
        raise NotImplementedError

    def gradient(self, x: Point, rows: Tensor | None = None) -> Point:
        """Return the gradient of `value` in closed form, shaped like x (lanes broadcast with row_lanes)."""
        raise NotImplementedError

    def value_and_gradient(self, x: Point, rows: Tensor | None = None) -> tuple[Tensor, Point]:
        """Return (value, gradient); finite sums share one forward pass."""
        return self.value(x, rows), self.gradient(x, rows)

    def minimizer(self) -> Point | None:
        """Return a point where F = f_min, or None when none is known."""
        return None

    def to_eigenbasis(self, g: Point) -> Point:
        """Return coordinates in the basis that diagonalises the Hessian everywhere (the same basis if none does)."""
        return g

    def from_eigenbasis(self, g: Point) -> Point:
        """Undo `to_eigenbasis`."""
        return g

    def tensors(self) -> Point:
        """Return the tensors that define the problem besides its start, for `digest`."""
        return {}

    def constants(self) -> dict[str, tuple[float | None, str]]:
        """Return {name: (value, 'exact' | 'bound' | 'measured' | 'unknown')}."""
        values = {name: getattr(self, name) for name in ("L", "L_max", "L_mean_squared", "f_min", "sigma")}
        return {n: (v, "unknown" if v is None else self.certainty[n]) for n, v in values.items()}

    def digest(self) -> str:
        """Return the sha256 of start and data, equal wherever the same problem was built."""
        summary = hashlib.sha256(repr(self).encode())
        for name, tensor in [*self.start().items(), *self.tensors().items()]:
            summary.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            summary.update(tensor.contiguous().numpy().tobytes())
        return summary.hexdigest()

    def gradient_variance(self, x: Point, batch: int = 1, chunk: int = 64) -> Tensor:
        """Return the variance of a minibatch gradient at x, rows drawn with replacement, by enumeration of all rows.

        sigma^2(x) / batch with sigma^2(x) = 1/n sum_i |grad f_i(x) - grad F(x)|^2.

        Args:
            x: point with tensors (*lanes, *event).
            batch: rows of one minibatch, at least 1.
            chunk: rows enumerated together; it bounds the memory at chunk x the size of x.

        Returns:
            Tensor (*lanes).
        """
        self._need_rows()
        _checks.whole("batch", batch, 1)
        lanes, mean, total = self.lanes(x), self.gradient(x), 0
        for rows in torch.arange(self.examples).split(_checks.whole("chunk", chunk, 1)):
            each = self.gradient(x, rows.reshape(-1, *(1,) * len(lanes), 1))
            gap = {name: each[name] - mean[name] for name in each}
            total = total + self.squared_norm(gap).sum(0)
        return total / (self.examples * batch)

    def lanes(self, x: Point) -> tuple[int, ...]:
        """Return the leading shape of a point, shared by its tensors up to broadcasting."""
        leading = (x[name].shape[: x[name].ndim - len(shape)] for name, shape in self.shapes.items())
        return tuple(torch.broadcast_shapes(*leading))

    def squared_norm(self, g: Point) -> Tensor:
        """Return |g|^2 over the whole tuple of tensors, one number a lane."""
        return sum(g[name].square().sum(dim=_axes(shape)) for name, shape in self.shapes.items())

    def cast(self, name: str, like: Tensor) -> Tensor:
        """Return the cached float64 tensor `name` in the dtype and on the device of `like`."""
        tensor = getattr(self, name)
        if tensor.dtype == like.dtype and tensor.device == like.device:
            return tensor
        return self._casts((name, like.dtype, like.device), tensor)

    def _casts(self, key: tuple, tensor: Tensor) -> Tensor:
        known = self.__dict__.setdefault("_cast_tensors", {})
        if key in known:
            return known[key]
        made = tensor.to(dtype=key[1], device=key[2])
        if keepable(made):
            known[key] = made
        return made

    def _set(self, **values: object) -> None:
        """Write normalised fields of a frozen dataclass, from `__post_init__` only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _refuse_rows(self, rows: Tensor | None) -> None:
        if rows is not None:
            raise UsageError(f"{self.name} is not a sum over rows: leave rows out, or choose a problem with data")

    def _need_rows(self) -> None:
        if self.examples is None:
            raise UsageError(f"{self.name} is not a sum over rows: its variance belongs to the noise law")

    def __getstate__(self) -> dict[str, object]:
        """Pickle the configuration alone: another process builds the same tensors from it."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def inner(a: Tensor, b: Tensor) -> Tensor:
    """Return the sum of a * b over the last axis."""
    return (a * b).sum(-1)


def random_rotation(dimension: int, seed: int) -> Tensor:
    """Return a float64 orthogonal matrix (dimension, dimension), uniform over all of them, from its own generator."""
    normals = np.random.default_rng(seed).standard_normal((dimension, dimension))
    orthogonal, triangular = np.linalg.qr(normals)
    return torch.from_numpy(orthogonal * np.sign(np.diagonal(triangular)))


def _axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(-len(shape), 0))
