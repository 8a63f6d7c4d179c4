"""From runs to verdicts, 300 times each on seeds of its own, for three claims whose truth is known in closed form."""

import pytest
from scipy import stats

from marslab.claims import CLAIMS
from marslab.verdicts import FAILS, HOLDS, decide, judge

pytest_plugins = ("quick_data",)
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

NAMES = ("stationary_sampled", "gamma_star_closed_form", "gamma_star_minimises_the_error")
REPEATS, LEVEL = 300, 0.01


@pytest.fixture(scope="module", params=NAMES)
def repeated(request):
    """A claim and 300 measurements of it."""
    claim = CLAIMS[request.param]
    settings = claim.configured("quick")
    count = settings["seeds"]
    found = []
    for turn in range(REPEATS):
        seeds = list(range(1_000 + turn * count, 1_000 + (turn + 1) * count))
        found.append(claim.measure({}, **{**settings, "seeds": seeds}).measurement)
    return claim, found


def shares(claim, found, predicted):
    """How many of the measurements come out HOLDS and FAILS against a prediction."""
    verdicts = [decide([judge(one, predicted=predicted, margin=claim.margin, side=claim.side)])[0].verdict for one in found]
    return verdicts.count(HOLDS), verdicts.count(FAILS)


def assert_rare(alarms):
    assert stats.binomtest(alarms, REPEATS, LEVEL, alternative="greater").pvalue > 1e-3, alarms


def test_a_true_statement_is_told_and_never_called_false(repeated):
    claim, found = repeated
    holds, fails = shares(claim, found, claim.predict())
    assert holds >= 0.9 * REPEATS  # the power at the quick budget
    assert_rare(fails)


def test_a_statement_whose_truth_lies_on_the_edge_of_its_margin_is_rarely_told_either_way(repeated):
    claim, found = repeated
    for side in (-1, 1):
        holds, _ = shares(claim, found, claim.predict() + side * claim.margin)
        assert_rare(holds)


def test_a_statement_that_is_twice_its_margin_away_is_called_false(repeated):
    claim, found = repeated
    for side in (-1, 1):
        holds, fails = shares(claim, found, claim.predict() + 2 * side * claim.margin)
        assert fails >= 0.9 * REPEATS
        assert_rare(holds)
