"""What the claims on the small races share: tuned final losses, paired over reporting seeds, at equal steps."""

import math

import numpy as np
import xarray as xr

from marslab.claims._digits import note, ratio
from marslab.claims.base import Finding
from marslab.tuning import best, reporting
from marslab.verdicts import Measurement

__all__ = ["MARGIN", "RACE", "crossing", "duel", "effort", "race", "times"]

MARGIN = math.log(1.05)  # a difference of 5 % in the training loss counts
RACE = dict(kind="empirical", unit="log loss ratio", predict=lambda: 0.0, experiments=("race_digits",))


def duel(runs, ours: str, other: str, more: str = "") -> Finding:
    """Mean log ratio of the tuned final losses, ours over the other's; ``more`` is appended to the note."""
    a, b = runs[ours], runs[other]
    measurement = ratio(a, b)
    return Finding(measurement, *effort(a), note(measurement, {ours: a, other: b}) + more)


def effort(data: xr.Dataset) -> tuple[int, int]:
    """Steps and gradient evaluations of a run: the exact form takes two from the second step on."""
    steps = int(data.step[-1])
    return steps, 2 * steps - 1 if data.attrs["mode"] == "exact" else steps


def race(data, ours: str, other: str, more: str = "") -> Finding:
    """A duel in the race on digits."""
    return duel(data["race_digits"], ours, other, more)


def times(data, ours: str, other: str) -> tuple[Measurement, str]:
    """Log of the steps that ours needs to the other's mean final log loss, over the steps that the other takes.

    Mean log losses over seeds are interpolated between records, linearly in the logarithm of the step; a curve that does
    not get there counts as getting there at its last step, so that the ratio is at most 1.
    """
    runs = data["race_digits"]
    steps = np.log(runs[ours].step.values)
    curves = np.stack([np.log(at_best(runs[name])) for name in (ours, other)], axis=1)
    measured = Measurement.resampled(lambda chosen: crossing(steps, chosen.mean(axis=-3)), curves, kind="empirical")
    low, high = (math.exp(end) for end in measured.error.interval(0.99))
    text = f"{math.exp(measured.estimate):.3f} [{low:.3f}, {high:.3f}] of the steps; "
    return measured, text + note(ratio(runs[ours], runs[other]), {name: runs[name] for name in (ours, other)})


def at_best(data: xr.Dataset) -> np.ndarray:
    """The losses of the reporting seeds at the tuned rate, shape (seeds, steps)."""
    return reporting(data).loss.sel(lr=best(data)).transpose("seed", "step").values


def crossing(steps, curves):
    """Where the first curve reaches the end of the second, minus the last step; curves (..., 2, steps), falling."""
    ours, target = curves[..., 0, :], curves[..., 1, -1:]
    reached = ours <= target
    index = np.where(reached.any(-1), reached.argmax(-1), len(steps) - 1).clip(min=1)
    before, after = (np.take_along_axis(ours, (index - k)[..., None], -1)[..., 0] for k in (1, 0))
    share = ((before - target[..., 0]) / (before - after)).clip(0, 1)
    return steps[index - 1] + share * (steps[index] - steps[index - 1]) - steps[-1]
