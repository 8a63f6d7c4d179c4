"""The simulator against loops written out here: what it feeds the rules, what it records, what it charges."""

import json
import math

import numpy as np
import pytest
import torch

from marslab import noise, problems
from marslab.optimizers import RULES as ALL_RULES
from marslab.oracle import Samples
from marslab.rule import rule
from marslab.schedules import Cosine, PowerLaw, theorem
from marslab.simulate import run

RULES = {name: rule for name, rule in ALL_RULES.items() if rule.hess != "gauss_newton"}  # sophia_g needs a likelihood
CHARGED = {"spider": 50 + 2 * 8, "sophia_h": 9 + 2}  # 9 steps: a large batch, a product with the Hessian
QUADRATIC = problems.quadratic((1.0, 0.5, 0.1))
MATRICES = problems.matrix_factorization(rows=4, columns=3, rank=2)
NETWORK = problems.two_layer("breast_cancer", hidden=3)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def every_step(steps):
    return list(range(1, steps + 1))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("first", ["equal", "zero"])
def test_mars_equals_a_loop_over_steps(exact, first):
    """One seed at a time, in numpy, on the samples of the streams: additive and curvature noise together."""
    steps, seeds, eta, gamma, beta, sigma, s = 300, [4, 1], 0.1, 0.3, 0.8, 0.6, 0.4
    law = noise.additive(sigma) + noise.curvature(s)
    seen = run("mars", problem=QUADRATIC, noise=law, steps=steps, seeds=seeds, exact=exact, first=first, lr=eta, gamma=gamma,
               beta1=beta, record=every_step(steps))  # fmt: skip
    h = np.array(QUADRATIC.spectrum)
    for seed in seeds:
        samples = Samples(QUADRATIC, law, [seed], torch.float64)
        x, m, old, last, sums = np.ones(3), np.zeros(3), None, None, np.zeros(2)
        for t in range(1, steps + 1):
            xi = {name: value[0].numpy() for name, value in samples.at(t).items()}
            noisy = lambda p, xi=xi: h * p * (1 + s * xi["curvature"]) + sigma / math.sqrt(3) * xi["additive"]
            g = noisy(x)
            prev = (g if first == "equal" else 0 * g) if t == 1 else noisy(old) if exact else last
            c = g + gamma * beta / (1 - beta) * (g - prev)
            m = beta * m + (1 - beta) * c
            size = np.linalg.norm(h * x)
            sums += size, size**2
            here = seen.sel(seed=seed, step=t)
            expected = {"grad_norm": size, "error": np.linalg.norm(m - h * x), "correction": np.linalg.norm(c - g)}
            expected |= {"loss": (h * x * x).sum() / 2, "loss_gap": (h * x * x).sum() / 2}
            expected |= {"grad_norm_mean": sums[0] / t, "grad_norm_squared_mean": sums[1] / t}
            for name, value in expected.items():
                assert float(here[name]) == pytest.approx(value, rel=1e-9, abs=1e-12), (name, t)
            x, old, last = x - eta * m, x, g
    assert seen.evaluations.values.tolist() == [2 * t - 1 if exact else t for t in every_step(steps)]
    assert np.isinf(seen.diverged_at).all()
    assert seen.attrs["mode"] == ("exact" if exact else "approximate") and seen.attrs["first"] == first


@pytest.mark.parametrize("name", RULES)
def test_evaluations_are_charged_by_mode(name):
    for exact in (None, *(mode == "exact" for mode in RULES[name].modes if mode != "snapshot")):
        seen = run(name, problem=MATRICES, steps=9, exact=exact)
        mode = seen.attrs["mode"]
        assert mode == (RULES[name].mode(exact))
        usual = 17 if mode in ("exact", "snapshot") else 9
        assert int(seen.evaluations[-1]) == CHARGED.get(name, usual)
    assert run("storm", problem=MATRICES, steps=2).attrs["first"] == "zero"
    assert run("mars", problem=MATRICES, steps=2).attrs["mode"] == "approximate"


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.prev == "either"])
@pytest.mark.parametrize("problem", [QUADRATIC, MATRICES, NETWORK], ids=["quadratic", "matrices", "network"])
def test_without_noise_exact_and_approximate_coincide(name, problem):
    for first in ("equal", "zero"):
        both = [run(name, problem=problem, steps=20, exact=e, first=first, fallback="adamw") for e in (True, False)]
        for variable in ("grad_norm", "error", "correction", "loss"):
            np.testing.assert_array_equal(both[0][variable], both[1][variable])


def test_first_convention_decides_the_first_correction():
    seen = {first: run("mars_adamw", problem=QUADRATIC, steps=2, first=first).isel(seed=0) for first in ("equal", "zero")}
    assert float(seen["equal"].correction[0]) == 0.0
    assert float(seen["zero"].correction[0]) == pytest.approx(0.475 * float(seen["zero"].grad_norm[0]))
    clip = 1 / float(seen["zero"].grad_norm[0])
    assert float(seen["equal"].clip_scale[0]) == pytest.approx(clip)
    assert float(seen["zero"].clip_scale[0]) == pytest.approx(clip / 1.475)


