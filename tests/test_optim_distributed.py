"""Two processes under DDP and FSDP2 walk the path of one process on whole batches; one torchrun serves all cases."""

import os
import subprocess
import sys
from pathlib import Path

import distributed_cases
import pytest
import torch


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """{(case, wrapper): weights after each step} of both ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    script = Path(distributed_cases.__file__)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script), str(folder)]
    path = os.pathsep.join([str(script.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in (0, 1)]


@pytest.mark.parametrize("wrapper", ["ddp", "fsdp2"])
@pytest.mark.parametrize("name", distributed_cases.CASES)
def test_the_trajectory_of_one_process(found, name, wrapper):
    model = distributed_cases.network(name)
    alone = distributed_cases.train(model, distributed_cases.CASES[name](list(model.parameters())))
    for rank in found:
        torch.testing.assert_close(rank[name, wrapper], alone, rtol=0, atol=1e-10)
    torch.testing.assert_close(found[0][name, wrapper], found[1][name, wrapper], rtol=0, atol=0)


@pytest.mark.parametrize("name", distributed_cases.CASES)
def test_sharded_state_goes_through_a_state_dict(found, name):
    assert found[0][name, "resumed"] and found[1][name, "resumed"]
