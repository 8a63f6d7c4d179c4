"""Streams of random numbers: one generator for each seed and purpose, uncorrelated, and the same in any company."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from marslab.errors import UsageError
from marslab.streams import BLOCK, PURPOSES, SEED_BITS, Stream, check_seeds, scramble

WORD = st.integers(0, 2**32 - 1)


def unscramble(word):
    """The inverse, step by step: the multipliers are odd, so they have inverses modulo 2^32."""
    word ^= word >> 16
    word = word * pow(0xC2B2AE35, -1, 2**32) & 0xFFFFFFFF
    word ^= word >> 13 ^ word >> 26
    word = word * pow(0x85EBCA6B, -1, 2**32) & 0xFFFFFFFF
    return word ^ word >> 16


@given(WORD)
def test_scramble_is_a_bijection(word):
    assert unscramble(scramble(word)) == word
    assert 0 <= scramble(word) < 2**32


def test_keys_of_streams_fit_the_bijection_and_never_meet():
    assert (len(PURPOSES) << SEED_BITS) <= 2**32
    keys = {scramble(i << SEED_BITS | seed) for i in range(len(PURPOSES)) for seed in (*range(2000), 2**SEED_BITS - 1)}
    assert len(keys) == len(PURPOSES) * 2001


SIZE = (4 * BLOCK, 8)
DRAWS = {
    "normal": lambda stream: stream.normal(SIZE),
    "rademacher": lambda stream: stream.rademacher(SIZE),
    "student": lambda stream: stream.student_t(SIZE, 5.0),
    "integers": lambda stream: stream.integers(1000, SIZE),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_seeds_and_purposes_are_uncorrelated(draw):
    """The largest of all pairwise correlations of 60 streams stays below five standard errors."""
    keys = [(seed, purpose) for purpose in PURPOSES for seed in (*range(10), 2**SEED_BITS - 2, 2**SEED_BITS - 1)]
    values = [draw(Stream(*key)).flatten().double().numpy() for key in keys]
    correlation = np.corrcoef(values) - np.eye(len(values))
    assert np.abs(correlation).max() < 5 / np.sqrt(np.prod(SIZE))
    shifted = np.corrcoef([v[1:] for v in values], [v[:-1] for v in values])  # nor is one the other, a draw later
    assert np.abs(shifted - np.eye(len(shifted))).max() < 5.5 / np.sqrt(np.prod(SIZE))


def test_one_stream_has_independent_draws_and_the_moments_of_a_normal():
    z = Stream(7, "additive").normal((2**16,)).double()
    n = len(z)
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):  # Var z^k
        assert abs((z**power).mean() - moment) < 5 * np.sqrt(spread / n)
    for lag in (1, 2, 16, 128, 1024):
        assert abs((z[lag:] * z[:-lag]).mean()) < 5 / np.sqrt(n)


def test_a_stream_depends_on_nothing_but_its_key():
    alone = Stream(3, "additive").normal((BLOCK, 5))
    torch.manual_seed(99)
    others = [Stream(seed, "additive") for seed in (9, 3, 1)]
    for other in others:
        other.student_t((4,), 3.0)  # another generator of the same stream
    before = torch.random.get_rng_state()
    assert torch.equal(others[1].normal((BLOCK, 5)), alone)
    assert torch.equal(before, torch.random.get_rng_state())  # the global generator is left alone


@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 10**6))
def test_integers_are_prefixes_of_longer_draws_at_every_call(short, more, high):
    small, large = Stream(5, "rows"), Stream(5, "rows")
    for _ in range(3):
        a, b = small.integers(high, (short, 7)), large.integers(high, (short + more, 7))
        assert torch.equal(a, b[:short])
        assert int(b.min()) >= 0 and int(b.max()) < high


def test_a_count_is_the_first_seeds_and_a_list_is_taken_as_it_is():
    assert check_seeds(3) == check_seeds(np.int64(3)) == check_seeds(range(3)) == [0, 1, 2]
    assert check_seeds([5, 2]) == check_seeds(np.array([5, 2])) == check_seeds((5.0, 2)) == [5, 2]


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (0, "seeds = 0 must be a whole number of at least 1"),
        (-1, "seeds = -1"),
        (2.5, "seeds = 2.5"),
        (True, "seeds = True"),
        ("all", "seeds = 'all'"),
        (None, "seeds = None"),
        ([], "give at least 1"),
        ([0, 1, 0], "names a seed twice"),
        ([0.5], "seed 0.5 is no whole number in"),
        ([True], "seed True"),
        ([float("inf")], "seed inf"),
        ([-1], r"seed -1 is no whole number in \[0, 2\^26\); choose one inside"),
        ([2**26], "seed 67108864"),
    ],
)
def test_bad_seeds_are_refused(seeds, words):
    with pytest.raises(UsageError, match=words):
        check_seeds(seeds)
