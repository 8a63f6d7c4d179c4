"""Hyper-parameters for many lanes at once: a number is a constant, a list is an axis, a function of t is a schedule.

A list may hold schedules too; its axis is then labelled by their text. Everything that is not a number (an option such as
"polar") is passed on as it is and cannot be an axis.

Constants stay Python floats, whose arithmetic is float64, while an axis is a tensor of the run's dtype: in float64 a lane
equals the run of its value alone bit for bit, in float32 to rounding.
"""

from collections.abc import Mapping

import numpy as np
import torch

from marslab.errors import UsageError
from marslab.kinds import is_axis, is_number
from marslab.rule import check_range

__all__ = ["Lanes"]

CHUNK = 1 << 18


def evaluate(schedule, first: int, last: int) -> torch.Tensor:
    """A schedule at the steps first..last (both included) as float64, shape (last - first + 1,)."""
    t = torch.arange(first, last + 1, dtype=torch.float64)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # or torch.where(t < 9, 0.1, 0.01) would round 0.1 to float32
    try:
        value = torch.as_tensor(schedule(t), dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"the schedule {schedule} fails on a tensor of steps ({reason}); use torch functions of t.") from None
    finally:
        torch.set_default_dtype(default)
    if value.shape not in ((), t.shape):
        shape = tuple(value.shape)
        raise UsageError(f"the schedule {schedule} gives shape {shape} for {len(t)} steps; return one number a step.")
    return value.expand(t.shape)


def check_entries(name: str, entries: list) -> None:
    """Refuse an empty axis and entries that are neither numbers nor schedules."""
    if not entries:
        raise UsageError(f"{name} = [] is an empty axis; give at least one value.")
    for entry in entries:
        if not (callable(entry) or is_number(entry)):
            raise UsageError(f"{name} holds {entry!r}, which cannot be an axis; run once for each value instead.")
    labels = [str(entry) if callable(entry) else float(entry) for entry in entries]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"{name} holds {label} twice; give each value of an axis once.")


class Lanes:
    """The values of named hyper-parameters at every step, shaped for lanes.

    values  name -> number | list of numbers or schedules | schedule | option
    steps   number of steps T; every value is checked against its name's range at t = 1..T
    """

    def __init__(self, values: Mapping, *, steps: int, dtype: torch.dtype):
        self.dtype, self.steps = dtype, steps
        self.axes = {name: self._entries(name, value) for name, value in values.items() if is_axis(value)}
        self.shape = tuple(len(entries) for entries in self.axes.values())
        self.scheduled = {}
        self.constant = {}
        for name, value in values.items():
            self._sort(name, self.axes.get(name, value))
        self._shaped, self._tables = {}, {}

    def _entries(self, name, value) -> list:
        entries = value.tolist() if hasattr(value, "tolist") else list(value)
        check_entries(name, entries)
        return entries

    def _sort(self, name, value):
        entries = value if name in self.axes else [value]
        if any(callable(entry) for entry in entries):
            self.scheduled[name] = entries
            self._check_schedules(name, entries)
        elif name in self.axes:
            self.constant[name] = self._along(name, torch.tensor([float(e) for e in entries], dtype=torch.float64))
            check_range(name, self.constant[name], self.dtype)
        else:
            self.constant[name] = value.item() if hasattr(value, "item") else value
            if is_number(value):
                check_range(name, torch.tensor(float(value), dtype=torch.float64))

    def _check_schedules(self, name, entries):
        for first in range(1, self.steps + 1, CHUNK):
            last = min(first + CHUNK - 1, self.steps)
            check_range(name, self._table(entries, first, last), self.dtype if name in self.axes else torch.float64)

    def _table(self, entries, first, last) -> torch.Tensor:
        rows = [evaluate(e if callable(e) else (lambda t, e=e: float(e)), first, last) for e in entries]
        return torch.stack(rows, dim=-1)

    def _along(self, name, values):
        """Shape ``values`` (..., n) so that its last axis lies along the axis of ``name``, with one axis for seeds."""
        position = list(self.axes).index(name)
        shape = [1] * len(self.axes)
        shape[position] = values.shape[-1]
        return values.reshape(*values.shape[:-1], *shape, 1)

    def prepare(self, first: int, last: int) -> None:
        """Evaluate the schedules at the steps first..last; ``at`` then answers for these."""
        self._first = first
        for name, entries in self.scheduled.items():
            table = self._table(entries, first, last)
            self._tables[name] = self._along(name, table).to(self.dtype) if name in self.axes else table[:, 0].tolist()

    def at(self, t: int, event_ndim: int = 0) -> dict:
        """All values at step t: floats, options, and tensors of shape (\\*axes, 1, \\*[1] * event_ndim)."""
        if event_ndim not in self._shaped:
            self._shaped[event_ndim] = {name: self._widen(v, event_ndim) for name, v in self.constant.items()}
        values = dict(self._shaped[event_ndim])
        for name, table in self._tables.items():
            values[name] = self._widen(table[t - self._first], event_ndim)
        return values

    def _widen(self, value, event_ndim):
        if not torch.is_tensor(value):
            return value
        return value.to(self.dtype).reshape(value.shape + (1,) * event_ndim)

    def coordinates(self) -> dict:
        """Axis name -> coordinate values: numbers, or the schedules' texts where an axis holds schedules."""
        return {
            name: [str(e) for e in entries] if name in self.scheduled else np.asarray(entries, dtype=np.float64)
            for name, entries in self.axes.items()
        }