def test_running_means_are_the_means_of_all_steps():
    seen = run("adamw", problem=QUADRATIC, noise=noise.additive(0.3), steps=150, seeds=5, record=every_step(150))
    means = seen.grad_norm.cumsum("step") / seen.step
    np.testing.assert_allclose(seen.grad_norm_mean, means, rtol=1e-13)
    np.testing.assert_allclose(seen.grad_norm_squared_mean, (seen.grad_norm**2).cumsum("step") / seen.step, rtol=1e-13)


def test_running_means_of_a_long_float32_run_are_exact():
    """With lr = 0 every norm is the same; a float32 sum of 20,000 of them would be off by 1e-5."""
    seen = run("sgd", problem=QUADRATIC, steps=20_000, lr=0.0, dtype="float32", record=[1, 20_000]).isel(seed=0)
    np.testing.assert_allclose(seen.grad_norm_mean, seen.grad_norm, rtol=1e-7)
    np.testing.assert_allclose(seen.grad_norm_squared_mean, seen.grad_norm**2, rtol=2e-7)


def global_clip(cs, radius):
    size = math.sqrt(sum(float((c * c).sum()) for c in cs))
    return min(1.0, radius / size)


def test_global_clip_takes_one_norm_over_all_tensors():
    """mars_lion in a loop; the clip decides only how much each step weighs in the average."""
    steps, radius, beta, kappa, eta = 40, 0.5, 0.95, 0.475, 0.01
    options = {"problem": MATRICES, "steps": steps, "record": every_step(steps), "clip_radius": radius, "lr": eta}
    seen = run("mars_lion", clip_scope="global", **options).isel(seed=0)
    x, last = MATRICES.start(), None
    m = {name: torch.zeros_like(v) for name, v in x.items()}
    for t in every_step(steps):
        g = MATRICES.gradient(x)
        c = {name: g[name] + kappa * (g[name] - (g if last is None else last)[name]) for name in g}
        scale = global_clip(c.values(), radius)
        m = {name: beta * m[name] + (1 - beta) * scale * c[name] for name in c}
        assert float(seen.clip_scale[t - 1]) == pytest.approx(scale, rel=1e-9)
        error = math.sqrt(sum(float((m[n] - g[n]).square().sum()) for n in g))
        assert float(seen.error[t - 1]) == pytest.approx(error, rel=1e-9)
        x, last = {name: x[name] - eta * m[name].sign() for name in x}, g
    apart = run("mars_lion", **options).isel(seed=0)
    assert abs(apart.clip_scale - seen.clip_scale).max() > 0.01
    assert seen.attrs["clip_scope"] == "global" and apart.attrs["clip_scope"] == "tensor"


def polar(m):
    u, _, vt = np.linalg.svd(m.numpy(), full_matrices=False)
    return torch.from_numpy(u @ vt)


@pytest.mark.parametrize("scope", ["tensor", "global"])
def test_fallback_takes_the_vectors_of_a_network_with_its_own_options(scope):
    steps, radius, beta, kappa, eta = 15, 0.2, 0.95, 0.475, 0.05
    own = {"clip_radius": radius, "lr": eta, "orthogonalization": "polar", "clip_scope": scope}
    other = {"fallback": "momentum", "fallback_options": {"lr": 0.2, "beta1": 0.5}}
    seen = run("mars_shampoo", problem=NETWORK, steps=steps, record=every_step(steps), **own, **other)
    x, last = NETWORK.start(), None
    m = {name: torch.zeros_like(v) for name, v in x.items()}
    for t in every_step(steps):
        g = NETWORK.gradient(x)
        assert float(seen.isel(seed=0).grad_norm[t - 1]) == pytest.approx(float(NETWORK.squared_norm(g)) ** 0.5, rel=1e-9)
        c = {name: g[name] + kappa * (g[name] - (g if last is None else last)[name]) for name in ("W1", "W2")}
        scales = {name: global_clip(c.values() if scope == "global" else [c[name]], radius) for name in c}
        assert float(seen.isel(seed=0).clip_scale[t - 1]) == pytest.approx(min(scales.values()), rel=1e-9)
        for name in x:
            if name in c:
                m[name] = beta * m[name] + (1 - beta) * scales[name] * c[name]
                x = x | {name: x[name] - eta * polar(m[name])}
            else:
                m[name] = 0.5 * m[name] + 0.5 * g[name]
                x = x | {name: x[name] - 0.2 * m[name]}
        last = g
    assert seen.attrs["fallback"] == "momentum" and json.loads(seen.attrs["fallback_options"]) == {"lr": 0.2, "beta1": 0.5}


