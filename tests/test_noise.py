"""Noise laws: unbiased, with the stated variance and constants, in the stated basis, correlated as stated.

Statistical checks are z tests with fixed seeds and a bound of five standard errors: about 1e-6 for each of the few hundred.
"""

import dataclasses
import math

import numpy as np
import pytest
import torch

from marslab import noise, problems
from marslab.errors import UsageError
from marslab.noise.base import flatten
from marslab.oracle import Oracle, Samples
from marslab.schedules import PowerLaw
from marslab.simulate import run
from marslab.streams import BLOCK

PLAIN = problems.quadratic((1.0, 0.5, 0.25, 2.0))
TURNED = problems.quadratic((1.0, 0.5, 0.25, 2.0), rotation_seed=3)
FACTORS = problems.matrix_factorization(rows=3, columns=2, rank=2)
ROWS = problems.sigmoid_classification("breast_cancer")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def levels_of(law, **given):
    return lambda event_ndim: law.level_values() | given


def draws(problem, law, x, seeds=64, blocks=2):
    """Deviations g - grad F at the point x, as (steps, seeds, D)."""
    samples, out = Samples(problem, law, list(range(seeds)), torch.float64), []
    oracle = Oracle(problem, law, "single", "equal", levels_of(law))
    true = flatten(problem, problem.gradient(x))
    lanes = {name: v.expand(seeds, *v.shape) for name, v in x.items()}
    for t in range(1, blocks * BLOCK + 1):
        out.append(flatten(problem, oracle.observe(lanes, samples.at(t)).g) - true)
    return torch.stack(out)


def z_of_mean(values, expected):
    """z score of a mean of independent values."""
    return (values.mean() - expected) / (values.std() / math.sqrt(values.numel()))


def check_moments(deviation, total):
    """Unbiased in each coordinate; E|deviation|^2 = total; steps and seeds are independent."""
    for coordinate in deviation.unbind(-1):
        assert abs(z_of_mean(coordinate.flatten(), 0.0)) < 5
    assert abs(z_of_mean(deviation.square().sum(-1).flatten(), total)) < 5


@pytest.mark.parametrize("law", ["gaussian", "rademacher"])
@pytest.mark.parametrize("problem", [PLAIN, TURNED, FACTORS], ids=["plain", "rotated", "two tensors"])
def test_additive_noise_is_unbiased_with_total_variance_sigma_squared(problem, law):
    law = noise.additive(sigma=0.7, law=law)
    deviation = draws(problem, law, problem.start())
    if law.law == "gaussian":
        check_moments(deviation, 0.49)
    else:  # |deviation|^2 is constant
        assert abs(deviation.mean()) < 5 * 0.7 / math.sqrt(deviation.numel() * problem.size)
        torch.testing.assert_close(deviation.square().sum(-1), torch.full(deviation.shape[:-1], 0.49, dtype=torch.float64))
        assert set(np.unique(deviation.sign())) == {-1.0, 1.0}


