"""One definition, four lives: rules that the library has never seen go through simulator, exact moments, symbols and torch."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import sympy
import torch

import marslab as ml
from marslab import moments, symbolic
from marslab.optim import RuleOptimizer
from marslab.optimizers import find_rule
from marslab.oracle import Samples
from marslab.rule import rule

P, Q, A, B, E, F, R = np.random.default_rng(7).uniform(0.2, 0.8, size=7).tolist()
MODE = ml.problems.quadratic([0.7])
PROBLEM = ml.problems.quadratic([1.0, 0.3, 0.05], rotation_seed=2)
NOISE = ml.noise.additive(0.4)
STEPS = 8
LEFT_FREE = ("lr", "gamma")  # the other hyper-parameters are numbers when symbols are unrolled, which saves time


@rule(memory=("fast", "slow"), prev="either", estimator=lambda state, g: state["fast"])
def twin(x, state, g, prev, *, lr=0.2, beta1=0.6, beta2=0.9):
    """Two momenta in a row with random coefficients, and a correction."""
    fast = beta1 * state["fast"] + A * (P * g + Q * (g - prev))
    slow = beta2 * state["slow"] + B * fast
    return x - lr * (E * fast + F * slow + R * g), dict(fast=fast, slow=slow)


@rule(memory=("away",))
def lookahead(x, state, g, *, lr=0.4, alpha=0.5, pull=1.0, period=3, t=None):
    """Every few steps a slow buffer moves towards x, and x is pulled back to it; memory: the distance of x from the buffer."""
    moved = state["away"] - lr * g
    sync = (t % period == 0) * t / t  # one or zero in the type of t: a truth value times a float would be a float32
    back = sync * pull * (1 - alpha) * moved
    return x - lr * g - back, dict(away=(1 - sync * alpha) * moved - back)


CASES = [(twin, True, {}), (twin, False, {}), (lookahead, None, {}), (lookahead, None, {"period": 1, "pull": 0.3})]
MARS = ("mars", True, {"lr": 0.3, "gamma": 0.6, "beta1": 0.8})


def noise_of(problem, noise, seed, steps):
    """sigma z_t of one seed, (steps, d)."""
    samples = Samples(problem, noise, [seed], torch.float64)
    return torch.stack([samples.at(t)["additive"][0] for t in range(1, steps + 1)]) * noise.sigma / math.sqrt(problem.size)


def by_simulator(name, exact, options, problem=MODE, noise=NOISE):
    run = ml.run(
        name, problem=problem, noise=noise, exact=exact, seeds=[3], steps=STEPS, record=list(range(1, STEPS + 1)), **options
    )
    return run.grad_norm.values[0]


def by_symbols(name, exact, options):
    """Unroll once, then walk on the quadratic: numbers in place of g_t and h_t, as they become known."""
    (curvature,), noise = MODE.spectrum, noise_of(MODE, NOISE, 3, STEPS)[:, 0].tolist()
    defaults = find_rule(name).hyper
    numbers = {n: options.get(n, default) for n, default in defaults.items() if n not in LEFT_FREE}
    known = {sympy.Symbol(n): options.get(n, defaults[n]) for n in LEFT_FREE if n in defaults} | {symbolic.start(): 1.0}
    x, before, path = 1.0, None, []
    for step, z in zip(symbolic.unroll(name, STEPS, exact=exact, **numbers), noise, strict=True):
        path.append(abs(curvature * x))
        known[symbolic.gradient(step.t)] = curvature * x + z
        if before is not None:
            known[symbolic.previous_gradient(step.t)] = curvature * before + z
        x, before = float(step.x.subs(known)), x
    return np.array(path)


def by_torch(name, exact, options, problem=MODE, noise=NOISE):
    """A linear layer whose squared output, with the noise as a linear term, has the quadratic's noisy gradient."""
    module = torch.nn.Linear(problem.size, 1, bias=False, dtype=torch.float64)
    module.weight.data = problem.start()["x"].reshape(1, -1)
    root = torch.linalg.cholesky(problem.hessian).T
    optimizer, path = RuleOptimizer(module.parameters(), name, exact=exact, **options), []
    for z in noise_of(problem, noise, 3, STEPS):

        def closure(z=z):
            optimizer.zero_grad()
            loss = module(root).square().sum() / 2 + module(z.unsqueeze(0)).sum()
            loss.backward()
            return loss

        path.append((problem.hessian @ module.weight.detach()[0]).norm().item())
        optimizer.step(closure)
    return np.array(path)


