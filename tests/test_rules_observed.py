"""What rules observe beyond g and prev: its price by hand, its use in whole runs, and the law of its estimates."""

import numpy as np
import pytest
import torch

from marslab import noise, problems
from marslab.extras import Extras
from marslab.optimizers import RULES
from marslab.oracle import Oracle
from marslab.samples import Samples
from marslab.simulate import run
from marslab.streams import Stream

STEPS, PERIOD, LARGE, BATCH = 12, 5, 7, 4
BOWL = problems.quadratic((1.0, 0.5, 0.1))
NET = problems.two_layer("breast_cancer", hidden=2)
ROWS, NORMAL = noise.minibatch(BATCH), noise.additive(0.5)
PASS = -(-NET.examples // BATCH)  # a pass over all rows, in gradients of one batch
EVERY = {"steps": STEPS, "record": list(range(1, STEPS + 1))}


def sized(name):
    return {key: value for key, value in (("period", PERIOD), ("large", LARGE)) if key in RULES[name].hyper}


PRICES = [  # what the first step costs, the 6th and 11th, and all others
    *((name, NET, ROWS, 1 + PASS, 1 + PASS, 2) for name in ("svrg", "alpha_svrg")),
    ("svrg", BOWL, NORMAL, 1 + LARGE, 1 + LARGE, 2),
    ("svrg", BOWL, None, 1, 1, 2),
    ("sarah", NET, ROWS, 1 + PASS, 2 + PASS, 2),  # the two gradients of the step beside the full one are asked for as well
    ("sarah", BOWL, NORMAL, 1 + LARGE, 2 + LARGE, 2),
    ("spider", NET, ROWS, LARGE, LARGE, 2),
    ("spider", BOWL, NORMAL, LARGE, LARGE, 2),
    ("sophia_h", BOWL, NORMAL, 1 + 2, 1 + 2, 1),
    ("sophia_g", NET, ROWS, 1 + 1, 1 + 1, 1),
    ("storm", NET, ROWS, 1, 2, 2),
    ("storm_adaptive", BOWL, NORMAL, 1, 2, 2),
]


@pytest.mark.parametrize(("name", "problem", "law", "first", "again", "other"), PRICES)
def test_prices_are_those_counted_by_hand(name, problem, law, first, again, other):
    seen = run(name, problem=problem, noise=law, lr=1e-3, **EVERY, **sized(name))
    wanted = np.cumsum([first if t == 1 else again if t % PERIOD == 1 else other for t in EVERY["record"]])
    np.testing.assert_array_equal(seen.evaluations, wanted)


def mean_gradient(x, rows=None):
    return NET.gradient(x, rows)


def svrg_direction(memory, x, rows, restart):
    if restart:
        memory["snapshot"], memory["full"] = x, mean_gradient(x)
    here, there = mean_gradient(x, rows), mean_gradient(memory["snapshot"], rows)
    return {name: here[name] - there[name] + memory["full"][name] for name in x}


def path_direction(memory, x, rows, restart, fresh=None):
    if restart:
        v = mean_gradient(x, fresh)
    else:
        here, there = mean_gradient(x, rows), mean_gradient(memory["x"], rows)
        v = {name: here[name] - there[name] + memory["v"][name] for name in x}
    memory |= {"x": x, "v": v}
    return v


def spider_direction(memory, x, rows, restart):
    stream = memory.setdefault("stream", Stream(0, "large_batch"))
    fresh = stream.integers(NET.examples, (BATCH * LARGE,))[None] if restart else None
    return path_direction(memory, x, rows, restart, fresh)


@pytest.mark.parametrize(
    ("name", "direction"), [("svrg", svrg_direction), ("sarah", path_direction), ("spider", spider_direction)]
)
def test_a_whole_run_is_the_loop_over_the_same_rows(name, direction):
    options = {"lr": 0.2} | ({"radius": np.inf} if name == "spider" else {})
    seen = run(name, problem=NET, noise=ROWS, seeds=[0], **EVERY, **sized(name), **options).isel(seed=0)
    samples, memory = Samples(NET, ROWS, [0], torch.float64), {}
    x = {key: value[None] for key, value in NET.start().items()}
    for t in EVERY["record"]:
        assert seen.loss.sel(step=t).item() == pytest.approx(NET.value(x).item(), rel=1e-12)
        v, true = direction(memory, x, samples.at(t)["rows"], t % PERIOD == 1), mean_gradient(x)
        error = sum(((v[key] - true[key]) ** 2).sum() for key in x) ** 0.5
        np.testing.assert_allclose(seen.error.sel(step=t), error, rtol=1e-9, atol=1e-14)
        if name != "spider":  # the estimate is the gradient at the snapshot, and at the restart
            assert (error < 1e-14) == (t % PERIOD == 1)
        x = {key: x[key] - 0.2 * v[key] for key in x}


def test_svrgs_error_grows_with_the_distance_from_the_snapshot_alone():
    """At a small rate, the error after k steps is of the order of lr; halving lr halves it."""
    both = [run("svrg", problem=NET, noise=ROWS, seeds=8, lr=lr, period=12, **EVERY) for lr in (2e-5, 1e-5)]
    ratio = both[0].error.isel(step=slice(1, None)) / both[1].error.isel(step=slice(1, None))
    np.testing.assert_allclose(ratio, 2.0, rtol=0.01)


def test_spiders_restarts_have_the_variance_of_a_large_batch():
    """E |v - grad F|^2 = sigma^2 / large at the first step: 2000 seeds, 4 standard errors (9 %)."""
    seen = run("spider", problem=BOWL, noise=NORMAL, seeds=2000, steps=1, record=[1], large=LARGE)
    squares = seen.error.isel(step=0).values ** 2
    assert abs(squares.mean() - 0.25 / LARGE) < 4 * squares.std() / 2000**0.5


def estimates(name, problem, seeds):
    """One estimate of the Hessian's diagonal a seed at the start, on all rows, flat: (seeds, size)."""
    extras = Extras(RULES[name], problem, None, list(range(seeds)), torch.float64, period=1)
    oracle = Oracle(problem, None, "single", "equal", lambda event_ndim: {}, extras)
    x = {key: value.expand(seeds, *value.shape).clone() for key, value in problem.start().items()}
    return torch.cat([part.flatten(1) for part in oracle.observe(x, {}).extras["hess"].values()], dim=1)


def assert_mean(drawn, wanted):
    """Within 5 standard errors in every coordinate (the largest relative one is printed where it fails)."""
    error = drawn.std(dim=0) / len(drawn) ** 0.5
    assert (error > 0).any()
    assert ((drawn.mean(dim=0) - wanted).abs() <= 5 * error + 1e-12).all(), (drawn.mean(dim=0) - wanted) / error


def flat_start(problem):
    start = problem.start()
    sizes = {key: value.numel() for key, value in start.items()}

    def unflat(v):
        return {key: part.reshape(start[key].shape) for key, part in zip(sizes, v.split(list(sizes.values())), strict=True)}

    return torch.cat([value.flatten() for value in start.values()]), unflat


@pytest.mark.parametrize("problem", [problems.quadratic((3.0, 1.0, 0.5, 0.2), rotation_seed=0), NET], ids=["quadratic", "net"])
def test_hutchinsons_mean_is_the_hessians_diagonal(problem):
    at, unflat = flat_start(problem)
    hessian = torch.func.hessian(lambda v: problem.value(unflat(v)))(at)
    assert (hessian - hessian.diag().diag()).abs().max() > 1e-3
    assert_mean(estimates("sophia_h", problem, 1000), hessian.diag())


def logits(weights, row):
    return weights["W2"] @ torch.tanh(weights["W1"] @ row + weights["b1"]) + weights["b2"]


def test_bartletts_mean_is_the_gauss_newton_diagonal():
    """diag(J' (diag p - p p') J), the mean over rows, J the Jacobian of the logits: b g*g has it as its mean."""
    at, unflat = flat_start(NET)
    jacobian = torch.func.vmap(torch.func.jacrev(lambda v, row: logits(unflat(v), row)), (None, 0))(at, NET.features)
    p = torch.func.vmap(lambda row: logits(unflat(at), row).softmax(0))(NET.features)
    middle = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
    wanted = torch.einsum("ncd,nce,ned->d", jacobian, middle, jacobian) / NET.examples
    assert_mean(estimates("sophia_g", NET, 1000), wanted)