@pytest.mark.parametrize("degrees", [3.0, 5.0])
def test_student_noise_is_scaled_to_unit_variance(degrees):
    """Its own variance estimate has no variance at 3 degrees, so the quantiles are compared with the scaled law's."""
    from scipy.stats import kstest, t

    z = draws(PLAIN, noise.additive(sigma=2.0, law="student", degrees=degrees), PLAIN.start())
    unit = (z[:: BLOCK // 8].flatten() * math.sqrt(PLAIN.size) / 2.0).numpy()  # sigma^2 is the whole variable's
    scale = math.sqrt((degrees - 2) / degrees)
    assert t(degrees, scale=scale).var() == pytest.approx(1.0)
    assert kstest(unit, t(degrees, scale=scale).cdf).pvalue > 1e-6
    assert kstest(unit, t(degrees).cdf).pvalue < 1e-6  # the unscaled law would be noticed


def test_infinite_variance_says_so():
    heavy = noise.additive(sigma=1.0, law="student", degrees=2.0)
    assert not heavy.bounded_variance and heavy.constants(PLAIN)["sigma"] == math.inf
    assert (heavy + noise.curvature(0.0)).constants(PLAIN)["sigma"] == math.inf
    finite = noise.additive(sigma=1.0, law="student", degrees=2.1)
    assert finite.bounded_variance and finite.constants(PLAIN)["sigma"] == 1.0
    z = draws(PLAIN, heavy, PLAIN.start(), seeds=8).flatten().abs()
    assert z.max() > 30 * z.median()  # a normal sample of this size stays below 8


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("law", ["gaussian", "rademacher"])
def test_curvature_noise_has_variance_s_squared_times_the_squared_gradient(law, shared):
    x = {"x": torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.float64)}
    deviation = draws(TURNED, noise.curvature(level=0.4, law=law, shared=shared), x)
    true = flatten(TURNED, TURNED.gradient(x))
    turned = TURNED.to_eigenbasis({"x": deviation})["x"]
    w = turned / (0.4 * TURNED.to_eigenbasis({"x": true})["x"])
    for factor in w.unbind(-1):
        assert abs(z_of_mean(factor.flatten(), 0.0)) < 5
    assert abs(turned.square().sum(-1).mean() / (0.16 * true.square().sum()) - 1) < 0.05
    if shared:
        torch.testing.assert_close(w, w[..., :1].expand_as(w), rtol=1e-9, atol=1e-9)
    else:  # independent in the eigenbasis, which is not the basis of x
        flat = w.reshape(-1, 4)
        correlation = torch.corrcoef(flat.T) - torch.eye(4, dtype=torch.float64)
        assert correlation.abs().max() < 5 / math.sqrt(len(flat))


def test_curvature_noise_vanishes_where_the_gradient_does():
    assert not draws(TURNED, noise.curvature(0.9), TURNED.minimizer(), seeds=3).any()


@pytest.mark.parametrize("law", [noise.additive(0.5, correlation=0.8), noise.curvature(0.5, correlation=0.8)])
def test_correlated_noise_is_stationary_and_decays_like_phi(law):
    z = draws(PLAIN, law, PLAIN.start(), seeds=256, blocks=2)
    z = z / z.flatten(0, 1).std(0)
    variances = z.square().mean(dim=(1, 2))  # one number a step, over 1024 independent values
    assert (variances / variances.mean() - 1).abs().max() < 6 * math.sqrt(2 / 1024)
    for lag in (1, 2, 5, 60):
        apart = (z[:-lag] * z[lag:]).mean(dim=0).flatten()  # one number a lane, lanes are independent
        assert abs(z_of_mean(apart, 0.8**lag)) < 5
    first = draws(PLAIN, dataclasses.replace(law, correlation=0.0), PLAIN.start(), seeds=256, blocks=1)[0]
    correlated = draws(PLAIN, law, PLAIN.start(), seeds=256, blocks=1)[0]
    assert torch.equal(first, correlated)  # z_1 = w_1, stationary from the start


def test_level_may_be_a_list_or_a_schedule():
    listed, scheduled = noise.additive(sigma=[0.1, 0.2]), noise.additive(sigma=PowerLaw(1.0, 0.5))
    assert listed.sigma == (0.1, 0.2) and listed == noise.additive(sigma=np.array([0.1, 0.2]))
    for law in (listed, scheduled, noise.curvature(level=torch.tensor([0.5, 1.0]))):
        hash(law)
        assert law.constants(PLAIN)["sigma"] is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        listed.sigma = 1.0


def test_additive_noise_cancels_in_the_exact_correction_alone():
    law, steps = noise.additive(0.5), {}
    for mode in ("exact", "approximate"):
        samples = Samples(PLAIN, law, [0, 1], torch.float64)
        oracle = Oracle(PLAIN, law, mode, "equal", levels_of(law))
        x = {"x": torch.ones(2, 4, dtype=torch.float64)}
        oracle.observe(x, samples.at(1))
        moved = {"x": 0.5 * x["x"]}
        seen = oracle.observe(moved, samples.at(2))
        steps[mode] = seen.g["x"] - seen.prev["x"] - (PLAIN.gradient(moved)["x"] - PLAIN.gradient(x)["x"])
    assert steps["exact"].abs().max() < 1e-15
    assert steps["approximate"].abs().min() > 1e-3


def test_order_of_a_sum_does_not_matter_and_kinds_are_unique():
    parts = [noise.additive(0.1), noise.curvature(0.2), noise.minibatch(4)]
    forward, backward = parts[0] + parts[1] + parts[2], parts[2] + (parts[1] + parts[0])
    assert forward == backward and hash(forward) == hash(backward)
    assert [type(law) for law in forward.parts] == [type(parts[i]) for i in (2, 1, 0)]
    assert forward.configuration() == backward.configuration()
    with pytest.raises(UsageError, match="additive twice"):
        parts[0] + parts[1] + noise.additive(0.3, law="rademacher")
    with pytest.raises(TypeError):
        parts[0] + 1


def test_each_law_keeps_its_draws_when_another_joins():
    both = noise.curvature(0.5) + noise.additive(0.3)
    x = TURNED.minimizer()  # the curvature noise is silent here
    assert torch.equal(draws(TURNED, both, x, seeds=4), draws(TURNED, noise.additive(0.3), x, seeds=4))


def test_rows_are_uniform_and_smaller_batches_are_prefixes():
    large = Samples(ROWS, noise.minibatch(8), list(range(16)), torch.float64)
    small = Samples(ROWS, noise.minibatch(3), list(range(16)), torch.float64)
    rows = []
    for t in range(1, 3 * BLOCK):
        rows.append(large.at(t)["rows"].clone())
        assert torch.equal(small.at(t)["rows"], rows[-1][:, :3])
    counts = torch.bincount(torch.stack(rows).flatten(), minlength=ROWS.examples)
    assert len(counts) == ROWS.examples
    expected = counts.sum() / ROWS.examples
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - (ROWS.examples - 1)) < 5 * math.sqrt(2 * (ROWS.examples - 1))
    blocks = torch.stack(rows)[:, 0].flatten()
    assert not torch.equal(blocks[:1024], blocks[1024:2048])  # later blocks are new draws


