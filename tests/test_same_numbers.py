"""A seed and a setting give the same numbers in every company: alone, among many, reordered, on two processes.

Bit for bit where problem and rule are elementwise, in both dtypes; to 1e-12 over 50 float64 steps where matrix products
enter, and 2e-5 in float32. The sign rules are compared after one step there, since sign turns a rounding into a step.
"""

import joblib
import numpy as np
import pytest
import torch

from marslab import noise, problems
from marslab.kinds import is_number
from marslab.optimizers import RULES as ALL_RULES
from marslab.simulate import run

ELEMENTWISE = {
    "quadratic": problems.quadratic(tuple(np.geomspace(0.1, 1, 21))),
    "matrix": problems.quadratic(tuple(np.geomspace(0.1, 1, 20)), shape=(5, 4)),
    "bowl": problems.bowl(20, rotation_seed=None),
    "rosenbrock": problems.rosenbrock(5),
}
PRODUCTS = {
    "rotated": problems.quadratic(tuple(np.geomspace(0.1, 1, 21)), rotation_seed=0),
    "rotated bowl": problems.bowl(20),
    "factors": problems.matrix_factorization(),
    "sigmoid": problems.sigmoid_classification("breast_cancer"),
    "network": problems.two_layer("breast_cancer", hidden=3),
}
RULES = {name: rule for name, rule in ALL_RULES.items() if rule.hess != "gauss_newton"}  # sophia_g needs a likelihood
SIGNS = ("lion", "mars_lion", "signum", "cautious_lion", "clion", "mgup_adamw")  # a jump, or an order, of entries
BOUND = {"float64": 1e-12, "float32": 2e-5}
every_rule = pytest.mark.parametrize("name", RULES)
every_dtype = pytest.mark.parametrize("dtype", BOUND)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def options(problem, **more):
    law = noise.minibatch(4) if problem.examples else noise.additive(0.3) + noise.curvature(0.3)
    record = 5 if problem.examples else 200  # a record there is a pass over all rows
    return {"problem": problem, "noise": law, "steps": 50, "lr": 1e-3, "fallback": "adamw", "record": record, **more}


def assert_bitwise(a, b):
    assert set(a.data_vars) == set(b.data_vars)
    for name in a.data_vars:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def assert_close(a, b, bound):
    for name in a.data_vars:
        np.testing.assert_allclose(a[name], b[name], rtol=bound, atol=bound, err_msg=name)


@every_rule
@every_dtype
@pytest.mark.parametrize("problem", ELEMENTWISE.values(), ids=ELEMENTWISE)
def test_a_seed_alone_among_others_and_reordered_is_bitwise_the_same(name, problem, dtype):
    if RULES[name].matrix and problem is ELEMENTWISE["matrix"]:
        return  # matrix products: below
    many = run(name, seeds=64, **options(problem, dtype=dtype))
    assert_bitwise(many.sel(seed=[3]), run(name, seeds=[3], **options(problem, dtype=dtype)))
    order = [5, 3, 63, 0]
    assert_bitwise(many.sel(seed=order), run(name, seeds=order, **options(problem, dtype=dtype)))


@every_rule
@every_dtype
@pytest.mark.parametrize("problem", [*PRODUCTS.values(), ELEMENTWISE["matrix"]], ids=[*PRODUCTS, "matrix"])
def test_where_products_enter_a_seed_is_the_same_to_rounding(name, problem, dtype):
    count = 64 if problem.examples is None else 8
    setting = options(problem, dtype=dtype, steps=2 if name in SIGNS else 50)
    many = run(name, seeds=count, **setting)
    for others in ([3], [5, 3, count - 1, 0])[dtype == "float32" :]:
        assert_close(many.sel(seed=others), run(name, seeds=others, **setting), BOUND[dtype])


@pytest.mark.parametrize(
    "law",
    [
        noise.additive(0.3, law="rademacher"),
        noise.additive(0.3, law="student"),
        noise.additive(0.3, correlation=0.7),
        noise.curvature(0.3, shared=True, correlation=-0.5),
    ],
    ids=str,
)
@every_dtype
def test_every_law_gives_a_seed_its_own_numbers(law, dtype):
    setting = options(ELEMENTWISE["quadratic"], noise=law, steps=200, dtype=dtype)
    many = run("mars_adamw", seeds=64, exact=True, **setting)
    assert_bitwise(many.sel(seed=[60, 2]), run("mars_adamw", seeds=[60, 2], exact=True, **setting))


