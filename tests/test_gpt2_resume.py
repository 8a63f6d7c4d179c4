"""Resume is exact: killed at random times and inside a checkpoint's write, a run ends as the undisturbed one, bit for bit."""

import multiprocessing
import os
import random
import signal
import time

import pytest
from gpt2_cases import child, digest, killed_settings, prepared

from marslab.gpt2 import checkpoint

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def processes():
    """New processes of a server that has imported everything and run nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["gpt2_cases"])
    return context


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def undisturbed(words, processes, tmp_path_factory):
    """What the run leaves when nobody kills it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert finished(processes, folder, words) == 0
    return digest(folder)


def finished(processes, folder, words, torn=0):
    """The exit status of a process that trains to the end."""
    process = processes.Process(target=child, args=(str(folder), str(words), torn))
    process.start()
    process.join(120)
    return process.exitcode


def killed(processes, folder, words, step, later):
    """Start, wait until the log reaches a step and so many seconds more, kill -9."""
    process = processes.Process(target=child, args=(str(folder), str(words)))
    process.start()
    while step_of(folder) < step and process.exitcode is None:
        time.sleep(0.001)
    time.sleep(later)
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def step_of(folder):
    """The last step that the log has."""
    path = folder / "log.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))])
def test_five_kills_and_a_torn_checkpoint_change_nothing(processes, words, undisturbed, tmp_path, seed):  # case O1
    moments = random.Random(seed)
    for step in sorted(moments.sample(range(12), 5)):
        killed(processes, tmp_path, words, step, moments.uniform(0, 0.03))
    kill = finished(processes, tmp_path, words, torn=1)
    assert kill == -signal.SIGKILL and list(tmp_path.glob(".*.tmp")), "it was to die inside a checkpoint's write"
    assert finished(processes, tmp_path, words) == 0
    assert digest(tmp_path) == undisturbed
    assert not list(tmp_path.glob(".*.tmp"))
    assert len(checkpoint.steps_in(tmp_path)) == checkpoint.KEPT


def test_the_run_that_is_killed_is_a_hard_one():
    s = killed_settings()
    assert s.exact and s.dropout and s.micro_batches == 3 and s.steps > 4 * s.checkpoint_every


def test_a_torn_line_of_the_log_is_cut_off(processes, words, undisturbed, tmp_path):
    finished(processes, tmp_path, words, torn=3)
    with open(tmp_path / "log.jsonl", "ab") as log:
        log.write(b'{"step": 10, "lo')
    assert finished(processes, tmp_path, words) == 0
    assert digest(tmp_path) == undisturbed
