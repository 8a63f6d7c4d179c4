"""What the claims on gamma's range share: the rival of gamma = 0.025, chosen on the tuning seeds."""

import math

import numpy as np

from marslab.claims._digits import note, ratio
from marslab.claims._races import effort
from marslab.claims.base import Finding
from marslab.tuning import best
from marslab.verdicts import Measurement

__all__ = ["GAMMAS", "PUBLISHED", "against_published"]

PUBLISHED = 0.025
GAMMAS = dict(kind="empirical", unit="log loss ratio", predict=lambda: 0.0, experiments=("race_gamma",))


def against_published(data, choose) -> Finding:
    """Log ratio of the tuned final losses, the gamma that ``choose`` (min or max) picks by the tuning seeds over 0.025.

    The rival is chosen by its mean log loss on the tuning seeds, at its own tuned rate, and judged on the reporting seeds.
    """
    runs = data["race_gamma"]["mars"]
    rivals = [g for g in runs.gamma.values.tolist() if g != PUBLISHED]
    rival = choose(rivals, key=lambda gamma: tuning_loss(runs.sel(gamma=gamma)))
    ours, other = runs.sel(gamma=rival), runs.sel(gamma=PUBLISHED)
    every = ", ".join(f"{gamma:g}: {math.exp(ratio(runs.sel(gamma=gamma), other).estimate):.3f}" for gamma in rivals)
    measured: Measurement = ratio(ours, other)
    text = f"{note(measured, {f'gamma {rival:g}': ours, 'gamma 0.025': other})}; ratios for every gamma: {every}"
    return Finding(measured, *effort(runs), text)


def tuning_loss(data) -> float:
    """The mean log loss of the tuning seeds at the tuned rate."""
    return float(np.log(data.loss.sel(lr=best(data)).isel(step=-1).sel(seed=data.seed >= 100)).mean())
