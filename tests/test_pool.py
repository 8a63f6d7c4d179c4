"""Processes after torch's own threads: no deadlock, and the numbers of one process."""

import os
import subprocess
import sys

import pytest

from marslab import paths

PROGRAM = """
import torch
torch.randn(1500, 1500) @ torch.randn(1500, 1500)  # wakes torch's threads in this process, as a notebook does
from marslab import results, work
tasks = [("claim", name, "quick") for name in ("noiseless_coincidence", "stated_schedule")]
seen = []
problems = work.perform(tasks, 2, lambda name, problem: seen.append(name))
assert not problems, problems
assert sorted(seen) == ["noiseless_coincidence", "stated_schedule"]
from marslab import ledger
for name, claim in ledger.chosen(["noiseless_coincidence", "stated_schedule"]).items():
    row = claim.find("quick")
    again = claim.measure({}, **claim.configured("quick"))
    assert row.measured == again.measurement.estimate, name
print("done")
"""


def start_pool(store):
    """Run the program in a fresh process with its own store; a hang is ended after two minutes."""
    environment = {**os.environ, "MARSLAB_STORE": str(store)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, env=environment, cwd=paths.ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "done"


def test_a_pool_after_torch_threads_gives_the_numbers_of_one_process(tmp_path):
    start_pool(tmp_path)


@pytest.mark.slow
def test_twenty_pools_after_torch_threads(tmp_path):
    for run in range(20):
        start_pool(tmp_path / str(run))
