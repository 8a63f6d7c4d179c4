"""Learning rates chosen on some seeds and reported on others, at equal gradient evaluations.

Seeds of 100 and more are tuning seeds, those below are reporting seeds: the choice never sees the numbers it is judged by.
Losses are compared as logarithms, so that one unlucky seed does not choose the learning rate.
"""

import numpy as np
import xarray as xr

from marslab.errors import UsageError

__all__ = ["FIRST_TUNING_SEED", "best", "final_loss", "on_edge", "reporting", "within"]

FIRST_TUNING_SEED = 100


def within(data: xr.Dataset, evaluations: int) -> xr.Dataset:
    """The records that cost at most this many gradient evaluations."""
    return data.isel(step=np.flatnonzero(data.evaluations.values <= evaluations))


def reporting(data: xr.Dataset) -> xr.Dataset:
    """The reporting seeds alone."""
    return data.sel(seed=data.seed < FIRST_TUNING_SEED)


def best(data: xr.Dataset, axis: str = "lr") -> float:
    """The axis value with the lowest mean log loss at the end over the tuning seeds (a diverged lane counts as +inf)."""
    tuning = data.loss.sel(seed=data.seed >= FIRST_TUNING_SEED).isel(step=-1).transpose(axis, "seed").values
    if not tuning.size:
        raise UsageError(f"no seed is a tuning seed: run some of {FIRST_TUNING_SEED} and more, besides those reported.")
    return float(data[axis].values[np.argmin(np.log(tuning).mean(axis=1))])


def on_edge(data: xr.Dataset, axis: str = "lr") -> bool:
    """Whether the best value is the smallest or largest of its grid: then the grid, not the method, was measured."""
    return best(data, axis) in (float(data[axis].values.min()), float(data[axis].values.max()))


def final_loss(data: xr.Dataset, axis: str = "lr") -> np.ndarray:
    """The last recorded loss of every reporting seed at the tuned value, shape (seeds,)."""
    return reporting(data).loss.sel({axis: best(data, axis)}).isel(step=-1).values
