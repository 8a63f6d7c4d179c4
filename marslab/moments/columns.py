r"""One step of a linear rule on one eigenmode, as matrices: the columns are the images of basis vectors.

The mode's state z holds x, the rule's memory, what the driver carries (the previous point in the exact form, the last
gradient in the approximate one) and the state of correlated noise. With fresh additive noise v and curvature noise w,
both of mean zero, unit variance and independent of z and of each other,

.. math:: z_{t+1} = A_t z_t + b_t v_t + w_t C_t z_t,\qquad
          \text{estimate}_t - \nabla F(x_t) = a_t z_t + \beta_t v_t + w_t c_t z_t .

Layout: (row, column, time, \*lanes, mode), time and lanes last, so that small products are long vector operations.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from marslab.rule import Rule

__all__ = ["Columns", "Moment", "StepMatrices"]


@dataclass(frozen=True)
class Moment:
    """When and where the step is taken: everything has shape (time, \\*lanes, mode) up to broadcasting.

    t          the steps, counted from 1
    curvature  eigenvalues of the Hessian
    sigma      standard deviation of the additive noise of one coordinate
    level      level of the curvature noise
    hyper      the rule's hyper-parameters: floats, options and tensors
    scalars    the rule's scalar state before the step
    """

    t: torch.Tensor
    curvature: torch.Tensor
    sigma: object
    level: object
    hyper: Mapping
    scalars: Mapping


@dataclass(frozen=True)
class StepMatrices:
    """A (n, n, ...), b (n, 1, ...), C (n, n, ...), and the rows ``error`` = (a, beta) and ``bent_error`` = c.

    C and c are None without curvature noise.
    """

    drift: torch.Tensor
    kick: torch.Tensor
    bend: torch.Tensor | None
    error: torch.Tensor
    bent_error: torch.Tensor | None


class Columns:
    """Pushes basis vectors through ``rule`` in a mode (single, approximate, exact) as lanes of one call.

    correlation  AR(1) coefficient of the additive noise
    bent         whether there is curvature noise
    """

    def __init__(self, rule: Rule, mode: str, correlation: float = 0.0, bent: bool = False):
        self.rule, self.mode, self.correlation, self.bent = rule, mode, correlation, bent
        carried = {"exact": ("carried",), "approximate": ("carried",)}.get(mode, ())
        noise = ("noise",) if correlation else ()
        self.names = ("x", *(f"memory:{name}" for name in rule.memory), *carried, *noise)
        self.size = len(self.names)

    def index(self, name: str) -> int:
        """Position of a coordinate of z."""
        return self.names.index(name)

    def matrices(self, at: Moment, first: str | None = None) -> StepMatrices:
        """The matrices of the steps ``at``; ``first`` is the convention where they are the first step."""
        drift, error = self._drift(at, first)
        matrix, row = stack(drift, self.size + 1, at), stack([error], self.size + 1, at)
        bend = bent_error = None
        if self.bent:
            images, image = self._bend(at, first)
            bend, bent_error = stack(images, self.size, at), stack([image], self.size, at)
        return StepMatrices(matrix[:, :-1], matrix[:, -1:], bend, row, bent_error)

    def _drift(self, at, first):
        z = self._basis(self.size + 1, at)
        fresh = z[-1]
        noise = self._noise(z, fresh)
        shake = at.sigma * noise
        g = at.curvature * z[0] + shake
        prev = self._previous(first, g, at.curvature, z, shake)
        new, state = self._call(z[0], self._memory(z), g, prev, at)
        carried = {"exact": [z[0]], "approximate": [g]}.get(self.mode, [])
        images = [new, *(state[name] for name in self.rule.memory), *carried, *([noise] if self.correlation else [])]
        return images, self.rule.estimate(state, g) - at.curvature * z[0]

    def _bend(self, at, first):
        """What is multiplied by w: the noisy part of the gradients, with everything else at zero."""
        z = self._basis(self.size, at)
        zero = torch.zeros_like(z[0])
        g = at.level * at.curvature * z[0]
        # in the approximate form the last gradient holds the last step's w, which is part of z by now
        later = at.level * at.curvature * z[self.index("carried")] if self.mode == "exact" else zero
        prev = g if first == "equal" else zero if first == "zero" else later
        new, state = self._call(zero, {name: zero for name in self.rule.memory}, g, prev, at)
        carried = {"exact": [zero], "approximate": [g]}.get(self.mode, [])
        images = [new, *(state[name] for name in self.rule.memory), *carried, *([zero] if self.correlation else [])]
        return images, self.rule.estimate(state, g)

    def _previous(self, first, g, curvature, z, shake):
        if self.mode == "single":
            return None
        if first is not None:
            return g if first == "equal" else torch.zeros_like(g)
        carried = z[self.index("carried")]
        return curvature * carried + shake if self.mode == "exact" else carried

    def _call(self, x, memory, g, prev, at):
        inputs = (x, {**memory, **at.scalars}, g, None if self.mode == "single" else prev)
        return self.rule(*inputs, t=at.t, axes=(-1,), **at.hyper)

    def _basis(self, count, at):
        shape = (count, count) + (1,) * at.t.ndim
        return torch.eye(count, dtype=torch.float64).reshape(shape)

    def _memory(self, z):
        return {name: z[self.index(f"memory:{name}")] for name in self.rule.memory}

    def _noise(self, z, fresh):
        phi = self.correlation
        return phi * z[self.index("noise")] + math.sqrt(1 - phi * phi) * fresh if phi else fresh


def stack(images, count: int, at: Moment) -> torch.Tensor:
    """Images (column, time, \\*lanes, mode) as rows of (row, column, time, \\*lanes, mode)."""
    images = [torch.as_tensor(image, dtype=torch.float64) for image in images]
    lanes = torch.broadcast_shapes(at.t.shape, at.curvature.shape, *(image.shape[1:] for image in images if image.ndim > 1))
    return torch.stack([image.expand(count, *lanes) for image in images])