def settings():
    for name, rule in RULES.items():
        for hyper, value in rule.hyper.items():
            if is_number(value) and hyper not in ("period", "large"):  # shared by all lanes
                yield pytest.param(name, hyper, value, id=f"{name}-{hyper}")


@pytest.mark.parametrize(("name", "hyper", "value"), list(settings()))
def test_a_setting_in_an_axis_equals_the_run_of_its_own(name, hyper, value):
    problem = ELEMENTWISE["matrix" if RULES[name].matrix else "quadratic"]
    setting = options(problem, seeds=3)
    values = [0.5 * value, value, 0.9 * value] if value else [0.0, 0.1, 0.2]
    axis = run(name, **(setting | {hyper: values}))
    for number in values:
        alone = run(name, **(setting | {hyper: number}))
        if RULES[name].matrix:
            assert_close(axis.sel({hyper: number}, drop=True), alone, 1e-12)
        else:
            assert_bitwise(axis.sel({hyper: number}, drop=True), alone)
    single = run(name, **(setting | {hyper: values, "dtype": "float32"})).sel({hyper: values[2]}, drop=True)
    assert_close(single, run(name, **(setting | {hyper: values[2], "dtype": "float32"})), BOUND["float32"])


def test_noise_levels_in_an_axis_share_their_draws():
    setting = options(ELEMENTWISE["quadratic"], seeds=3)
    axis = run("adamw", **(setting | {"noise": noise.additive([0.1, 0.4]) + noise.curvature([0.0, 0.3])}))
    assert axis.grad_norm.dims[:2] == ("level", "sigma") or axis.grad_norm.dims[:2] == ("sigma", "level")
    alone = run("adamw", **(setting | {"noise": noise.additive(0.4) + noise.curvature(0.3)}))
    assert_bitwise(axis.sel(sigma=0.4, level=0.3, drop=True), alone)
    silent = run("adamw", **(setting | {"noise": noise.additive(0.4)}))  # another law shifts no draw
    assert_bitwise(axis.sel(sigma=0.4, level=0.0, drop=True), silent)


def test_length_record_grid_and_company_of_rules_change_nothing():
    setting = options(ELEMENTWISE["quadratic"], seeds=[3])
    long = run("mars", **(setting | {"steps": 2000, "record": list(range(1, 201))}))
    short = run("mars", **(setting | {"steps": 200, "record": list(range(1, 201))}))
    assert_bitwise(long.drop_vars("diverged_at"), short.drop_vars("diverged_at"))
    sparse = run("mars", **(setting | {"steps": 200, "record": [7, 130, 200]}))
    assert_bitwise(short.sel(step=[7, 130, 200]), sparse)
    logged = run("mars", **(setting | {"steps": 200, "record": 10}))
    assert_bitwise(short.sel(step=logged.step), logged)
    run("adamw", **setting)
    assert_bitwise(short, run("mars", **(setting | {"steps": 200, "record": list(range(1, 201))})))


@pytest.mark.parametrize("problem", [ELEMENTWISE["quadratic"], PRODUCTS["network"]], ids=["quadratic", "network"])
def test_repetitions_on_one_problem_start_afresh(problem):  # case X3
    setting = options(problem, noise=None, steps=20)
    first = run("mars_adamw", **setting)
    for _ in range(9):
        assert_bitwise(first, run("mars_adamw", **setting))


def test_two_processes_give_the_numbers_of_one():
    setting = options(ELEMENTWISE["quadratic"])
    single, turned = options(ELEMENTWISE["bowl"], dtype="float32"), options(PRODUCTS["rotated"])
    jobs = [
        (name, seeds, case)
        for case in (setting, single, turned)
        for name in ("mars_adamw", RULES["storm"])
        for seeds in ([0, 1], [2, 3])
    ]
    with joblib.parallel_config("loky", n_jobs=2):
        parts = joblib.Parallel()(joblib.delayed(run)(name, seeds=seeds, **case) for name, seeds, case in jobs)
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    for (name, seeds, case), part in zip(jobs, parts, strict=True):
        whole = run(name, seeds=4, **case).sel(seed=seeds)
        assert_close(whole, part, 1e-12) if case is turned else assert_bitwise(whole, part)
