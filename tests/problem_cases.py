"""The problems that the tests of problems run over, and points near their starts."""

import pytest
import torch

from marslab import problems

ELEMENTWISE = [
    problems.quadratic(spectrum=(0.1, 1.0, 7.0)),
    problems.quadratic(spectrum=tuple(range(1, 21)), shape=(5, 4)),
    problems.bowl(dimension=7, rotation_seed=None),
    problems.rosenbrock(dimension=6),
]
CASES = [
    *(build() for build in problems.PROBLEMS.values()),
    *ELEMENTWISE,
    problems.quadratic(spectrum=tuple(range(20)), shape=(5, 4), rotation_seed=3),
    problems.matrix_factorization(rows=7, columns=5, rank=2, target_rank=4, seed=1),
    problems.sigmoid_classification(data="digits"),
    problems.two_layer(data="breast_cancer", hidden=3),
]
SUMS = [problem for problem in CASES if problem.examples]


def name(problem):
    return f"{problem.name}-{CASES.index(problem)}" if problem in CASES else problem.name


over_all = pytest.mark.parametrize("problem", CASES, ids=name)
over_sums = pytest.mark.parametrize("problem", SUMS, ids=name)


@pytest.fixture(autouse=True)
def one_thread():
    """Products this small wait for their second thread on a busy machine, up to ten times longer than they take."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def near_start(problem, lanes=(), scale=0.3, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    moves = {n: torch.randn(*lanes, *s, generator=generator, dtype=torch.float64) for n, s in problem.shapes.items()}
    return {n: (start + scale * moves[n]).to(dtype) for n, start in problem.start().items()}


def at(x, lane):
    return {name: tensor[lane] for name, tensor in x.items()}


def gap(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in one)
