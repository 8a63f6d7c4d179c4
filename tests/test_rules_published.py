"""Each rule against its published algorithm, written out here in numpy, and against torch's own optimizers."""

import numpy as np
import pytest
import torch

from marslab.optimizers import RULES


def gradients(steps, shape=(5,), seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((steps, *shape)), generator.standard_normal((steps, *shape))


def driven(name, gs, prevs, **hyper):
    """Points x_2, x_3, ... of a rule that is fed the given gradients, from x_1 = (1, ..., 1)."""
    rule, x, points = RULES[name], torch.ones(gs.shape[1:], dtype=torch.float64), []
    state = rule.init(x)
    for t, (g, prev) in enumerate(zip(torch.from_numpy(gs), torch.from_numpy(prevs), strict=True), start=1):
        x, state = rule(x, state, g, prev, t=torch.tensor(float(t)), **hyper)
        points.append(x.numpy())
    return np.stack(points)


@pytest.mark.parametrize(
    ("name", "hyper", "optimizer"),
    [
        ("adamw", {"lr": 0.02, "weight_decay": 0.1}, lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1)),
        ("adamw", {}, torch.optim.AdamW),
        ("sgd", {"lr": 0.3}, lambda p: torch.optim.SGD(p, lr=0.3)),
        ("momentum", {"lr": 0.3, "beta1": 0.8}, lambda p: torch.optim.SGD(p, lr=0.06, momentum=0.8)),
    ],
)
def test_equal_to_torch(name, hyper, optimizer):
    gs, prevs = gradients(100)
    parameter = torch.nn.Parameter(torch.ones(5, dtype=torch.float64))
    theirs, points = optimizer([parameter]), []
    for g in torch.from_numpy(gs):
        parameter.grad = g.clone()
        theirs.step()
        points.append(parameter.detach().numpy().copy())
    np.testing.assert_allclose(driven(name, gs, prevs, **hyper), points, rtol=0, atol=1e-12)


# The boxes of arXiv 2411.10438 (algorithms 1 to 4) and of the other papers, in numpy, one loop for all.
ETA, GAMMA, B1, B2, EPS, DECAY = 0.1, 0.3, 0.8, 0.9, 1e-8, 0.05


def clipped(c):
    return c / max(1.0, np.sqrt((c * c).sum()))


def polar(m):
    u, _, vt = np.linalg.svd(m, full_matrices=False)
    return u @ vt


def box(name, gs, prevs):
    x, m, v, points = np.ones(gs.shape[1:]), 0.0, 0.0, []
    for t, (g, prev) in enumerate(zip(gs, prevs, strict=True), start=1):
        c = g + GAMMA * B1 / (1 - B1) * (g - prev)
        if name == "mars":
            m = B1 * m + (1 - B1) * c
            x = x - ETA * m
        elif name == "mars_adamw":
            c = clipped(c)
            m, v = B1 * m + (1 - B1) * c, B2 * v + (1 - B2) * c**2
            x = x - ETA * (m / (1 - B1**t) / (np.sqrt(v / (1 - B2**t)) + EPS) + DECAY * x)
        elif name == "mars_lion":
            m = B1 * m + (1 - B1) * clipped(c)
            x = x - ETA * (np.sign(m) + DECAY * x)
        elif name == "mars_shampoo":
            m = B1 * m + (1 - B1) * c
            x = x - ETA * (polar(m) + DECAY * x)
        elif name == "lion":
            direction = np.sign(B1 * m + (1 - B1) * g)
            x, m = x - ETA * (direction + DECAY * x), B2 * m + (1 - B2) * g
        elif name == "storm":
            m = g + B1 * (m - prev)
            x = x - ETA * m
        elif name == "qhm":
            m = B1 * m + (1 - B1) * g
            x = x - ETA * ((1 - 0.7) * g + 0.7 * m)
        points.append(x)
    return np.stack(points)


@pytest.mark.parametrize("name", ["mars", "mars_adamw", "mars_lion", "mars_shampoo", "lion", "storm", "qhm"])
def test_equal_to_the_published_box(name):
    rule = RULES[name]
    every = {"lr": ETA, "gamma": GAMMA, "beta1": B1, "beta2": B2, "eps": EPS, "weight_decay": DECAY}
    hyper = {key: value for key, value in every.items() if key in rule.hyper} | dict(rule.presets.get("paper", {}))
    gs, prevs = gradients(100, (4, 3))
    np.testing.assert_allclose(driven(name, gs, prevs, **hyper), box(name, gs, prevs), rtol=0, atol=1e-12)


