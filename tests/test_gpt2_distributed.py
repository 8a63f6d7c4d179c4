"""Two processes under DDP and FSDP2 walk the path of one process; one torchrun serves all cases."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gpt2_cases
import pytest
import torch
from gpt2_cases import CASES, SPLIT, prepared, small

from marslab.gpt2 import checkpoint
from marslab.gpt2.log import read_log
from marslab.gpt2.loop import train

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def alone(words, tmp_path_factory):
    """The folder of the runs of one process, made as they are asked for."""
    folder = tmp_path_factory.mktemp("alone")

    def made(name):
        if not (folder / name).exists():
            train(small(**{**SPLIT, **CASES[name]}), folder / name, words, device="cpu")
        return folder / name

    return made


@pytest.fixture(scope="module")
def pair(words, alone, tmp_path_factory):
    """The folder of the runs of two processes; two of them go on where one process stopped."""
    folder, script = tmp_path_factory.mktemp("pair"), Path(gpt2_cases.__file__)
    for wrapper in ("ddp", "fsdp2"):
        shortened(alone("mars_shampoo_exact"), folder / f"resumed-{wrapper}")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    path = os.pathsep.join([str(script.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, str(script), str(folder), str(words)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def shortened(folder, copy):
    """A copy of a run whose last checkpoint is lost."""
    shutil.copytree(folder, copy)
    checkpoint.path_of(copy, 6).unlink()


@pytest.mark.parametrize("wrapper", ["ddp", "fsdp2"])
@pytest.mark.parametrize("name", CASES)
def test_the_path_of_one_process(pair, alone, name, wrapper):
    together, single = pair / f"{name}-{wrapper}", alone(name)
    for ours, theirs in zip(read_log(single / "log.jsonl"), read_log(together / "log.jsonl"), strict=True):
        for field in ("step", "tokens", "lr", "loss", "norm", "validation_loss"):
            assert theirs.get(field, 0) == pytest.approx(ours.get(field, 0), rel=1e-9), (ours["step"], field)
    ours, theirs = (checkpoint.newest(folder) for folder in (single, together))
    torch.testing.assert_close(theirs["model"], ours["model"], rtol=0, atol=1e-9)
    torch.testing.assert_close(theirs["optimizer"]["state"], ours["optimizer"]["state"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("wrapper", ["ddp", "fsdp2"])
def test_one_process_goes_on_where_two_stopped(pair, alone, words, tmp_path, wrapper):
    name = "mars_adamw_exact"
    shortened(pair / f"{name}-{wrapper}", tmp_path / "run")
    train(small(**{**SPLIT, **CASES[name]}), tmp_path / "run", words, device="cpu")
    ours, theirs = checkpoint.newest(alone(name)), checkpoint.newest(tmp_path / "run")
    assert theirs["step"] == 6
    torch.testing.assert_close(theirs["model"], ours["model"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("wrapper", ["ddp", "fsdp2"])
def test_two_processes_go_on_where_one_stopped(pair, alone, wrapper):
    resumed = checkpoint.newest(pair / f"resumed-{wrapper}")
    assert resumed["step"] == 6
    torch.testing.assert_close(resumed["model"], checkpoint.newest(alone("mars_shampoo_exact"))["model"], rtol=0, atol=1e-9)