def test_minibatch_runs_follow_a_loop_on_the_same_rows():
    law, steps = noise.minibatch(5), 140  # longer than a block of draws
    seen = run("storm", problem=NETWORK, noise=law, steps=steps, seeds=[6], lr=0.5, record=every_step(steps)).isel(seed=0)
    samples, x, d, old = Samples(NETWORK, law, [6], torch.float64), NETWORK.start(), None, None
    for t in every_step(steps):
        rows = samples.at(t)["rows"][0]
        g = NETWORK.gradient(x, rows)
        prev = None if old is None else NETWORK.gradient(old, rows)
        d = g if d is None else {name: g[name] + 0.9 * (d[name] - prev[name]) for name in g}
        true = NETWORK.gradient(x)
        assert float(seen.grad_norm[t - 1]) == pytest.approx(float(NETWORK.squared_norm(true)) ** 0.5, rel=1e-8)
        gap = {name: d[name] - true[name] for name in d}
        assert float(seen.error[t - 1]) == pytest.approx(float(NETWORK.squared_norm(gap)) ** 0.5, rel=1e-8)
        x, old = {name: x[name] - 0.5 * d[name] for name in x}, x
    assert "grad_norm_mean" not in seen  # the full gradient is known at recorded steps only


def test_levels_and_schedules_are_axes():
    law = noise.additive(sigma=[0.0, 0.2, PowerLaw(1.0, 0.5)])
    rates = [PowerLaw(0.5, 0.5), 0.1, Cosine(0.5, 30)]
    seen = run("sgd", problem=QUADRATIC, noise=law, steps=30, seeds=2, lr=rates, record=every_step(30))
    assert seen.grad_norm.dims == ("lr", "sigma", "seed", "step") and seen.grad_norm.shape == (3, 3, 2, 30)
    assert seen.lr.values.tolist() == [str(rate) for rate in rates]
    silent = run("sgd", problem=QUADRATIC, steps=30, seeds=2, lr=0.1, record=every_step(30))
    np.testing.assert_array_equal(seen.grad_norm.isel(lr=1, sigma=0), silent.grad_norm)
    x = np.ones(3)
    for t in every_step(30):
        h = np.array(QUADRATIC.spectrum)
        assert float(seen.grad_norm.isel(lr=0, sigma=0, seed=0)[t - 1]) == pytest.approx(np.linalg.norm(h * x), rel=1e-12)
        x = x - 0.5 * t**-0.5 * h * x


def test_the_theorems_schedules_are_keyword_arguments():
    options = {"problem": QUADRATIC, "noise": noise.additive(0.5), "steps": 50, "seeds": 3, **theorem(33, 190)}
    seen, storm = run("mars", gamma=[0.0, 1.0], exact=True, **options), run("storm", **options)
    np.testing.assert_allclose(seen.error.sel(gamma=1.0), storm.error, rtol=1e-9)
    assert abs(seen.error.sel(gamma=0.0) - storm.error).max() > 1e-3


def test_progress_is_monotone_and_ends_at_the_last_step():
    for steps in (1, 128, 300):
        calls = []
        run("sgd", problem=QUADRATIC, steps=steps, progress=lambda *call, calls=calls: calls.append(call))
        done = [t for t, _ in calls]
        assert done == sorted(set(done)) and done[-1] == steps and {total for _, total in calls} == {steps}


def test_float32_runs_in_float32_and_close_to_float64():
    options = {"problem": QUADRATIC, "noise": noise.additive(0.3), "steps": 40, "seeds": 4, "gamma": [0.0, 0.5]}
    single, double = (run("mars_adamw", dtype=dtype, **options) for dtype in ("float32", "float64"))
    assert single.grad_norm.dtype == np.float32 and double.grad_norm.dtype == np.float64
    assert single.attrs["dtype"] == "float32"
    np.testing.assert_allclose(single.grad_norm, double.grad_norm, rtol=1e-4)


def test_a_new_rule_runs_with_an_option_and_two_memories():
    @rule(memory=("m", "slow"))
    def lookahead(x, state, g, *, lr=0.1, pull=0.5, kind="soft", period=2):
        m = 0.5 * state["m"] + g
        slow = state["slow"] + pull * (m - state["slow"]) if kind == "soft" and period == 2 else m
        return x - lr * slow, {"m": m, "slow": slow}

    seen = run(lookahead, problem=QUADRATIC, steps=10, pull=[0.25, 1.0])
    assert seen.attrs["rule"] == "lookahead" and seen.sizes["pull"] == 2
    np.testing.assert_array_equal(
        seen.grad_norm.sel(pull=1.0), run(lookahead, problem=QUADRATIC, steps=10, kind="hard").grad_norm
    )


def test_attributes_say_what_was_run():
    hyper = {"clip_radius": math.inf, "lr": PowerLaw(0.1, 0.5), "gamma": [0, 1]}
    seen = run("mars_adamw", problem=QUADRATIC, noise=noise.additive(0.1), steps=3, **hyper)
    given = json.loads(seen.attrs["hyper"])
    assert given["clip_radius"] == "inf" and given["lr"] == str(PowerLaw(0.1, 0.5)) and given["gamma"] == [0, 1]
    assert given["sigma"] == 0.1 and seen.attrs["noise"] == repr(noise.additive(0.1)) and seen.attrs["steps"] == 3
    assert all(isinstance(value, str | int | float) for value in seen.attrs.values())
