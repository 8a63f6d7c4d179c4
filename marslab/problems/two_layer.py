"""A small neural network on real data: several tensors, minibatches, gradients by hand-written back-propagation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from marslab.problems import _checks, _datasets
from marslab.problems._cached import cached_tensor
from marslab.problems._rows import FiniteSum
from marslab.problems.base import Point

__all__ = ["TwoLayer"]


@dataclass(frozen=True)
class TwoLayer(FiniteSum):
    """F = 1/n sum_i -log softmax(W2 tanh(W1 a_i + b1) + b2)[y_i]: softmax cross-entropy, in nats, on all weights.

    a_i: standardised features of row i; y_i: its class. Tensors, as in torch.nn.Linear: W1 (hidden, p), b1 (hidden,),
    W2 (classes, hidden), b2 (classes,). L and sigma: None, since the gradient in W1 grows with W2 without bound, so
    no global constant exists. f_min: None, no closed form is known; it is at least 0.

    Args:
        data: 'digits' (n = 1797, p = 61, 10 classes) or 'breast_cancer' (n = 569, p = 30, 2 classes).
        hidden: number of tanh units.
        seed: seed of the start: W1 and W2 normal with variance 1 / (number of inputs), b1 = b2 = 0.

    Raises:
        UsageError: an unknown data set (the message names the closest), or hidden below 1.
    """

    data: str = "digits"
    hidden: int = 16
    seed: int = 0

    def __post_init__(self):
        _datasets.check(self.data)
        self._set(hidden=_checks.whole("hidden", self.hidden, 1), seed=_checks.whole("seed", self.seed, 0))

    @cached_tensor
    def features(self) -> Tensor:
        """Standardised features, float64 (n, p)."""
        return _datasets.load(self.data)[0]

    @cached_tensor
    def targets(self) -> Tensor:
        """One-hot classes, float64 (n, classes)."""
        return torch.nn.functional.one_hot(_datasets.load(self.data)[1]).to(torch.float64)

    @cached_property
    def examples(self) -> int:
        """Number of rows, n."""
        return len(self.features)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """W1, b1, W2, b2."""
        inputs, classes = self.features.shape[1], self.targets.shape[1]
        return {"W1": (self.hidden, inputs), "b1": (self.hidden,), "W2": (classes, self.hidden), "b2": (classes,)}

    def start(self) -> Point:
        """Return normal weights and zero biases."""
        generator = np.random.default_rng(self.seed)
        return {name: torch.from_numpy(_initial(generator, shape)) for name, shape in self.shapes.items()}

    def tensors(self) -> Point:
        """Return features and one-hot classes."""
        return {"features": self.features, "targets": self.targets}

    def model_gradient(self, x: Point, rows: Tensor | None, uniforms: Tensor) -> Point:
        """Return the gradient on `rows` with labels drawn from the softmax instead of the data's.

        Args:
            x: point with tensors (*lanes, *event).
            rows: row indices (*row_lanes, batch), or None for all n in every lane of `uniforms`.
            uniforms: numbers in [0, 1), float64 (*row_lanes, batch): the label is the first class whose cumulated
                probability exceeds the row's number.
        """
        rows = torch.arange(self.examples).expand(uniforms.shape) if rows is None else rows
        fold, weights = self._folded(x, rows)
        numbers = uniforms.reshape(-1, uniforms.shape[-1])
        forward = self._forward(weights, rows.reshape(numbers.shape))
        cumulated = forward["powers"].cumsum(-2) / forward["total"]
        label = (cumulated <= numbers[:, None, None, :]).sum(-2).clamp(max=cumulated.shape[-2] - 1)
        drawn = torch.nn.functional.one_hot(label, cumulated.shape[-2]).movedim(-1, -2).to(cumulated.dtype)
        slope = self._slope(weights, forward | {"targets": drawn}, rows.shape[-1])
        return {name: fold.unfold(part) for name, part in slope.items()}

    def _forward(self, weights: Point, rows: Tensor) -> Point:
        features = self._gather("features", rows, weights["W1"])
        # one wide product for each own lane; broadcasting would copy the features for every shared lane
        inputs = (weights["W1"].flatten(1, 2) @ features.mT).unflatten(1, weights["b1"].shape[1:])
        units = torch.tanh(inputs + weights["b1"].unsqueeze(-1))
        logits = weights["W2"] @ units + weights["b2"].unsqueeze(-1)
        targets = self._gather("targets", rows, logits).mT.unsqueeze(1)
        return {"features": features, "units": units, "targets": targets, **_softmax(logits)}

    def _loss(self, forward: Point) -> Tensor:
        right = (forward["shifted"] * forward["targets"]).sum(-2)
        return (forward["total"].squeeze(-2).log() - right).sum(-1)

    def _slope(self, weights: Point, forward: Point, count: int) -> Point:
        units = forward["units"]
        gap = (forward["powers"] / forward["total"] - forward["targets"]) / count
        back = weights["W2"].mT @ gap * (1 - units * units)
        wide = back.flatten(1, 2) @ forward["features"]
        return {
            "W1": wide.unflatten(1, back.shape[1:3]),
            "b1": back.sum(-1),
            "W2": gap @ units.mT,
            "b2": gap.sum(-1),
        }


def _initial(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.zeros(shape) if len(shape) == 1 else generator.standard_normal(shape) / shape[1] ** 0.5


def _softmax(logits: Tensor) -> Point:
    """Return the parts of the softmax over the classes, axis -2; torch's own takes three times longer on so few."""
    shifted = logits - logits.amax(-2, keepdim=True)
    powers = shifted.exp()
    return {"shifted": shifted, "powers": powers, "total": powers.sum(-2, keepdim=True)}
