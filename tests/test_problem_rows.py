"""Finite sums: rows against lanes, variances, and the real data behind them."""

import numpy as np
import pytest
import torch
from problem_cases import at, gap, near_start, one_thread, over_sums  # noqa: F401

from marslab import problems


@over_sums
def test_all_rows_make_the_full_data(problem):
    x = near_start(problem, (2, 3))
    rows = torch.arange(problem.examples)
    assert gap(problem.gradient(x, rows), problem.gradient(x)) < 1e-14
    each = torch.stack([rows, rows.flip(0), rows.roll(5)])
    assert gap(problem.gradient(x, each), problem.gradient(x)) < 1e-12
    torch.testing.assert_close(problem.value(x, each), problem.value(x), rtol=1e-12, atol=0)


@over_sums
@pytest.mark.parametrize("row_lanes", [(), (4,), (3, 1), (3, 4), (2, 1, 1), (2, 3, 4), (2, 1, 4)], ids=str)
def test_row_lanes_broadcast_against_lanes(problem, row_lanes):
    x = near_start(problem, (2, 3, 4))
    rows = torch.randint(problem.examples, (*row_lanes, 5), generator=torch.Generator().manual_seed(2))
    spread, together = rows.expand(2, 3, 4, 5), problem.gradient(x, rows)
    for lane in [(0, 0, 0), (1, 0, 3), (0, 2, 1), (1, 2, 3)]:
        assert gap(at(together, lane), problem.gradient(at(x, lane), spread[lane])) < 1e-12
        alone = problem.value(at(x, lane), spread[lane])
        torch.testing.assert_close(problem.value(x, rows)[lane], alone, rtol=1e-12, atol=0)
    assert {n: tuple(t.shape) for n, t in together.items()} == {n: tuple(t.shape) for n, t in x.items()}


@over_sums
def test_one_point_serves_many_row_sets(problem):
    x, rows = near_start(problem), torch.arange(12).reshape(4, 3)
    together = problem.gradient(x, rows)
    for lane in range(4):
        assert gap(at(together, lane), problem.gradient(x, rows[lane])) < 1e-13


@over_sums
def test_a_repeated_row_counts_twice(problem):
    x = near_start(problem)
    twice = problem.gradient(x, torch.tensor([7, 7, 3]))
    apart = [problem.gradient(x, torch.tensor([row])) for row in (7, 3)]
    assert gap(twice, {name: (2 * apart[0][name] + apart[1][name]) / 3 for name in x}) < 1e-14


@over_sums
def test_gradient_variance_by_direct_enumeration(problem):
    x = near_start(problem, (2,))
    mean = problem.gradient(x)
    total = torch.zeros(2, dtype=torch.float64)
    for row in range(problem.examples):
        each = problem.gradient(x, torch.tensor([row]))
        total += problem.squared_norm({name: each[name] - mean[name] for name in x})
    torch.testing.assert_close(problem.gradient_variance(x), total / problem.examples, rtol=1e-10, atol=0)
    torch.testing.assert_close(problem.gradient_variance(x, batch=8, chunk=100), total / problem.examples / 8)


def test_minibatches_scatter_with_the_stated_variance():
    problem, draws = problems.sigmoid_classification(), 20_000
    x = near_start(problem)
    rows = torch.randint(problem.examples, (draws, 4), generator=torch.Generator().manual_seed(0))
    seen, mean = problem.gradient(x, rows), problem.gradient(x)
    squares = problem.squared_norm({"x": seen["x"] - mean["x"]})
    standard_error = float(squares.std()) / draws**0.5
    assert abs(float(squares.mean() - problem.gradient_variance(x, batch=4))) < 4 * standard_error


def test_sigmoid_loss_is_the_formula_and_keeps_its_tails():
    problem, x = problems.sigmoid_classification(data="digits"), near_start(problems.sigmoid_classification("digits"))
    literal = (1 / (1 + (problem.signed @ x["x"]).exp())).mean()
    torch.testing.assert_close(problem.value(x), literal, rtol=1e-13, atol=0)
    signed = problem.signed[0]
    far = {"x": 40 * signed / signed.dot(signed)}  # margin 40: the slope is -exp(-40) to 17 digits
    torch.testing.assert_close(problem.gradient(far, torch.tensor([0]))["x"], -np.exp(-40) * signed, rtol=1e-12, atol=0)
    huge = {"x": 1e6 * x["x"]}
    assert 0 <= problem.value(huge) <= 1 and torch.isfinite(problem.gradient(huge)["x"]).all()


def test_sigmoid_labels():
    for data, positive in [("digits", "five or more"), ("breast_cancer", "benign")]:
        from sklearn import datasets

        target = getattr(datasets, f"load_{data}")().target
        expected = np.where(target >= 5 if positive == "five or more" else target == 1, 1.0, -1.0)
        assert (problems.sigmoid_classification(data).signed[:, -1].numpy() == expected).all()


def test_two_layer_is_a_torch_network():
    problem = problems.two_layer()
    x, targets = near_start(problem), problem.targets.argmax(1)
    first, second = torch.nn.Linear(61, 16).double(), torch.nn.Linear(16, 10).double()
    for layer, (weight, bias) in zip((first, second), (("W1", "b1"), ("W2", "b2")), strict=True):
        layer.load_state_dict({"weight": x[weight], "bias": x[bias]})
    loss = torch.nn.functional.cross_entropy(second(first(problem.features).tanh()), targets)
    loss.backward()
    torch.testing.assert_close(problem.value(x), loss.detach(), rtol=1e-13, atol=0)
    slopes = dict(W1=first.weight.grad, b1=first.bias.grad, W2=second.weight.grad, b2=second.bias.grad)
    assert gap(problem.gradient(x), slopes) < 1e-14
    huge = {name: 1e4 * tensor for name, tensor in x.items()}
    assert torch.isfinite(problem.value(huge)) and all(t.isfinite().all() for t in problem.gradient(huge).values())


def test_real_data_is_standardised_without_constant_columns():
    for data, shape in [("digits", (1797, 61)), ("breast_cancer", (569, 30))]:
        features = problems.two_layer(data=data).features
        assert features.shape == shape
        torch.testing.assert_close(features.mean(0), torch.zeros(shape[1], dtype=torch.float64), rtol=0, atol=1e-12)
        torch.testing.assert_close(features.square().mean(0), torch.ones(shape[1], dtype=torch.float64))
