"""The data of the quick experiments for several test files: computed once, with the two longest cut short.

A test file with ``pytest_plugins = ("quick_data",)`` has the fixture ``quick``, which puts the data into the test's store.
"""

import atexit
import contextlib
import dataclasses
import functools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import torch

from marslab import claims, experiment
from marslab.experiment import Experiment

CUT = {
    "digits": dict(steps=60, record=[1, 3, 10, 30, 60], seeds=[0, 1, 2, 3, 100, 101]),
    "gamma": dict(steps=2_000, record=[1_000, 2_000]),
}
real = experiment.load


def load(name: str) -> Experiment:
    """The declared experiment; digits (half a minute) and gamma with fewer steps, all else as declared."""
    declared = real(name)
    if name not in CUT:
        return declared
    runs = {n: dataclasses.replace(run, options={**run.options, **CUT[name]}) for n, run in declared.runs.items()}
    return dataclasses.replace(declared, runs=runs)


@functools.cache
def computed() -> str:
    """A store with the data of every experiment; about six seconds on one thread, once in a session."""
    store = tempfile.mkdtemp(prefix="marslab-quick-")
    atexit.register(shutil.rmtree, store, ignore_errors=True)
    with standing(store):
        for name in experiment.names():
            load(name).compute()
    return store


@contextlib.contextmanager
def standing(store: str):
    """The given store, and the cut experiments, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MARSLAB_STORE", store)
        patch.setattr(experiment, "load", load)
        yield


@pytest.fixture
def measured(one_thread):
    """name -> (row, verdict alone) of a claim on the quick data, measured once in a session."""

    def found(name):
        with standing(computed()):
            return claims.CLAIMS[name].check()

    return found


@pytest.fixture
def remember():
    """claim -> let ``measured`` find the row that a test has measured in its own store."""

    def keep(claim):
        for path in Path(os.environ["MARSLAB_STORE"]).glob(f"{claim.entry('quick')}-*"):
            shutil.copy(path, computed())

    return keep


@pytest.fixture(scope="module")
def one_thread():
    """Small tensors gain nothing from a second thread, and lose much on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def quick(monkeypatch, tmp_path, one_thread):
    """Make the data of the quick experiments stand in the test's store (a copy of it); returns the store's folder."""
    store = tmp_path / "store"
    shutil.copytree(computed(), store, ignore=shutil.ignore_patterns("claim-*"))
    monkeypatch.setenv("MARSLAB_STORE", str(store))
    monkeypatch.setattr(experiment, "load", load)
    return store
