"""Identities between rules: proved, measured, and failing where a condition is dropped (lemmas, dictionary, QHM)."""

import dataclasses
from itertools import pairwise
from types import SimpleNamespace

import pytest
import sympy
import torch

import marslab
from marslab import identities, optimizers
from marslab.errors import UsageError
from marslab.identities import FIRST, IDENTITIES, Failure
from marslab.identities.terms import Book
from marslab.identities.walk import Numbers, walk

TIGHT, WIDE = 1e-12, 1e-6
UNDER_BOTH = ("momentum", "adamw", "signum", "storm", "adan", "superadam")
every = pytest.mark.parametrize("name", IDENTITIES)
both = pytest.mark.parametrize("first", FIRST)
dropped = pytest.mark.parametrize(
    "name, failure, first",
    [
        pytest.param(name, failure.name, first, id=f"{name}-{failure.name}-{first}")
        for name, identity in IDENTITIES.items()
        for failure in identity.failures
        for first in failure.first
    ],
)


def trail(name, first, failure=None, steps=50, exact=False):
    """Both sides after each step, and the gradients of those steps."""
    identity, world = IDENTITIES[name], Numbers((7,), steps, seed=3)
    return list(walk(identity, world, first, steps, exact, identity.failure(failure))), world.stream[:, 0]


@every
@both
def test_proved_for_every_step(name, first):
    proof = identities.prove(name, first)
    assert proof.holds, {what: value for what, value in proof.remaining.items() if value != 0}
    whole = IDENTITIES[name].points and (first == "zero" or name in UNDER_BOTH)
    assert any(what.endswith("step x") for what in proof.remaining) == whole


@every
@both
def test_measured_over_fifty_steps(name, first):
    for seed in range(3):
        assert identities.gap(name, first, seed=seed) <= TIGHT


@every
@both
def test_measured_over_more_steps(name, first):
    assert identities.gap(name, first, steps=200) <= 10 * TIGHT
    found = identities.trace(name, first, steps=2)
    assert found["estimate"].dtype == torch.float64 and len(found["estimate"]) == 2


@dropped
def test_fails_where_a_condition_is_dropped(name, failure, first):
    assert identities.refute(name, first, failure) != 0
    assert identities.gap(name, first, failure) > WIDE


@every
def test_the_others_may_follow_any_schedule(name):
    """What the invariant mentions must be constant; the other hyper-parameters may change at every step."""
    identity, constant = IDENTITIES[name], identities.prove(name, "zero").constant
    for first in FIRST:
        for one in identity.free:
            varied = Failure(f"{one} varies", "", varying=(one,))
            if one in constant:
                assert identities.refute(name, first, varied) != 0 and identities.gap(name, first, varied) > WIDE
            else:
                assert identities.refute(name, first, varied) == 0 and identities.gap(name, first, varied) <= TIGHT


@every
def test_a_wrong_statement_is_not_proved(name):
    """The prover is not satisfied by everything: a wrong invariant, and a wrong convention."""
    identity = IDENTITIES[name]
    for entry, relation in identity.invariant.items():
        wrong = {entry: lambda h, b, last, relation=relation: 2 * relation(h, b, last)}
        assert not identities.prove(dataclasses.replace(identity, invariant=identity.invariant | wrong), "zero").holds
    lagless = dataclasses.replace(identity, lag=None)
    assert identities.prove(lagless, "equal").holds == (name in UNDER_BOTH)
    assert (identities.gap(lagless, "equal") <= TIGHT) == (name in UNDER_BOTH)


@every
def test_every_identity_says_what_it_states(name):
    identity = IDENTITIES[name]
    assert identity.name == name and identity.statement and identity.source and identity.failures
    assert all(failure.then for failure in identity.failures)
    assert set(identity.invariant) <= {*identity.rules[0].memory, *identity.rules[0].scalars}
    assert identity.lag is None or identity.note


# sizes that are known in closed form


def test_storms_start_against_the_papers():
    """m_t of MARS from (1 - beta) g_1 less STORM's from g_1: -beta^t g_1."""
    found = identities.trace("storm", "equal", "different starts")["estimate"]
    g_1 = Numbers((7,), 50, 0).stream[0, 0]
    powers = 0.9 ** torch.arange(1, 51, dtype=torch.float64)[:, None]
    torch.testing.assert_close(found, -powers * g_1, rtol=0, atol=TIGHT)
    torch.testing.assert_close(
        identities.trace("storm", "zero", "different starts")["estimate"], powers * g_1, rtol=0, atol=TIGHT
    )


def test_the_lag_of_approximate_mars():
    """Under the paper's start m_t - (1 - gamma) e_t - gamma g_t = -gamma beta^t g_1."""
    pairs, g = trail("qhm", "equal")
    for pair in pairs:
        gap = pair.state[0]["m"] - pair.state[1]["direction"]
        torch.testing.assert_close(gap, -0.3 * 0.9**pair.t * g[0], rtol=0, atol=TIGHT)


def test_the_gap_where_gamma_varies():
    """D_t = beta [D_{t-1} + (gamma_t - gamma_{t-1})(e_{t-1} - g_{t-1})], exactly."""
    pairs, g = trail("qhm", "zero", "gamma varies")
    expected = torch.zeros(7, dtype=torch.float64)
    for before, pair in pairwise(pairs):
        expected = 0.9 * (expected + (pair.h.gamma - before.h.gamma) * (before.state[1]["m"] - g[int(before.t) - 1]))
        torch.testing.assert_close(pair.state[0]["m"] - pair.state[1]["direction"], expected, rtol=0, atol=TIGHT)