@pytest.mark.parametrize("name, exact, options", [*CASES, MARS])
def test_paths_agree(name, exact, options):
    """Simulator, symbols and torch walk the same noisy path."""
    path = by_simulator(name, exact, options)
    np.testing.assert_allclose(by_symbols(name, exact, options), path, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(by_torch(name, exact, options), path, rtol=1e-12, atol=1e-13)
    several = by_simulator(name, exact, options, PROBLEM)
    np.testing.assert_allclose(by_torch(name, exact, options, PROBLEM), several, rtol=1e-12)


@pytest.mark.parametrize("name, exact, options", CASES)
def test_moments_agree_with_the_simulator(name, exact, options):
    options = dict(problem=PROBLEM, exact=exact, steps=60, record=12, **options)
    still, law = ml.run(name, **options).isel(seed=0), moments.propagate(name, **options)
    np.testing.assert_allclose(still.grad_norm**2, law.grad_norm_squared, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(still.error**2, law.error_squared, rtol=1e-12, atol=1e-14)
    law = moments.propagate(name, noise=NOISE, modes=True, **options)
    run = ml.run(name, noise=NOISE, seeds=1024, **options)
    for which, squares, mean in (
        ("grad", run.grad_norm**2, law.grad_norm_squared),
        ("error", run.error**2, law.error_squared),
    ):
        mu, s = law[f"{which}_mean"], law[f"{which}_variance"]
        error = np.sqrt((2 * s**2 + 4 * mu**2 * s).sum("mode") / 1024)
        noisy = error.values > 1e-12
        assert (np.abs(squares.mean("seed") - mean).values[noisy] / error.values[noisy]).max() < 5


def law_of_twin(curvature, lr, exact, beta1=0.6, beta2=0.9):
    """E (lambda x)^2 by scipy, the rule's equations written out on (x, fast, slow, x_before or g_before)."""
    x, fast, slow, last = np.eye(4)
    g, prev, prev_kick = curvature * x, curvature * last if exact else last, 1.0 if exact else 0.0
    fast_row, fast_kick = beta1 * fast + A * (P * g + Q * (g - prev)), A * (P + Q * (1 - prev_kick))
    slow_row, slow_kick = beta2 * slow + B * fast_row, B * fast_kick
    step = np.stack([x - lr * (E * fast_row + F * slow_row + R * g), fast_row, slow_row, x if exact else g])
    kick = np.array([-lr * (E * fast_kick + F * slow_kick + R), fast_kick, slow_kick, 0.0 if exact else 1.0])
    return curvature**2 * scipy.linalg.solve_discrete_lyapunov(step, np.outer(kick, kick))[0, 0]


def law_of_lookahead(curvature, lr, alpha, pull):
    """On (x, buffer): x moves, the buffer moves towards it, x is pulled back to the buffer, at every step."""
    moved, buffer = np.array([1 - lr * curvature, 0.0]), np.array([0.0, 1.0])
    buffer = buffer + alpha * (moved - buffer)
    step, kick = np.stack([moved + pull * (buffer - moved), buffer]), -lr * np.array([1 - pull + pull * alpha, alpha])
    return curvature**2 * scipy.linalg.solve_discrete_lyapunov(step, np.outer(kick, kick))[0, 0]


def test_stationary_laws():
    for exact in (True, False):
        found = moments.stationary(twin, curvature=0.7, lr=0.2, exact=exact)
        assert found.grad_norm_squared == pytest.approx(law_of_twin(0.7, 0.2, exact), rel=1e-10)
        late = moments.propagate(twin, problem=PROBLEM, noise=NOISE, steps=5000, record=[5000], exact=exact)
        summed = moments.stationary(twin, problem=PROBLEM, noise=NOISE, exact=exact)
        assert summed.error_squared == pytest.approx(late.error_squared.item(), rel=1e-9)
    found = moments.stationary(lookahead, curvature=0.7, period=1, pull=0.3)
    assert found.grad_norm_squared == pytest.approx(law_of_lookahead(0.7, 0.4, 0.5, 0.3), rel=1e-10)
    with pytest.raises(ml.errors.UsageError, match="depends on t"):
        moments.stationary(lookahead, curvature=0.7)


def test_symbols_tell_the_new_rules_apart():
    assert symbolic.difference(twin, twin, exact=True) == 0
    assert symbolic.difference(twin, twin, a={"exact": True}, b={"exact": False}) != 0
    lr, alpha = sympy.symbols("lr alpha")
    assert symbolic.difference(lookahead, "sgd", a={"period": 1, "pull": 1}, b={"lr": alpha * lr}) == 0


def lives(name, exact, options):
    """What each life says about a rule."""
    law = moments.propagate(name, problem=MODE, noise=NOISE, exact=exact, steps=STEPS, record=[STEPS], **options)
    return {
        "simulator": by_simulator(name, exact, options)[-1],
        "moments": law.grad_norm_squared.item(),
        "stationary": moments.stationary(name, curvature=0.7, exact=exact, **options).grad_norm_squared,
        "symbols": by_symbols(name, exact, options)[-1],
        "torch": by_torch(name, exact, options)[-1],
    }


def test_one_coefficient_changes_every_life(monkeypatch):
    """The correction of mars is patched to nine tenths of its size: all lives change, and in the same way."""
    names = ml.optimizers.mars.function.__globals__
    before, correct = lives(*MARS), names["correct"]
    monkeypatch.setitem(names, "correct", lambda g, prev, *, gamma, beta: correct(g, prev, gamma=0.9 * gamma, beta=beta))
    after = lives(*MARS)
    for life in before:
        assert abs(after[life] / before[life] - 1) > 1e-3, life
    assert after["symbols"] == pytest.approx(after["simulator"], rel=1e-12)
    assert after["torch"] == pytest.approx(after["simulator"], rel=1e-12)
    assert symbolic.difference("storm", "mars", exact=True, gamma=1, first="zero") != 0
    monkeypatch.undo()
    name, exact, options = MARS
    honest = lives(name, exact, {**options, "gamma": 0.9 * options["gamma"]})
    for life in before:
        assert after[life] == pytest.approx(honest[life], rel=1e-12), life


def test_moments_and_symbols_name_no_rule():
    package = Path(ml.__file__).parent
    words = re.compile(rf"\b({'|'.join(ml.optimizers.RULES)})\b")
    for path in [*(package / "moments").glob("*.py"), package / "symbolic.py"]:
        assert not words.search(path.read_text(encoding="utf-8")), path.name
