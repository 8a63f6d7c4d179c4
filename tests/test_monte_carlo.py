"""Simulated means of 1024 seeds against exact moments; planted errors must be seen.

Additive Gaussian noise: every coordinate of the gradient (and of the error) is N(mu_i, S_i) in the eigenbasis, independent of
the others, so the sum of squares has variance sum 2 S_i^2 + 4 mu_i^2 S_i and the standard error of a mean is exact.
Curvature noise: the largest studentised deviation against its bootstrap over seeds.
"""

import numpy as np
import pytest
import torch

import marslab as ml
from marslab import moments
from marslab.schedules import theorem

SEEDS = 1024
TIMES = [1, 2, 3, 4, 6, 9, 13, 20, 30, 45, 67, 100]
PROBLEM = ml.problems.quadratic([1.0, 0.3, 0.05], rotation_seed=1)
# the start at the minimum leaves nothing but noise to tell two rules apart
WIDE = ml.problems.quadratic([1.0] * 100, start_scale=0.0)
GRID = {"gamma": [0.025, 0.5, 1.0], "beta1": [0.5, 0.95], "lr": [0.1, 1.0]}
CASES = {
    "sgd": ("sgd", None, {"lr": [0.1, 1.0, 1.9]}),
    "momentum": ("momentum", None, {"beta1": [0.5, 0.95], "lr": [0.1, 1.0, 3.0]}),
    "storm": ("storm", True, {"beta1": [0.5, 0.95], "lr": [0.1, 1.0]}),
    "exact": ("mars", True, GRID),
    "approximate": ("mars", False, GRID),
}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def simulated(name, **options):
    """Squares of gradient norm and error, (2, *axes, seed, step)."""
    run = ml.run(name, seeds=SEEDS, record=TIMES, steps=TIMES[-1], **options)
    return np.stack([run.grad_norm.values**2, run.error.values**2])


def predicted(name, **options):
    """Expected squares and the variance of one Gaussian sample of them, each (2, *axes, step)."""
    law = moments.propagate(name, record=TIMES, steps=TIMES[-1], modes=True, **options)
    pairs = [(law[f"{which}_mean"], law[f"{which}_variance"]) for which in ("grad", "error")]
    variance = [(2 * s**2 + 4 * mu**2 * s).sum("mode").values for mu, s in pairs]
    return np.stack([law.grad_norm_squared.values, law.error_squared.values]), np.stack(variance)


def standardised(samples, expected, variance):
    """z of the mean over seeds where there is noise; elsewhere the samples must equal what is expected."""
    mean, noisy = samples.mean(axis=-2), variance > 1e-20
    still = np.moveaxis(samples, -2, 0)[:, ~noisy]
    np.testing.assert_allclose(still, np.broadcast_to(expected[~noisy], still.shape), rtol=1e-12, atol=1e-14)
    return (mean[noisy] - expected[noisy]) / np.sqrt(variance[noisy] / SEEDS)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("correlation, first", [(0.0, "equal"), (0.6, "zero")])
def test_additive_noise(case, correlation, first):
    name, exact, axes = CASES[case]
    noise = ml.noise.additive(1.0, correlation=correlation)
    options = dict(problem=PROBLEM, noise=noise, exact=exact, first=first, **axes)
    z = standardised(simulated(name, **options), *predicted(name, **options))
    print(f"{case}: {z.size} comparisons, largest |z| = {np.abs(z).max():.2f}")
    assert np.abs(z).max() < 5


