"""The constants that problems state: inequalities on random pairs, attained where they are called exact."""

import math

import numpy as np
import pytest
import torch
from problem_cases import one_thread  # noqa: F401

from marslab import problems

SMOOTH = [
    problems.quadratic(spectrum=(0.5, 1.0, 4.0)),
    problems.quadratic(spectrum=tuple(range(20)), shape=(5, 4), rotation_seed=3),
    problems.bowl(),
    problems.bowl(heights=(2.0, 0.0, 1.0), rotation_seed=None),
    problems.sigmoid_classification(data="breast_cancer"),
    problems.sigmoid_classification(data="digits"),
]
FACTORS = [problems.matrix_factorization(rows=8, columns=6, rank=r, target_rank=t) for r, t in [(2, 2), (3, 2), (2, 5)]]
WITH_MINIMUM = [*SMOOTH[:4], *FACTORS, problems.rosenbrock(2), problems.rosenbrock(10)]
SUMS = [problem for problem in SMOOTH if problem.examples]


def draw(problem, count, scale, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = problem.shapes.items()
    return {n: scale * torch.randn(count, *s, generator=generator, dtype=torch.float64) for n, s in shapes}


def distance(problem, one, other):
    return problem.squared_norm({name: one[name] - other[name] for name in one}).sqrt()


def pairs(problem, count=2000):
    """Random pairs near and far, around several scales."""
    for scale in (0.01, 0.3, 1.0, 5.0):
        x = draw(problem, count, scale)
        for step in (1e-3, 1.0):
            move = draw(problem, count, scale * step, seed=1)
            yield x, {name: x[name] + move[name] for name in x}


def ratio(problem, x, y):
    return distance(problem, problem.gradient(x), problem.gradient(y)) / distance(problem, x, y)


def test_every_registered_problem_states_all_constants():
    for build in problems.PROBLEMS.values():
        constants = build().constants()
        assert set(constants) == {"L", "L_max", "L_mean_squared", "f_min", "sigma"}
        for value, certainty in constants.values():
            assert (value is None) == (certainty == "unknown")
            assert certainty in ("exact", "bound", "measured", "unknown")


@pytest.mark.parametrize("build", problems.PROBLEMS.values(), ids=list(problems.PROBLEMS))
def test_stated_constants_hold_for_every_registered_problem(build):
    problem = build()
    if problem.L is not None:
        assert all((ratio(problem, x, y) <= problem.L * (1 + 1e-9)).all() for x, y in pairs(problem, count=100))
    if problem.f_min is not None:
        assert all((problem.value(x) >= problem.f_min - 1e-12).all() for x, _ in pairs(problem, count=100))


@pytest.mark.parametrize("problem", SMOOTH, ids=repr)
def test_gradient_is_lipschitz_with_L(problem):
    count = 200 if problem.examples else 2000
    for x, y in pairs(problem, count):
        assert (ratio(problem, x, y) <= problem.L * (1 + 1e-9)).all()


@pytest.mark.parametrize("problem", [p for p in SMOOTH if p.constants()["L"][1] == "exact"], ids=repr)
def test_exact_L_is_attained(problem):
    weights = problem.spectrum or problem.heights
    steep = torch.zeros(problem.shapes["x"], dtype=torch.float64)
    steep.view(-1)[int(np.argmax(weights))] = 1e-4  # along the steepest eigenvector, from the origin
    y = problem.from_eigenbasis({"x": steep})
    assert ratio(problem, problem.minimizer(), y) == pytest.approx(problem.L, rel=1e-7)


def test_bowl_curvature_runs_from_minus_a_half_to_two():
    u = np.linspace(-20, 20, 400_001)
    curvature = (2 - 6 * u**2) / (1 + u**2) ** 3
    assert curvature.max() == pytest.approx(2) and u[curvature.argmax()] == pytest.approx(0, abs=1e-9)
    assert curvature.min() == pytest.approx(-0.5) and abs(u[curvature.argmin()]) == pytest.approx(1)
    problem = problems.bowl(heights=(1.0,), rotation_seed=None)
    hessian = torch.func.hessian(lambda v: problem.value({"x": v}))
    seen = [float(hessian(torch.tensor([v], dtype=torch.float64))) for v in (0.0, 1.0, -1.0)]
    assert seen == pytest.approx([2, -0.5, -0.5])


def test_bowl_is_bounded_even_where_squares_overflow():
    problem = problems.bowl()
    for scale in (1e8, 1e100, 1e200):
        x = draw(problem, 5, scale)
        torch.testing.assert_close(problem.value(x), torch.full((5,), sum(problem.heights), dtype=torch.float64))
        assert (problem.gradient(x)["x"].abs() < 1e-6).all()


def test_quadratic_hessian_has_the_spectrum():
    problem = problems.quadratic(spectrum=(1.0, 2.0, 3.0, 4.0), shape=(2, 2), rotation_seed=5)
    hessian = torch.func.hessian(lambda v: problem.value({"x": v}))(torch.ones(2, 2, dtype=torch.float64))
    values = torch.linalg.eigvalsh(hessian.reshape(4, 4))
    torch.testing.assert_close(values, problem.eigenvalues)
    off_diagonal = hessian.reshape(4, 4) - torch.diag(torch.diagonal(hessian.reshape(4, 4)))
    assert off_diagonal.abs().max() > 0.1  # it is rotated indeed
    g = problem.gradient(problem.start())
    turned = problem.to_eigenbasis(g)["x"].flatten()
    torch.testing.assert_close(turned, problem.eigenvalues)  # start: ones in the eigenbasis
    product = problem.rotation @ problem.rotation.T
    torch.testing.assert_close(product, torch.eye(4, dtype=torch.float64), rtol=0, atol=1e-14)


@pytest.mark.parametrize("problem", WITH_MINIMUM, ids=repr)
def test_f_min_is_a_lower_bound_and_attained(problem):
    for scale in (0.01, 1.0, 10.0):
        assert (problem.value(draw(problem, 500, scale)) >= problem.f_min - 1e-12).all()
    lowest = problem.minimizer()
    assert abs(float(problem.value(lowest)) - problem.f_min) < 1e-10
    assert float(problem.squared_norm(problem.gradient(lowest))) < 1e-20


def test_factorisation_minimum_is_what_alternating_least_squares_finds():
    problem = FACTORS[2]
    x, target = problem.start(), problem.target
    for _ in range(3000):
        x["U"] = target @ torch.linalg.pinv(x["V"].mT)
        x["V"] = target.mT @ torch.linalg.pinv(x["U"].mT)
    assert problem.f_min > 0.1
    assert float(problem.value(x)) == pytest.approx(problem.f_min, rel=1e-9)


def test_rosenbrock_second_derivative_is_unbounded():
    problem = problems.rosenbrock(2)
    assert problem.L is None and problem.start()["x"].tolist() == [-1.2, 1.0]
    far = {"x": torch.tensor([[s, 0.0] for s in (1.0, 10.0, 100.0)], dtype=torch.float64)}
    near = {"x": far["x"] + torch.tensor([1e-4, 0], dtype=torch.float64)}
    seen = ratio(problem, far, near)
    assert (seen[1:] > 90 * seen[:-1]).all()


def test_sigmoid_curvature_is_one_over_six_root_three():
    import sympy

    s = sympy.symbols("s")
    curvature = s * (1 - s) * (1 - 2 * s)  # second derivative of the sigmoid in terms of its value
    points = [*sympy.solve(sympy.diff(curvature, s), s), 0, 1]
    largest = max(abs(sympy.simplify(curvature.subs(s, point))) for point in points)
    assert sympy.simplify(largest - 1 / (6 * sympy.sqrt(3))) == 0
    problem = problems.sigmoid_classification()
    row = problem.signed[0]
    x = {"x": math.log(2 + math.sqrt(3)) * row / row.dot(row)}  # margin with s = (3 + sqrt 3) / 6
    y = {"x": x["x"] + 1e-6 * row}
    one = torch.tensor([0])
    change = distance(problem, problem.gradient(x, one), problem.gradient(y, one)) / distance(problem, x, y)
    assert float(change) == pytest.approx(float(largest) * float(row.dot(row)), rel=1e-4)


@pytest.mark.parametrize("problem", SUMS, ids=repr)
def test_mean_squared_and_largest_smoothness_of_rows(problem):
    rows = torch.arange(problem.examples).reshape(-1, 1, 1)
    for scale in (0.01, 0.3, 2.0):
        x, move = draw(problem, 20, scale), draw(problem, 20, 0.1 * scale, seed=1)
        y = {"x": x["x"] + move["x"]}
        each = {"x": problem.gradient(y, rows)["x"] - problem.gradient(x, rows)["x"]}
        squares = problem.squared_norm(each) / problem.squared_norm(move)
        assert (squares.mean(0) <= problem.L_mean_squared**2).all()
        assert (squares <= problem.L_max**2).all()
    assert problem.L <= problem.L_mean_squared <= problem.L_max


@pytest.mark.parametrize("problem", SUMS, ids=repr)
def test_smoothness_bounds_are_those_of_the_docstring(problem):
    rows, factor = problem.signed.numpy(), 1 / (6 * math.sqrt(3))
    norms = (rows**2).sum(1)
    outer = np.einsum("ni,nj->nij", rows, rows)
    assert pytest.approx(factor * np.linalg.norm(outer.mean(0), 2)) == problem.L
    assert problem.L_max == pytest.approx(factor * norms.max())
    weighted = (norms[:, None, None] * outer).mean(0)
    assert problem.L_mean_squared == pytest.approx(factor * math.sqrt(np.linalg.norm(weighted, 2)))
    assert problem.L_mean_squared <= factor * math.sqrt((norms**2).mean())  # the cruder bound, from the norms alone


@pytest.mark.parametrize("problem", SUMS, ids=repr)
def test_sigma_bounds_the_variance_everywhere(problem):
    for scale in (0.0, 0.01, 0.3, 3.0):
        assert (problem.gradient_variance(draw(problem, 4, scale)).sqrt() <= problem.sigma).all()
    # at 0 every slope is 1/4: the bound leaves out the mean gradient alone
    start = problem.start()
    second_moment = problem.gradient_variance(start) + problem.squared_norm(problem.gradient(start))
    assert math.sqrt(second_moment) == pytest.approx(problem.sigma, rel=1e-12)