def test_minibatch_is_unbiased_with_the_variance_by_enumeration():
    x = {"x": 0.1 * torch.ones(ROWS.shapes["x"], dtype=torch.float64)}
    deviation = draws(ROWS, noise.minibatch(4), x, seeds=32)
    check_moments(deviation, float(ROWS.gradient_variance(x, batch=4)))
    limit = noise.minibatch(4).constants(ROWS)["sigma"]
    assert limit is not None and float(ROWS.gradient_variance(x, batch=4)) <= limit**2


@pytest.mark.parametrize("gamma", [0.0, 0.025, 0.5, 1.0])
def test_variances_at_a_frozen_point(gamma):
    """Additive noise of variance sigma^2, lr = 0, long after the start: closed forms of the moving average.

    E|m - grad F|^2 / sigma^2 = (1-g)^2 (1-b)/(1+b) + 2 g (1-g) (1-b) + g^2 in the approximate form, the average's own
    (1-b)/(1+b) in the exact form; E|c - g|^2 / sigma^2 = 2 kappa^2 with kappa = g b / (1-b), and 0 in the exact form.
    """
    beta, sigma, seeds = 0.95, 2.0, 256
    kappa, average = gamma * beta / (1 - beta), (1 - beta) / (1 + beta)
    quasi = (1 - gamma) ** 2 * average + 2 * gamma * (1 - gamma) * (1 - beta) + gamma**2
    for exact, spread, moved in ((False, quasi, 2 * kappa**2), (True, average, 0.0)):
        options = {"problem": problems.quadratic((1.0,) * 100), "noise": noise.additive(sigma), "steps": 300, "record": [300]}
        seen = run("mars", lr=0.0, gamma=gamma, beta1=beta, seeds=seeds, exact=exact, **options).isel(step=0)
        for name, expected in (("error", spread), ("correction", moved)):
            squares = torch.from_numpy((seen[name].values / sigma) ** 2)
            if expected:
                assert abs(z_of_mean(squares, expected)) < 5
                assert abs(z_of_mean(squares, 1.1 * expected)) > 5  # ten percent off would be noticed
            else:
                assert squares.max() < 1e-20
