"""Learning rates are chosen on tuning seeds, reported on others, at equal gradient evaluations."""

import numpy as np
import pytest
import xarray as xr

from marslab import experiment, tuning
from marslab.errors import UsageError
from marslab.experiment import MODES

RATES = [0.1, 0.2, 0.4]
SEEDS = [0, 1, 2, 100, 101]


def sweep(loss=None, order=("lr", "seed", "step")):
    """A sweep over three rates, five seeds and four recorded steps, two gradients a step; ``loss`` is that at the end."""
    values = np.full((3, 5, 4), 9.0)
    values[:, :, -1] = 1.0 if loss is None else loss
    data = xr.Dataset(
        {"loss": (("lr", "seed", "step"), values), "evaluations": ("step", [1, 3, 5, 7])},
        coords={"lr": RATES, "seed": SEEDS, "step": [1, 2, 3, 4]},
    )
    return data.transpose(*order)


def losses(tuned, reported=(1.0, 1.0, 1.0)):
    """Final losses: ``tuned`` by rate on the tuning seeds, ``reported`` by rate on the others."""
    return np.column_stack([np.tile(np.asarray(reported)[:, None], 3), np.tile(np.asarray(tuned)[:, None], 2)])


@pytest.mark.parametrize("order", [("lr", "seed", "step"), ("step", "seed", "lr"), ("seed", "step", "lr")])
def test_the_rate_is_the_best_on_the_tuning_seeds_whatever_the_reporting_seeds_say(order):
    for reported in ((1, 1, 1), (1e-9, 1, 1), (1, 1, 1e-9), (np.inf, np.inf, 1e-9)):
        data = sweep(losses((3.0, 1.0, 2.0), reported), order)
        assert tuning.best(data) == 0.2
        np.testing.assert_array_equal(tuning.final_loss(data), [reported[1]] * 3)


def test_the_reported_loss_is_that_of_the_reporting_seeds_alone():
    loss = losses((3.0, 2.0, 1.0))
    loss[2, :3] = 5.0, 6.0, 7.0
    for tuned in (1.0, 1e-6):
        loss[2, 3:] = tuned
        np.testing.assert_array_equal(tuning.final_loss(sweep(loss)), [5.0, 6.0, 7.0])
    assert tuning.reporting(sweep()).seed.values.tolist() == [0, 1, 2]


def test_losses_are_compared_as_logarithms():
    loss = losses((1.0, 1.0, 1.0))
    loss[0, 3:] = 1e-6, 3.0  # larger mean, smaller geometric mean
    assert tuning.best(sweep(loss)) == 0.1


def test_a_rate_with_a_diverged_tuning_seed_is_not_chosen():
    loss = losses((1e-9, 3.0, 2.0))
    loss[0, 3] = np.inf
    assert tuning.best(sweep(loss)) == 0.4
    loss[1:, 3:] = np.inf  # then nothing is better than anything else, and the edge says so
    assert tuning.best(sweep(loss)) in RATES and tuning.on_edge(sweep(loss))


def test_a_diverged_reporting_seed_is_reported_as_such():
    loss = losses((3.0, 1.0, 2.0))
    loss[1, 1] = np.inf
    np.testing.assert_array_equal(tuning.final_loss(sweep(loss)), [1.0, np.inf, 1.0])


@pytest.mark.parametrize("tuned, edge", [((1, 2, 3), True), ((2, 1, 3), False), ((3, 2, 1), True)])
def test_an_optimum_on_the_edge_of_the_grid_is_told(tuned, edge):
    data = sweep(losses(tuned))
    assert tuning.on_edge(data) is edge
    assert tuning.on_edge(data.isel(lr=[2, 0, 1])) is edge  # whatever the order of the grid


def test_what_costs_more_evaluations_is_left_out():
    assert tuning.within(sweep(), 7).sizes["step"] == 4
    assert tuning.within(sweep(), 6).step.values.tolist() == [1, 2, 3]
    assert tuning.within(sweep(), 0).sizes["step"] == 0
    early = sweep(losses((3.0, 1.0, 2.0)))
    early.loss[:, :, 1] = losses((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    assert tuning.best(tuning.within(early, 4)) == 0.1 and tuning.best(early) == 0.2
    np.testing.assert_array_equal(tuning.final_loss(tuning.within(early, 4)), [4.0] * 3)


def test_without_tuning_seeds_nothing_is_chosen():
    with pytest.raises(UsageError, match="no seed is a tuning seed: run some of 100 and more"):
        tuning.best(tuning.reporting(sweep()))


@pytest.mark.parametrize("mode", MODES)
def test_the_digits_methods_have_equal_budgets_and_their_seeds_never_meet(mode):
    options = {name: run.resolve(mode) for name, run in experiment.load("digits").runs.items()}
    for each in options.values():
        seeds = each["seeds"]
        assert len(set(seeds)) == len(seeds)
        reported = [seed for seed in seeds if seed < tuning.FIRST_TUNING_SEED]
        assert len(reported) >= 16 and len(seeds) - len(reported) >= 8
        same = {name: each[name] for name in ("lr", "seeds", "steps", "record", "weight_decay")}
        assert same == {name: options["adamw"][name] for name in same}
        assert each["problem"] == options["adamw"]["problem"] and each["noise"] == options["adamw"]["noise"]
