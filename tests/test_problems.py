"""One contract over every registered problem: gradients, lanes, dtypes, and the same problem everywhere."""

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from problem_cases import ELEMENTWISE, at, gap, near_start, one_thread, over_all  # noqa: F401

from marslab import problems


@over_all
def test_gradient_is_the_derivative_of_value_by_autograd(problem):
    x = {name: tensor.requires_grad_() for name, tensor in near_start(problem, (3,)).items()}
    slopes = torch.autograd.grad(problem.value(x).sum(), list(x.values()))
    closed = {name: tensor.detach() for name, tensor in problem.gradient(x).items()}
    assert list(closed) == list(x) == list(problem.shapes)
    assert gap(dict(zip(x, slopes, strict=True)), closed) < 1e-11 * max(1, *(float(s.abs().max()) for s in slopes))


@over_all
def test_gradient_matches_central_differences(problem):
    x, step, directions = near_start(problem), 1e-5, near_start(problem, (30,), seed=1)
    moved = [problem.value({n: x[n] + sign * step * directions[n] for n in x}) for sign in (1, -1)]
    slope = problem.gradient(x)
    predicted = sum((slope[n] * directions[n]).flatten(1).sum(1) for n in x)
    torch.testing.assert_close((moved[0] - moved[1]) / (2 * step), predicted, rtol=1e-6, atol=1e-7)


@over_all
def test_lanes_equal_a_loop_over_lanes(problem):
    x = near_start(problem, (2, 3))
    together, values = problem.gradient(x), problem.value(x)
    assert values.shape == (2, 3)
    for lane in [(0, 0), (0, 2), (1, 1)]:
        alone = problem.gradient(at(x, lane))
        size = max(1, *(float(tensor.abs().max()) for tensor in alone.values()))
        assert gap(at(together, lane), alone) <= (0 if problem in ELEMENTWISE else 1e-12 * size)
        torch.testing.assert_close(values[lane], problem.value(at(x, lane)), rtol=1e-12, atol=1e-12)


@over_all
def test_lanes_equal_vmap(problem):
    x = near_start(problem, (3,))
    assert gap(torch.func.vmap(problem.gradient)(x), problem.gradient(x)) < 1e-10


@over_all
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_first_use_inside_a_transform_leaves_nothing_behind(problem, dtype):
    x, fresh = near_start(problem, dtype=dtype), dataclasses.replace(problem)
    inside = torch.func.grad(fresh.value)(x)
    limit = 1e-10 if dtype == torch.float64 else 1e-3
    size = max(1, *(float(tensor.abs().max()) for tensor in inside.values()))
    assert gap(fresh.gradient(x), inside) < limit * size
    assert gap(problem.gradient(x), fresh.gradient(x)) == 0


@over_all
def test_value_and_gradient_are_the_two(problem):
    x = near_start(problem, (2,))
    value, slope = problem.value_and_gradient(x)
    torch.testing.assert_close(value, problem.value(x), rtol=1e-13, atol=0)
    assert gap(slope, problem.gradient(x)) == 0


@over_all
def test_float32_in_float32_out(problem):
    x = near_start(problem, (2,))
    single = {name: tensor.float() for name, tensor in x.items()}
    outputs = {**problem.gradient(single), "value": problem.value(single)}
    exact = {**problem.gradient(x), "value": problem.value(x)}
    for key, tensor in outputs.items():
        assert tensor.dtype == torch.float32
        assert (tensor - exact[key]).abs().max() < 1e-4 * max(1, exact[key].abs().max())


@over_all
def test_shapes_start_and_eigenbasis(problem):
    start = problem.start()
    assert {name: tuple(tensor.shape) for name, tensor in start.items()} == dict(problem.shapes)
    assert all(tensor.dtype == torch.float64 for tensor in start.values())
    assert problem.size == sum(tensor.numel() for tensor in start.values())
    x = near_start(problem, (2, 3))
    turned = problem.to_eigenbasis(x)
    assert gap(problem.from_eigenbasis(turned), x) < 1e-13
    torch.testing.assert_close(problem.squared_norm(turned), problem.squared_norm(x))


@over_all
def test_configuration_is_frozen_hashable_and_all_there_is(problem):
    field = dataclasses.fields(problem)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(problem, field, 1)
    again = dataclasses.replace(problem)
    assert again == problem and hash(again) == hash(problem) and len({again, problem}) == 1
    problem.gradient(near_start(problem, dtype=torch.float32))  # fills the caches, which must not travel
    packed = pickle.dumps(problem)
    assert len(packed) < 2000 and pickle.loads(packed) == problem
    assert dataclasses.replace(problem, **{field: getattr(problem, field)}).digest() == problem.digest()


@over_all
def test_start_is_a_fresh_copy(problem):
    first = problem.start()
    for tensor in first.values():
        tensor.add_(1)
    assert gap(first, problem.start()) == 1


def test_the_same_problem_in_two_builds_and_two_processes():
    code = "from marslab import problems\nfor build in problems.PROBLEMS.values(): print(build().digest())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert other == [build().digest() for build in problems.PROBLEMS.values()]
    assert len(set(other)) == len(problems.PROBLEMS)


def test_digest_sees_the_seed():
    digests = {problems.two_layer(seed=seed).digest() for seed in range(3)}
    digests |= {problems.quadratic(spectrum=(1, 2), rotation_seed=seed).digest() for seed in (None, 0, 1)}
    assert len(digests) == 6


def test_building_leaves_global_generators_alone():
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    for build in problems.PROBLEMS.values():
        dataclasses.replace(build()).digest()
    assert torch.equal(torch_state, torch.get_rng_state())
    assert (numpy_state == np.random.get_state()[1]).all()  # noqa: NPY002


def test_problems_are_called_by_their_file_name_and_listed():
    assert problems.quadratic(spectrum=(1, 2)).name == "quadratic"
    assert set(problems.PROBLEMS) <= set(dir(problems)) and set(problems.PROBLEMS) <= set(problems.__all__)
    assert all(build().name == name for name, build in problems.PROBLEMS.items())
    assert list(problems.PROBLEMS) == sorted(problems.PROBLEMS)
