"""What noise laws say of themselves: constants against sampled differences, values for keys, refusals."""

import dataclasses
import math

import pytest
import torch

from marslab import noise, problems
from marslab.canonical import canonical_text
from marslab.errors import UsageError
from marslab.noise import LAWS
from marslab.noise.base import flatten
from marslab.oracle import Oracle, Samples
from marslab.schedules import PowerLaw
from marslab.streams import BLOCK

PLAIN = problems.quadratic((1.0, 0.5, 0.25, 2.0))
TURNED = problems.quadratic((1.0, 0.5, 0.25, 2.0), rotation_seed=3)
ROWS = problems.sigmoid_classification("breast_cancer")


def z_of_mean(values, expected):
    """z score of a mean of independent values."""
    return (values.mean() - expected) / (values.std() / math.sqrt(values.numel()))


def differences(problem, law, x, y, seeds=256):
    """d_xi = g(x, xi) - g(y, xi) on many samples."""
    samples, seen = Samples(problem, law, list(range(seeds)), torch.float64), []
    oracle = Oracle(problem, law, "exact", "equal", lambda event_ndim: law.level_values())
    lanes = [{name: v.expand(seeds, *v.shape) for name, v in point.items()} for point in (y, x)]
    for t in range(1, BLOCK + 1):  # at even steps the previous point is y and the point is x
        one = oracle.observe(lanes[t % 2 == 0], samples.at(t))
        seen += [flatten(problem, one.g) - flatten(problem, one.prev)] if t % 2 == 0 else []
    return torch.stack(seen).flatten(0, 1)


@pytest.mark.parametrize(
    ("problem", "law"),
    [
        (TURNED, noise.curvature(0.5)),
        (TURNED, noise.curvature(0.5, shared=True) + noise.additive(2.0)),
        (ROWS, noise.minibatch(2)),
        (ROWS, noise.minibatch(2) + noise.curvature(0.8) + noise.additive(0.1)),
    ],
)
def test_constants_bound_the_differences(problem, law):
    known, n = law.constants(problem), problem.size
    steepest = int(torch.as_tensor(problem.spectrum).argmax()) if problem.spectrum is not None else 0
    direction = problem.from_eigenbasis({"x": torch.eye(n, dtype=torch.float64)[steepest]})["x"]
    x, y = {"x": 0.3 * direction}, {"x": -0.2 * direction}
    d = differences(problem, law, x, y)
    mean = flatten(problem, problem.gradient(x)) - flatten(problem, problem.gradient(y))
    distance = 0.5**2
    spread, squared = (d - mean).square().sum(-1) / distance, d.square().sum(-1) / distance
    if problem is TURNED:  # attained along the steepest eigenvector
        assert abs(z_of_mean(spread, known["delta"] ** 2)) < 5 and abs(z_of_mean(squared, known["mean_squared_L"] ** 2)) < 5
    else:
        assert spread.mean() < known["delta"] ** 2 and squared.mean() < known["mean_squared_L"] ** 2


def test_constants_of_a_product_of_rows_and_curvature_noise_multiply():
    rows, bent = noise.minibatch(2).constants(ROWS), noise.curvature(0.8).constants(ROWS)
    both = (noise.minibatch(2) + noise.curvature(0.8)).constants(ROWS)
    expected = (1 + (rows["delta"] / ROWS.L) ** 2) * (1 + 0.8**2) - 1
    assert both["delta"] == pytest.approx(ROWS.L * math.sqrt(expected))
    assert both["mean_squared_L"] == pytest.approx(rows["mean_squared_L"] * math.hypot(1, 0.8))
    assert bent["delta"] == pytest.approx(0.8 * ROWS.L)


def test_additive_constants():
    assert noise.additive(0.3).constants(PLAIN) == {"sigma": 0.3, "delta": 0.0, "mean_squared_L": 2.0}
    both = (noise.additive(0.3) + noise.curvature(0.0)).constants(PLAIN)
    assert both["sigma"] == pytest.approx(0.3) and both["delta"] == 0.0 and both["mean_squared_L"] == 2.0


@pytest.mark.parametrize("name", LAWS)
def test_every_law_is_a_value(name):
    law = LAWS[name]()
    assert law == LAWS[name]() and hash(law) == hash(LAWS[name]())
    assert law.name == name and law.configuration()["noise"] == name
    assert law.__doc__ and law.draw.__doc__ and law.constants.__doc__
    assert set(law.constants(ROWS)) == {"sigma", "delta", "mean_squared_L"}


def test_configuration_tells_laws_and_schedules_apart():
    laws = [
        noise.additive(0.5),
        noise.additive(0.5, law="rademacher"),
        noise.curvature(0.5),
        noise.additive(PowerLaw(1.0, 0.5)),
    ]
    laws += [laws[0] + laws[2], noise.additive(Line(1.0, 0.5))]
    assert len({canonical_text(law) for law in laws}) == len(laws)


@dataclasses.dataclass(frozen=True)
class Line:  # another schedule with PowerLaw's fields
    scale: float
    exponent: float
    shift: float = 0.0

    def __call__(self, t):
        return self.scale * t


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: noise.additive(-0.1), r"sigma = -0.1 lies outside \[0, inf\)"),
        (lambda: noise.additive([0.1, -2.0]), r"sigma = -2.0 lies outside"),
        (lambda: noise.additive(math.nan), "sigma = nan"),
        (lambda: noise.additive("loud"), "sigma = 'loud'.*give a number"),
        (lambda: noise.additive(True), "sigma = True"),
        (lambda: noise.additive(law="cauchy"), "law = 'cauchy' is unknown; choose gaussian, rademacher or student"),
        (lambda: noise.additive(law="student", degrees=0), "degrees = 0 must be a positive number"),
        (lambda: noise.additive(correlation=1.0), r"correlation = 1.0 lies outside \(-1, 1\)"),
        (lambda: noise.curvature(-1), r"level = -1 lies outside"),
        (lambda: noise.curvature(law="student"), "choose gaussian or rademacher"),
        (lambda: noise.minibatch(0), "batch = 0 must be a whole number of at least 1"),
        (lambda: noise.minibatch(2.5), "batch = 2.5"),
        (lambda: noise.minibatch(4).check(PLAIN), "quadratic is no sum over rows.*use additive noise"),
    ],
)
def test_bad_laws_are_refused_in_one_sentence(make, words):
    with pytest.raises(UsageError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
