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
    params = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in params.items()}
    optimizer, points = released(list(params.values()), **arguments), {name: [] for name in params}
    for t in range(len(next(iter(grads.values())))):
        for group in optimizer.param_groups:
            group["lr"] = schedule[t] if schedule is not None else group["lr"]
        for name, p in params.items():
            p.grad = torch.tensor(grads[name][t])
        if arguments["is_approx"]:
            optimizer.step()
        else:
            optimizer.step(prev_grads=[torch.tensor(prevs[name][t]) if t else None for name in params])
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


def matrix_step(m, beta1, eps):
    """The released Newton-Schulz, in its order."""
    a, b, c = 3.4445, -4.7750, 2.0315
    m = m.mul(1.0 / (1.0 - beta1))
    x = m.bfloat16() / (m.norm() + eps)
    x = x.T if m.size(0) > m.size(1) else x
    for _ in range(5):
        gram = x @ x.T
        moved = gram @ x
        x = a * x + b * moved + c * gram @ moved
    x = x.T if m.size(0) > m.size(1) else x
    return x.to(m.dtype) * max(1, m.size(0) / m.size(1)) ** 0.5


def public_code(p, grads, prevs, schedule, a):
    """The per-tensor algorithm of the released optimizer, step by step on one tensor."""
    is_mars = p.ndim == 2 or a["optimize_1d"]
    (b1, b2), decay = (a["betas"], a["weight_decay"]) if is_mars else (a["betas_1d"], a["weight_decay_1d"])
    ratio = 1.0 if is_mars else a["lr_1d"] / a["lr"]
    m, v, top, last = (torch.zeros_like(p) for _ in range(4))
    points = []
    for t, (g, lr) in enumerate(zip(grads, schedule, strict=True), start=1):
        c = g
        if is_mars:
            prev = last if a["is_approx"] else (prevs[t - 1] if t > 1 else torch.zeros_like(g))
            c = g + a["gamma"] * (b1 / (1 - b1)) * (g - prev)
            c = c / c.norm() if c.norm() > 1 else c
        m, v = m * b1 + (1 - b1) * c, v * b2 + (1 - b2) * c * c
        top = torch.maximum(top, v)
        root = (top if a["amsgrad"] else v).sqrt() / (1 - b2**t) ** 0.5 + a["eps"]
        update = m / (root * (1 - b1**t))
        if is_mars and a["mars_type"] == "mars-lion":
            update = m.sign()
        if is_mars and a["mars_type"] == "mars-shampoo" and p.ndim == 2:
            update = matrix_step(m, b1, a["eps"])
        p, last = p - lr * ratio * (update + decay * p), g
        points.append(p.numpy())
    return np.stack(points)


arguments = st.fixed_dictionaries(
    {
        "mars_type": st.sampled_from(["mars-adamw", "mars-lion", "mars-shampoo"]),
        "is_approx": st.booleans(),
        "optimize_1d": st.booleans(),
        "amsgrad": st.booleans(),
        "lr": st.sampled_from([3e-3, 0.1]),
        "lr_1d": st.sampled_from([1e-3, 0.2]),
        "betas": st.tuples(st.sampled_from([0.0, 0.9, 0.95]), st.sampled_from([0.5, 0.99])),
        "betas_1d": st.tuples(st.sampled_from([0.0, 0.9]), st.sampled_from([0.5, 0.95])),
        "gamma": st.sampled_from([0.0, 0.025, 0.7, 1.0]),
        "eps": st.sampled_from([1e-8, 1e-3]),
        "weight_decay": st.sampled_from([0.0, 0.3]),
        "weight_decay_1d": st.sampled_from([0.0, 0.1]),
    }
)


@settings(max_examples=60)
@given(arguments, st.booleans(), st.sampled_from([0.01, 1.0, 30.0]), st.integers(0, 99))
def test_released_is_the_public_code(arguments, scheduled, scale, seed):
    generator, steps = torch.Generator().manual_seed(seed), 6
    shapes = [(3, 1), (1, 3), (4, 6), (6, 4), (5,), (), (2, 3, 2, 2), (2, 2, 3)]
    draw = lambda *shape: scale * torch.randn(shape, generator=generator, dtype=torch.float64)
    params = {str(shape): draw(*shape) / scale for shape in shapes}
    grads, prevs = ({str(shape): draw(steps, *shape) for shape in shapes} for _ in range(2))
    rates = [arguments["lr"] * (0.5 + 0.1 * t if scheduled else 1) for t in range(steps)]
    arrays = [{name: value.numpy() for name, value in some.items()} for some in (params, grads, prevs)]
    found = driven(*arrays, rates if scheduled else None, **arguments)
    for name, p in params.items():
        wanted = public_code(p, grads[name], prevs[name], rates, arguments)
        np.testing.assert_allclose(found[name], wanted, rtol=1e-11, atol=1e-12, err_msg=name)


def test_a_zero_rate_at_construction():  # case M3
    matrix, vector = (torch.nn.Parameter(torch.ones(shape, dtype=torch.float64)) for shape in ((2, 2), (2,)))
    optimizer = released([matrix, vector], lr=0.0, lr_1d=0.0, weight_decay_1d=0.0)
    for lr in (0.0, 6e-3):
        for group in optimizer.param_groups:
            group["lr"] = lr
        matrix.grad, vector.grad = torch.ones_like(matrix), torch.ones_like(vector)
        optimizer.step()
    torch.testing.assert_close(vector.detach(), torch.full((2,), 1 - 6e-3, dtype=torch.float64), rtol=1e-6, atol=0)
    optimizer = released([matrix, vector], lr=4e-3, lr_1d=2e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: t / 10)
    assert [group["lr"] * group.get("lr_ratio", 1) for group in optimizer.param_groups] == [0, 0]
    optimizer.step()
    scheduler.step()
    assert [group["lr"] * group.get("lr_ratio", 1) for group in optimizer.param_groups] == [4e-4, 2e-4]


@pytest.mark.parametrize("is_approx", [True, False])
def test_a_module_with_embeddings_and_a_head(is_approx):
    """The public code knows no exceptions: a table is a matrix like any other."""
    model = torch.nn.ModuleDict({"wte": torch.nn.Embedding(4, 3), "lm_head": torch.nn.Linear(3, 4)})
    optimizer = released(model, mars_type="mars-shampoo", is_approx=is_approx)
    assert [group["rule"] for group in optimizer.param_groups] == ["mars_shampoo", "adamw"]
    assert optimizer.param_groups[0]["param_names"] == ["wte.weight", "lm_head.weight"]
    assert [tuple(p.shape) for p in optimizer.handed] == [(4, 3), (4, 3), (4,)]


def test_what_released_refuses():
    p = [torch.nn.Parameter(torch.ones(2, 2))]
    with pytest.raises(UsageError, match="mars_type = 'mars' is unknown"):
        released(p, mars_type="mars")
    with pytest.raises(UsageError, match="never reads 'gamma'"):
        released([{"params": p, "gamma": 1.0}])
    optimizer = released(p, is_approx=False)
    p[0].grad = torch.ones(2, 2)
    with pytest.raises(UsageError, match="prev_grads"):
        optimizer.step()