def test_qhadam_with_a_constant_nu():
    """m / (1 - P_t) of MARS-AdamW less QHAdam's numerator: gamma P_t / (1 - P_t) g_t."""
    pairs, g = trail("qhadam", "zero", "constant nu")
    for i, pair in enumerate(pairs):
        product = 0.9 ** (i + 1)
        gap = pair.state[0]["m"] / (1 - product) - pair.state[1]["direction"]
        torch.testing.assert_close(gap, 0.3 * product / (1 - product) * g[i], rtol=0, atol=10 * TIGHT)


def test_lion_at_its_published_betas():
    """(0.9, 0.99) is gamma = 1/11; (0.95, 0.98) is gamma = 3/98."""
    lion = IDENTITIES["lion"]
    for beta1, beta2, gamma in ((0.9, 0.99, 1 / 11), (0.95, 0.98, 3 / 98)):
        own = dataclasses.replace(lion, free=lion.free | {"gamma": gamma, "beta2": beta2}, b=lion.b | {"beta1": beta1})
        assert identities.gap(own, "zero") <= TIGHT


def test_the_nesterov_point_is_gamma_one_less_beta():
    """Muon and Nesterov momentum at mu = 0.95 are gamma = 0.05."""
    for name in ("nesterov", "muon", "moonlight", "nadam", "adan"):
        gamma = IDENTITIES[name].a["gamma"](SimpleNamespace(beta1=0.95))
        assert gamma == pytest.approx(0.05, abs=1e-15)


def test_moonlights_points_agree_for_the_polar_factor_and_nearly_for_newton_schulz():
    moonlight, gaps = IDENTITIES["moonlight"], {}
    for method in ("polar", "newton_schulz"):
        sides = {side: getattr(moonlight, side) | {"orthogonalization": method} for side in "ab"}
        gaps[method] = identities.gap(dataclasses.replace(moonlight, points=True, **sides), "zero")
    assert gaps["polar"] <= TIGHT and TIGHT < gaps["newton_schulz"] < 1e-4


def test_nadam_corrects_its_two_parts_differently():
    """NAdam's numerator is not MARS-AdamW's: mu m_t / (1 - mu^(t+1)) stands in the place of mu m_t / (1 - mu^t)."""
    pairs, g = trail("nadam", "zero", steps=5)
    last, mu = pairs[-1], 0.9
    x, state, h = pairs[-2].x[1], pairs[-2].state[1], last.h
    new, _ = optimizers.nadam(x, state, g[4], t=h.t, beta1=mu, warm_up="constant", lr=1.0)
    m, v = last.state[1]["m"], last.state[1]["v"]
    parts = (1 - mu) / (1 - mu**5) * g[4] + mu / (1 - mu**6) * m
    torch.testing.assert_close(x - new, parts / ((v / (1 - 0.999**5)).sqrt() + 1e-8), rtol=0, atol=TIGHT)


# terms


def test_terms_are_equal_for_equal_arguments_only():
    book = Book()
    a, b = book.term("a"), book.term("b")
    expanded, factored = a * a - b * b, (a + b) * (a - b)
    assert sympy.simplify(expanded.sign().value - factored.sign().value) == 0
    assert (a + b).sign().value != (a - b).sign().value and a.sign().value != a.sqrt().value
    assert a.clamp(min=1).value != a.clamp(max=1).value and (a @ b).value != (b @ a).value
    assert torch.linalg.vector_norm(a, dim=0).value != torch.linalg.vector_norm(a, dim=1).value
    assert (2 - a).value == 2 - sympy.Symbol("a") and (0.1 / a).value == sympy.Rational(1, 10) / sympy.Symbol("a")
    assert (a**2).value == (a * a).value and (a**0.5).value == (a**0.5).value != (0.5**a).value
    assert repr(-a.mT) == "-transpose_" + repr(a.mT).split("_")[1]


# refusals


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: identities.prove("lino", "zero"), "unknown identity 'lino': did you mean 'lion'"),
        (lambda: identities.gap(3, "zero"), "unknown identity 3"),
        (lambda: identities.prove("lion", "zeros"), "first = 'zeros' is unknown; choose 'equal' or 'zero'"),
        (lambda: identities.prove("storm", None), "first = None is unknown"),
        (lambda: identities.gap("lion", "zero", "clips"), "unknown condition of lion 'clips': did you mean 'clip'"),
        (lambda: identities.refute("lion", "zero", "momentum"), "unknown condition of lion"),
        (lambda: identities.gap("lion", "zero", steps=0), "at least 1"),
        (lambda: identities.refute("lion", "zero", "clip", steps=0), "at least 1"),
        (lambda: dataclasses.replace(IDENTITIES["qhm"], a={"gama": 1}), "unknown hyper-parameter of mars .* mean 'gamma'"),
        (lambda: dataclasses.replace(IDENTITIES["qhm"], invariant={"u": None}), "mars keeps no 'u'"),
        (lambda: identities.trace("lion", "zero", exact=True), "approximate form only"),
        (lambda: identities.trace("storm", "zero", exact=False), "exact form only"),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(UsageError, match=sentence):
        call()


def test_the_package_opens_the_room():
    assert marslab.identities is identities and "identities" in dir(marslab)


@pytest.mark.parametrize("name", identities.IDENTITIES)
def test_a_proof_says_what_it_holds_up_to(name):
    lags = identities.IDENTITIES[name].lag is not None
    assert identities.prove(name, "zero").up_to == ""
    assert bool(identities.prove(name, "equal").up_to) is lags
