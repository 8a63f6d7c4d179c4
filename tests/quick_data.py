"""The data of the quick experiments for several test files: computed once, with the two longest cut short.

A test file with ``pytest_plugins = ("quick_data",)`` has the fixture ``quick``, which puts the data into the test's store.
"""

import atexit
import dataclasses
import functools
import os
import shutil
import tempfile

import pytest
import torch

from marslab import experiment
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
    before = os.environ.get("MARSLAB_STORE")
    os.environ["MARSLAB_STORE"] = store
    try:
        for name in experiment.names():
            load(name).compute()
    finally:
        os.environ.pop("MARSLAB_STORE") if before is None else os.environ.update(MARSLAB_STORE=before)
    return store


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
    shutil.copytree(computed(), store)
    monkeypatch.setenv("MARSLAB_STORE", str(store))
    monkeypatch.setattr(experiment, "load", load)
    return store