def test_without_noise():
    for name, exact, axes in CASES.values():
        options = dict(problem=PROBLEM, exact=exact, record=TIMES, steps=TIMES[-1], **axes)
        run, law = ml.run(name, **options).isel(seed=0), moments.propagate(name, **options)
        np.testing.assert_allclose(run.grad_norm**2, law.grad_norm_squared, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(run.error**2, law.error_squared, rtol=1e-12, atol=1e-14)


def bootstrap_limit(samples, level, resamples=20_000):
    """The largest studentised deviation of a mean over all columns of (seed, column) that resampling the seeds reaches."""
    generator = np.random.default_rng(0)
    centred = samples - samples.mean(axis=0)
    largest = []
    for _ in range(resamples // 1000):
        counts = generator.multinomial(SEEDS, np.full(SEEDS, 1 / SEEDS), size=1000).astype(float)
        mean, square = counts @ centred / SEEDS, counts @ centred**2 / SEEDS
        largest.append(np.abs(mean / np.sqrt((square - mean**2) / SEEDS)).max(axis=1))
    return np.quantile(np.concatenate(largest), 1 - level)


def test_curvature_noise():
    """Levels up to 0.3 and lr * lambda up to 1, where fourth moments are finite; both laws of w, shared or not."""
    laws = [
        ml.noise.curvature(level=[0.1, 0.3]),
        ml.noise.curvature(level=0.3, shared=True, law="rademacher"),
    ]
    samples, expected = [], []
    for name, exact, axes in CASES.values():
        for law in laws:
            axes = {**axes, "lr": [0.1, 1.0]}
            options = dict(problem=PROBLEM, noise=law + ml.noise.additive(0.3), exact=exact, **axes)
            drawn, mean = simulated(name, **options)[..., 1:], predicted(name, **options)[0][..., 1:]
            samples.append(np.moveaxis(drawn, -2, 0).reshape(SEEDS, -1))
            expected.append(mean.ravel())
    samples, expected = np.concatenate(samples, axis=1), np.concatenate(expected)
    z = (samples.mean(axis=0) - expected) / (samples.std(axis=0) / SEEDS**0.5)
    limit = bootstrap_limit(samples, level=1e-4)
    print(f"{z.size} comparisons, largest |z| = {np.abs(z).max():.2f}, bootstrap limit {limit:.2f}")
    assert np.abs(z).max() < limit


def shifted(beta):
    return lambda t: beta(t + 1)


SCHEDULE = theorem(c=1, s=1)
PLANTED = {
    "gamma 10 % too small, exact": (dict(exact=True, gamma=1.0, lr=0.3), dict(gamma=0.9)),
    "gamma 10 % too large, exact": (dict(exact=True, gamma=0.5, lr=1.0), dict(gamma=0.55)),
    "gamma 10 % too small, approximate": (dict(exact=False, gamma=1.0, lr=0.3), dict(gamma=0.9)),
    "approximate posing as exact": (dict(exact=True, gamma=0.5, lr=0.3), dict(exact=False)),
    "approximate posing as exact, gamma = 1": (dict(exact=True, gamma=1.0, lr=0.3), dict(exact=False)),
    "beta one step ahead": (dict(exact=True, gamma=1.0, **SCHEDULE), dict(beta1=shifted(SCHEDULE["beta1"]))),
    "beta one step ahead, approximate": (
        dict(exact=False, gamma=0.5, **SCHEDULE),
        dict(beta1=shifted(SCHEDULE["beta1"])),
    ),
}


@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors_are_seen(error):
    """The run has the error, the prediction has not; the shift is computed first, and then found where it was predicted."""
    claimed, change = PLANTED[error]
    options = dict(problem=WIDE, noise=ml.noise.additive(1.0))
    right, variance = predicted("mars", **options, **claimed)
    wrong, wrong_variance = predicted("mars", **options, **{**claimed, **change})
    noisy = variance > 1e-20
    scale = np.sqrt(variance[noisy] / SEEDS)
    foreseen = (wrong[noisy] - right[noisy]) / scale
    assert np.abs(foreseen).max() >= 10
    samples = simulated("mars", **options, **{**claimed, **change})
    seen = (samples.mean(axis=-2)[noisy] - right[noisy]) / scale
    where = np.abs(foreseen).argmax()
    print(f"{error}: predicted z = {foreseen[where]:.1f}, seen z = {seen[where]:.1f} (and {np.abs(seen).max():.1f} at most)")
    assert abs(seen[where]) > 5
    assert np.abs(seen - foreseen).max() < 5 * np.sqrt((wrong_variance[noisy] / variance[noisy]).max())
