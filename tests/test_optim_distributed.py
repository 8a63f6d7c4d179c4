"""Two processes under DDP and FSDP2 walk the path of one process on whole batches; one torchrun serves all cases."""

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import distributed_cases
import pytest
import torch

from marslab.optim.divided import assignment


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


def test_each_matrix_is_computed_by_one_process(found):
    matrices = (1 + 7 + 8 + 19) + 3 * 3  # Muon's networks, and three networks of three layers
    times = 2 * distributed_cases.STEPS + 2  # under DDP and FSDP2, and a step from each of two states
    shares = [rank["computed"] for rank in found]
    assert sum(shares) == matrices * times
    assert min(shares) >= times * (0 + 3 + 4 + 9)


@pytest.mark.parametrize("count", [1, 7, 8, 19])
def test_alike_matrices_are_spread_evenly_over_eight_ranks(count):  # case O17
    owners = assignment([768**3] * count, 8)
    shares = [owners.count(rank) for rank in range(8)]
    assert len(owners) == count and max(shares) - min(shares) <= 1
    assert owners == [place % 8 for place in range(count)]


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_busiest_rank_has_at_most_four_thirds_of_the_least_possible(ranks):
    chosen = random.Random(ranks)
    for _ in range(40):
        costs = [chosen.randint(1, 30) for _ in range(chosen.randint(0, 7))]

        def busiest(owners, costs=costs):
            return max(sum(c for c, o in zip(costs, owners, strict=True) if o == rank) for rank in range(ranks))

        best = min(busiest(owners) for owners in itertools.product(range(ranks), repeat=len(costs)))
        assert busiest(assignment(costs, ranks)) <= (4 / 3 - 1 / (3 * ranks)) * best
