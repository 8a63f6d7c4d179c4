"""`released` against the golden trajectories of the public code, and against that code's algorithm written out in numpy."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from marslab.errors import UsageError
from marslab.optim import released

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.npz"))
NOT_ARGUMENTS = ("steps", "lr_schedule", "dtype")


def driven(params, grads, prevs, schedule, **arguments):
    """The points after each step, {name: (T, ...)}, when the released loop feeds the optimizer: one lr for all groups."""
    params = {name: torch.nn.Parameter(torch.from_numpy(value.copy())) for name, value in params.items()}
    optimizer, points = released(list(params.values()), **arguments), {name: [] for name in params}
    for t in range(len(next(iter(grads.values())))):
        for group in optimizer.param_groups:
            group["lr"] = schedule[t] if schedule is not None else group["lr"]
        for name, p in params.items():
            p.grad = torch.from_numpy(grads[name][t].copy())
        if arguments["is_approx"]:
            optimizer.step()
        else:
            optimizer.step(prev_grads=[torch.from_numpy(prevs[name][t].copy()) if t else None for name in params])
        for name, p in params.items():
            points[name].append(p.detach().numpy().copy())
    return {name: np.stack(path) for name, path in points.items()}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_trajectories(path):
    with np.load(path) as data:
        arrays = dict(data)
    meta = json.loads(str(arrays.pop("meta")))
    names = list(dict.fromkeys(name.split("/")[0] for name in arrays))
    pick = lambda kind: {name: arrays.get(f"{name}/{kind}") for name in names}
    arguments = {name: value for name, value in meta.items() if name not in NOT_ARGUMENTS}
    found = driven(pick("init"), pick("grad"), pick("prev_grad"), meta["lr_schedule"], **arguments)
    # products of bfloat16 matrices differ between kinds of processors
    atol = 1e-12 if "shampoo" not in path.stem else 0.05 * meta["lr"] * np.arange(1, meta["steps"] + 1)
    for name, wanted in pick("param").items():
        gaps = np.abs(found[name] - wanted).reshape(meta["steps"], -1).max(axis=1)
        assert (gaps <= atol).all(), (name, gaps)
