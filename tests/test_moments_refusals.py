"""What exact moments refuse, each in one sentence."""

import math

import numpy as np
import pytest

import marslab as ml
from marslab import moments
from marslab.errors import UsageError
from marslab.rule import rule

ONE = ml.problems.quadratic([1.0])


@rule(memory=("m",))
def centralized(x, state, g, *, lr=0.1):
    m = g - g.mean(dim=-1, keepdim=True)
    return x - lr * m, dict(m=m)


@rule()
def shifted(x, state, g, *, lr=0.1):
    return x - lr * (g + 1e-3), {}


@rule()
def branching(x, state, g, *, lr=0.1, t=None):
    return (x - lr * g if t < 5 else x - 2 * lr * g), {}


@rule(prev="either", memory=("m",))
def widely_clipped(x, state, g, prev, *, lr=0.1, clip_radius=1e6, axes=None):
    clipped, _ = ml.pieces.clip(g, clip_radius, axes)
    return x - lr * clipped, dict(m=clipped)


@pytest.mark.parametrize(
    "name, options, sentence",
    [
        ("mars_adamw", {}, "mars_adamw is not linear in the gradient"),
        ("mars_lion", {"clip_radius": math.inf}, "mars_lion is not linear in the gradient"),
        ("mars_lion", {"clip_radius": math.inf, "lr": 1e-13}, "mars_lion is not linear in the gradient"),
        ("adamw", {}, "adamw is not linear"),
        (widely_clipped, {}, "not linear in the gradient.*pass clip_radius=inf"),
        (shifted, {}, "not linear in the gradient"),
        (centralized, {}, "mixes the coordinates"),
        (branching, {}, "torch.where"),
        ("mars", {"gama": 1.0}, "did you mean 'gamma'"),
        ("mars", {"beta1": 1.0}, r"beta1 = 1 lies outside \[0, 1\)"),
        ("mars", {"beta1": lambda t: 1 - 2 / t}, r"beta1 = -1 lies outside"),
        ("sgd", {"exact": True}, "no exact form"),
        ("storm", {"exact": False}, "only the exact form"),
        ("mars", {"first": "none"}, "equal"),
        ("mars", {"record": [0, 5]}, "within 1..20"),
    ],
)
def test_refusals_of_rules_and_values(name, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        moments.propagate(name, problem=ONE, noise=ml.noise.additive(1.0), **{"steps": 20, **options})


def test_a_clip_that_is_off_passes():
    found = moments.propagate(widely_clipped, problem=ONE, steps=5, clip_radius=math.inf)
    assert np.isfinite(found.grad_norm_squared).all()


@pytest.mark.parametrize(
    "problem, noise, sentence",
    [
        (ml.problems.rosenbrock(), None, "rosenbrock has no eigenvalues"),
        (ONE, ml.noise.curvature(0.1, correlation=0.3), "correlation = 0.3"),
        (ONE, ml.noise.additive(1.0, law="student", degrees=2.0), "no variance"),
        (ONE, ml.noise.minibatch(4), "no sum over rows"),
    ],
)
def test_refusals_of_problems_and_noise(problem, noise, sentence):
    with pytest.raises(UsageError, match=sentence):
        moments.propagate("mars", problem=problem, noise=noise, steps=5)