def test_gamma_zero_without_clip_is_adamw():
    gs, prevs = gradients(50)
    same = {"lr": 0.01, "beta1": 0.95, "beta2": 0.99, "weight_decay": 0.1}
    ours = driven("mars_adamw", gs, prevs, gamma=0.0, clip_radius=float("inf"), **same)
    np.testing.assert_allclose(ours, driven("adamw", gs, prevs, **same), rtol=0, atol=1e-14)


def test_second_moment_of_the_clipped_or_the_raw_gradient():
    rule, x = RULES["mars_adamw"], torch.zeros(2, dtype=torch.float64)
    g, prev = torch.tensor([30.0, 40.0], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    for option, seen in (("clipped", torch.tensor([0.6, 0.8], dtype=torch.float64)), ("raw", g)):
        _, state = rule(x, rule.init(x), g, prev, second_moment=option)
        torch.testing.assert_close(state["v"], 0.01 * seen**2, rtol=1e-13, atol=0)


CORRECTING = ["mars", "mars_adamw", "mars_lion", "mars_shampoo"]


@pytest.mark.parametrize("name", CORRECTING)
def test_corrected_gradient_of_case_m15(name):
    rule, x = RULES[name], torch.zeros(1, 1, dtype=torch.float64)
    free = {"clip_radius": float("inf")} if "clip_radius" in rule.hyper else {}
    state, prev, seen = rule.init(x), torch.ones(1, 1, dtype=torch.float64), []
    for g in (1.0, 0.5, 0.25, -0.5):
        g = torch.full((1, 1), g, dtype=torch.float64)
        _, state = rule(x, state, g, prev, **free)
        prev = g
        seen.append(state["corrected"].item())
    np.testing.assert_allclose(seen, [1.0, 0.2625, 0.13125, -0.85625], rtol=1e-14)


@pytest.mark.parametrize("name", CORRECTING)
@pytest.mark.parametrize("size", [0.2, 50.0])
def test_first_step_without_history_is_clipped_like_any_other(name, size):  # case M2
    rule, x = RULES[name], torch.zeros(2, 2, dtype=torch.float64)
    g = torch.full((2, 2), size / 2, dtype=torch.float64)  # norm = size
    radius = rule.hyper.get("clip_radius", float("inf"))
    _, state = rule(x, rule.init(x), g, g)
    assert torch.equal(state["corrected"], g)
    torch.testing.assert_close(state["m"], 0.05 * g / max(1.0, size / radius), rtol=1e-14, atol=0)
    _, state = rule(x, rule.init(x), g, torch.zeros_like(g))
    torch.testing.assert_close(state["corrected"], 1.475 * g, rtol=1e-14, atol=0)


@pytest.mark.parametrize("gamma", [0.0, 0.025, 0.5, 1.0])
def test_first_moments_under_both_conventions(gamma):  # theory of the first step: the paper's start and the released one
    rule, g, beta = RULES["mars"], torch.tensor(2.0, dtype=torch.float64), 0.95
    zero = torch.zeros_like(g)
    _, equal = rule(zero, rule.init(zero), g, g, gamma=gamma)
    _, released = rule(zero, rule.init(zero), g, zero, gamma=gamma)
    assert equal["m"].item() == pytest.approx((1 - beta) * 2, rel=1e-14)
    assert released["m"].item() == pytest.approx((1 - beta + gamma * beta) * 2, rel=1e-14)
    kappa = gamma * beta / (1 - beta)
    assert released["m"].item() / (1 - beta) == pytest.approx((1 + kappa) * 2, rel=1e-14)
    state = released
    for t in range(2, 60):
        _, state = rule(zero, state, g, g, gamma=gamma)
        assert state["m"].item() == pytest.approx((1 - (1 - gamma) * beta**t) * 2, rel=1e-13)


def test_estimate_is_what_the_step_follows_in_the_linear_rules():
    x = torch.zeros(3, dtype=torch.float64)
    g, prev = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    for name in ("sgd", "momentum", "storm", "mars", "qhm"):
        new_x, state = RULES[name](x, RULES[name].init(x), g, prev, lr=0.5)
        torch.testing.assert_close(RULES[name].estimate(state, g), -new_x / 0.5, rtol=1e-14, atol=0)
