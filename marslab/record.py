"""What a run writes down: norms on a log-spaced grid, exact running means, and when each lane diverged."""

import math

import numpy as np
import torch

from marslab.errors import UsageError
from marslab.kinds import is_axis, is_number, whole
from marslab.streams import BLOCK

__all__ = ["Recorder", "log_grid", "norm", "record_grid"]


def log_grid(steps: int, count: int) -> list[int]:
    """At most ``count`` different whole steps from 1 to ``steps``, log-spaced, both ends included."""
    return sorted(set(np.rint(np.geomspace(1, steps, max(count, 2))).astype(int).tolist()) | {1, steps})


def record_grid(record, steps: int) -> list[int]:
    """The steps to record; a list must lie within 1..steps."""
    if not is_axis(record):
        return log_grid(steps, whole("record", record))
    if not all(is_number(t) and float(t).is_integer() and 1 <= t <= steps for t in record) or len(record) == 0:
        raise UsageError(f"record = {list(record)!r} must name whole steps within 1..{steps}.")
    return sorted({int(t) for t in record})


def norm(problem, g: dict) -> torch.Tensor:
    """Euclidean norm over the whole variable, one number a lane; shape (\\*lanes)."""
    norms = [event_norm(g[name], event_axes(shape)) for name, shape in problem.shapes.items()]
    return norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms), dim=0)


def event_norm(g: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """Euclidean norm over the event axes; a scalar's is its size (torch reads no axes as all)."""
    return torch.linalg.vector_norm(g, dim=axes) if axes else g.abs()


def event_axes(shape) -> tuple[int, ...]:
    """The trailing axes that one problem's tensor of this event shape takes."""
    return tuple(range(-len(shape), 0))


class Recorder:
    """Collects metrics at the steps of ``grid``; from its divergence on a lane records +inf, never NaN.

    A lane has diverged at the first step whose gradient is not finite. Running means are summed in float64: a float32 sum
    stops growing once its terms fall below its last digit.
    """

    def __init__(self, grid: list[int], lanes: tuple[int, ...], dtype: torch.dtype):
        self.grid, self.rows, self.steps = grid, {}, []
        self.wanted = set(grid)
        self.alive = torch.ones(lanes, dtype=torch.bool)
        self.lived = torch.zeros(lanes, dtype=torch.int64)
        self.dtype = dtype
        self.sum, self.sum_of_squares = torch.zeros(2, *lanes, dtype=torch.float64)
        self.count, self.sizes = 0, []

    def watch(self, size: torch.Tensor) -> None:
        """Take note of this step's gradient norm, on which divergence and the running means are judged."""
        self.sizes.append(size)
        if len(self.sizes) == BLOCK:
            self.settle()

    def settle(self) -> None:
        """Work off the norms taken note of, many steps at once; cumsum adds one by one, as a loop would."""
        if not self.sizes:
            return
        sizes = torch.stack(self.sizes).double()
        alive = self.alive & (torch.isfinite(sizes).cummin(dim=0).values)
        self.alive, self.lived = alive[-1], self.lived + alive.sum(dim=0)
        self.sum = torch.cat([self.sum[None], sizes]).cumsum(dim=0)[-1]
        self.sum_of_squares = torch.cat([self.sum_of_squares[None], sizes * sizes]).cumsum(dim=0)[-1]
        self.count += len(self.sizes)
        self.sizes = []

    def write(self, t: int, evaluations: int, metrics: dict, running: bool) -> None:
        """Record the metrics of step t, a dict of tensors that broadcast to the lanes."""
        self.settle()
        if running:
            metrics = metrics | {"grad_norm_mean": self.sum / t, "grad_norm_squared_mean": self.sum_of_squares / t}
        for name, value in metrics.items():
            value = torch.as_tensor(value, dtype=self.dtype).expand(self.alive.shape)
            good = self.alive & torch.isfinite(value)
            self.rows.setdefault(name, []).append(torch.where(good, value, math.inf).numpy())
        self.steps.append((t, evaluations))

    def diverged_at(self) -> np.ndarray:
        """The first step whose gradient was not finite, +inf where there was none."""
        self.settle()
        lived = self.lived.numpy().astype(np.float64)
        return np.where(lived < self.count, lived + 1, math.inf)
