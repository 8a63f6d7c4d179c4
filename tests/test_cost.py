"""The cost of a full run, said beforehand: from quick seconds and the ratio of the budgets."""

import dataclasses

import pytest
import xarray as xr

from marslab import claims, cost, experiment, ledger
from marslab.claims.base import Claim, Finding
from marslab.errors import StoreError
from marslab.experiment import Budget, Experiment, simulate
from marslab.verdicts import Measurement


def test_the_growth_is_the_product_of_the_budgets():
    assert cost.growth({}) == 1
    options = {"steps": Budget(100, 1000), "seeds": Budget([1, 2], [1, 2, 3, 4]), "record": Budget([1], [1, 2, 3]), "lr": 0.1}
    assert cost.growth(options) == 20
    assert cost.growth({"noise": Budget(None, "loud"), "exact": Budget(False, True)}) == 1


def test_claims_and_experiments_of_known_seconds_add_up(monkeypatch):
    settings = {"steps": Budget(10, 600), "seeds": Budget(2, 4)}
    measure = lambda data, **_: Finding(Measurement(0.0, kind="exact"))
    one = Claim("one", "S.", "here", "exact", "u", lambda: 0.0, measure, settings=settings)
    two = dataclasses.replace(one, name="two")
    monkeypatch.setattr(claims, "CLAIMS", {"one": one, "two": two})
    row = dataclasses.replace(one.row(), seconds=1.0)
    rows = {("one", "quick"): row, ("one", "full"): None, ("two", "quick"): None, ("two", "full"): None}
    monkeypatch.setattr(ledger, "stored", lambda claim, mode: (rows[claim.name, mode], ""))
    declared = Experiment("t", "q?", {"a": simulate("sgd", steps=Budget(10, 100))}, name="three")
    monkeypatch.setattr(experiment, "load", lambda name: declared)
    monkeypatch.setattr(Experiment, "find", lambda self, mode: ({"a": xr.Dataset(attrs={"seconds": 3.0})}, ""))
    tasks = [("claim", "one", "full"), ("claim", "two", "full"), ("experiment", "three", "full")]
    text = cost.estimate(tasks, 2)
    assert text.startswith("cost: 3 to do, about 2 min of processor time, 75 s on 2 processes")  # 120 s and 30 s
    assert "unknown, for want of a quick result: claim two" in text and "goes on where it was" in text
    rows["one", "full"] = dataclasses.replace(row, seconds=7200.0)
    assert "about 2 h of" in cost.estimate(tasks[:1], 1)


def test_an_experiment_without_a_quick_result_is_of_unknown_cost(monkeypatch):
    def missing(self, mode):
        raise StoreError("none")

    monkeypatch.setattr(Experiment, "find", missing)
    assert cost.of_experiment("rate_sgd") is None


@pytest.mark.parametrize(("seconds", "words"), [(3, "3 s"), (119, "119 s"), (180, "3 min"), (7199, "120 min"), (7200, "2 h")])
def test_seconds_are_spoken_in_the_unit_that_fits(seconds, words):
    assert cost.spoken(seconds) == words
