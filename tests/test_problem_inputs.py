"""What a problem accepts, and the sentence for what it does not."""

import numpy as np
import pytest
import torch
from problem_cases import CASES, name

from marslab import problems
from marslab.errors import UsageError, closest


def test_a_sequence_of_any_kind_is_a_tuple_of_floats():
    wanted = problems.quadratic(spectrum=(1.0, 2.0))
    for given in ([1, 2], np.array([1, 2]), torch.tensor([1.0, 2.0]), (np.float64(1), 2)):
        assert problems.quadratic(spectrum=given) == wanted
    assert problems.quadratic(spectrum=3.0) == problems.quadratic(spectrum=(3,))
    assert problems.quadratic(spectrum=3, shape=(2, 2)).spectrum == (3.0,) * 4
    assert problems.bowl(heights=[1, 2]).dimension == 2


@pytest.mark.parametrize(
    ("build", "arguments", "words"),
    [
        ("quadratic", dict(spectrum=(1, -2)), ["spectrum", "-2", "at least 0"]),
        ("quadratic", dict(spectrum=(1, float("nan"))), ["spectrum", "nan"]),
        ("quadratic", dict(spectrum=(1, float("inf"))), ["spectrum", "inf"]),
        ("quadratic", dict(spectrum=()), ["spectrum", "empty"]),
        ("quadratic", dict(spectrum="steep"), ["spectrum", "steep"]),
        ("quadratic", dict(spectrum=None), ["spectrum", "None"]),
        ("quadratic", dict(spectrum=(1, 2, 3), shape=(2, 2)), ["length 3", "(2, 2)", "4"]),
        ("quadratic", dict(spectrum=(1, 2), shape=(2, 0)), ["shape", "0"]),
        ("quadratic", dict(shape=()), ["shape", "empty"]),
        ("quadratic", dict(rotation_seed=-1), ["rotation_seed", "-1"]),
        ("quadratic", dict(rotation_seed=0.5), ["rotation_seed", "0.5"]),
        ("quadratic", dict(start_scale=float("nan")), ["start_scale", "nan"]),
        ("bowl", dict(heights=(1, -1)), ["heights", "-1"]),
        ("bowl", dict(dimension=3, heights=(1, 1)), ["heights", "length 2", "3"]),
        ("bowl", dict(dimension=0), ["dimension", "0"]),
        ("bowl", dict(dimension=2.5), ["dimension", "2.5"]),
        ("rosenbrock", dict(dimension=1), ["dimension", "1", "at least 2"]),
        ("rosenbrock", dict(dimension=True), ["dimension", "True"]),
        ("matrix_factorization", dict(rank=0), ["rank", "0"]),
        ("matrix_factorization", dict(rank=7), ["rank", "7", "6"]),
        ("matrix_factorization", dict(target_rank=7), ["target_rank", "7", "6"]),
        ("matrix_factorization", dict(seed=-3), ["seed", "-3"]),
        ("matrix_factorization", dict(seed=None), ["seed", "None"]),
        ("sigmoid_classification", dict(data="brest_cancer"), ["brest_cancer", "did you mean 'breast_cancer'?"]),
        ("sigmoid_classification", dict(data=3), ["data set 3", "digits"]),
        ("two_layer", dict(data="digit"), ["did you mean 'digits'?"]),
        ("two_layer", dict(data=["digits"]), ["['digits']"]),
        ("two_layer", dict(data="mnist_full"), ["choose among breast_cancer, digits"]),
        ("two_layer", dict(hidden=0), ["hidden", "0"]),
    ],
    ids=str,
)
def test_bad_input_gets_one_sentence(build, arguments, words):
    with pytest.raises(UsageError) as caught:
        problems.PROBLEMS[build](**arguments)
    message = str(caught.value)
    assert all(word in message for word in words) and "\n" not in message


@pytest.mark.parametrize("problem", [case for case in CASES if not case.examples], ids=name)
def test_rows_are_refused_where_there_are_none(problem):
    x = problem.start()
    for call in (problem.value, problem.gradient):
        with pytest.raises(UsageError, match=f"{problem.name} is not a sum over rows"):
            call(x, torch.tensor([0]))
    with pytest.raises(UsageError, match="belongs to the noise law"):
        problem.gradient_variance(x)


def test_closest_names_the_near_one_or_lists_all():
    assert closest("gama", ["gamma", "beta1"]) == "did you mean 'gamma'?"
    assert closest("zzz", ["gamma", "beta1"]) == "choose among beta1, gamma"
