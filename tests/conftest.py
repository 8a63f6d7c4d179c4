"""What holds in every test: a store of its own, no leaking random state, no screen, two threads."""

import os
import tempfile

import pytest
import torch
from hypothesis import settings

os.environ["MPLBACKEND"] = "agg"
torch.set_num_threads(min(2, os.cpu_count() or 1))

# The examples are the same in each run and may take as long as they need: a red test is never a matter of luck.
settings.register_profile("marslab", deadline=None, derandomize=True, database=None)
settings.load_profile("marslab")


@pytest.fixture(autouse=True, scope="session")
def _session_store():
    """Fixtures of a wider scope than one test must not meet the user's store either."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MARSLAB_STORE", folder)
        yield


@pytest.fixture(autouse=True)
def _own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("MARSLAB_STORE", str(tmp_path / "store"))


@pytest.fixture(autouse=True)
def _forked_rng():
    with torch.random.fork_rng():
        yield
