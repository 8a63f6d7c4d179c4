"""Identities between rules, proved for symbols, and refuted where a condition is dropped (theory, sections 1.5, 3.2, 4.1)."""

import pytest
import sympy

from marslab import symbolic
from marslab.errors import UsageError
from marslab.rule import rule

LR, GAMMA, BETA, NU = sympy.symbols("lr gamma beta1 nu")
EQUAL, ZERO = {"first": "equal"}, {"first": "zero"}


def is_zero(expression):
    return sympy.simplify(expression) == 0


def gaps(a, b):
    """Differences of the two estimates, step by step."""
    return [one.estimate - other.estimate for one, other in zip(a, b, strict=True)]


def test_storm_is_mars_at_gamma_one():
    assert symbolic.difference("storm", "mars", exact=True, gamma=1, first="zero") == 0
    assert symbolic.difference("storm", "mars", exact=True, gamma=1, first="equal") == 0


def test_storms_start_against_the_papers():
    """d_1 = g_1 against m_1 = (1 - beta) g_1: the gap of the estimates is beta^t g_1 at every step."""
    assert symbolic.difference("storm", "mars", exact=True, gamma=1, a=ZERO, b=EQUAL) == -LR * BETA * symbolic.gradient(1)
    storm = symbolic.unroll("storm", 6, exact=True, first="zero")
    mars = symbolic.unroll("mars", 6, exact=True, first="equal", gamma=1)
    for t, gap in enumerate(gaps(storm, mars), start=1):
        assert is_zero(gap - BETA**t * symbolic.gradient(1))


def test_storm_is_mars_under_every_schedule():
    schedules = {"beta1": symbolic.scheduled("beta"), "lr": symbolic.scheduled("eta")}
    assert symbolic.difference("storm", "mars", exact=True, gamma=1, first="zero", **schedules) == 0


def test_storm_is_nothing_else():
    for options in ({"gamma": GAMMA}, {"gamma": sympy.Rational(9, 10)}, {"gamma": 1, "b": {"exact": False}}):
        assert symbolic.difference("storm", "mars", **{"exact": True, "first": "zero", **options}) != 0


def test_approximate_mars_is_quasi_hyperbolic_momentum():
    assert symbolic.difference("qhm", "mars", exact=False, nu=1 - GAMMA, first="zero") == 0
    assert symbolic.difference("mars", "qhm", exact=False, gamma=1 - NU, first="zero") == 0


def test_quasi_hyperbolic_momentum_under_the_equal_start():
    """m_t = (1 - gamma) e_t + gamma g_t - gamma beta^t g_1."""
    gap = symbolic.difference("mars", "qhm", exact=False, nu=1 - GAMMA, first="equal")
    assert is_zero(gap - LR * GAMMA * BETA * symbolic.gradient(1))
    mars = symbolic.unroll("mars", 6, exact=False, first="equal")
    qhm = symbolic.unroll("qhm", 6, nu=1 - GAMMA)
    for t, gap in enumerate(gaps(mars, qhm), start=1):
        assert is_zero(gap + GAMMA * BETA**t * symbolic.gradient(1))


def test_quasi_hyperbolic_momentum_needs_a_constant_gamma_and_the_approximate_form():
    options = {"nu": 1 - GAMMA, "first": "zero"}
    assert symbolic.difference("qhm", "mars", exact=True, **options) != 0
    varying = symbolic.scheduled("gamma")
    assert symbolic.difference("qhm", "mars", first="zero", nu=lambda t: 1 - varying(t), gamma=varying) != 0
    # beta may vary: the induction of theory 4.1 uses the beta of one step at a time
    assert symbolic.difference("qhm", "mars", nu=1 - GAMMA, first="zero", beta1=symbolic.scheduled("beta")) == 0


def test_approximate_mars_at_gamma_one_is_sgd():
    assert symbolic.difference("sgd", "mars", exact=False, gamma=1, first="zero") == 0
    steps = {"beta1": symbolic.scheduled("beta"), "lr": symbolic.scheduled("eta")}
    assert symbolic.difference("sgd", "mars", exact=False, gamma=1, first="zero", **steps) == 0
    for t, step in enumerate(symbolic.unroll("mars", 6, exact=False, first="equal", gamma=1), start=1):
        assert is_zero(step.estimate - symbolic.gradient(t) + BETA**t * symbolic.gradient(1))
    assert symbolic.difference("sgd", "mars", exact=True, gamma=1, first="zero") != 0


def test_momentum_is_mars_at_gamma_zero_in_both_forms():
    for exact in (True, False):
        for first in ("equal", "zero"):
            assert symbolic.difference("momentum", "mars", exact=exact, gamma=0, first=first) == 0


def test_floats_are_taken_by_their_digits():
    options = dict(exact=False, first="zero", gamma=0.3, nu=0.7, beta1=0.9)
    assert symbolic.difference("qhm", "mars", **options) == 0
    assert symbolic.difference("qhm", "mars", **{**options, "nu": 0.7000001}) != 0


def test_unroll_by_hand():
    g1, g2, h2, x1 = symbolic.gradient(1), symbolic.gradient(2), symbolic.previous_gradient(2), symbolic.start()
    _, two = symbolic.unroll("mars", 2, exact=True, first="equal")
    m1 = (1 - BETA) * g1
    m2 = BETA * m1 + (1 - BETA) * (g2 + GAMMA * BETA / (1 - BETA) * (g2 - h2))
    assert is_zero(two.state["m"] - m2)
    assert is_zero(two.x - (x1 - LR * m1 - LR * m2))


def test_running_products_and_t_reach_the_rule_as_numbers():
    @rule(memory=("m",), scalars=("product",))
    def corrected_momentum(x, state, g, *, lr=0.1, beta1=0.9, t=None, axes=None):
        m, product = beta1 * state["m"] + (1 - beta1) * g, state["product"] * beta1
        return x - lr * t * m / (1 - product), dict(m=m, product=product)

    three = symbolic.unroll(corrected_momentum, 3)[-1]
    assert is_zero(three.state["product"] - BETA**3)
    moved = sympy.diff(three.x, symbolic.gradient(3))
    assert is_zero(moved + 3 * LR * (1 - BETA) / (1 - BETA**3))


@rule()
def squared(x, state, g, *, lr=0.1):
    return x - lr * g * g, {}


@rule()
def shifted(x, state, g, *, lr=0.1):
    return x - lr * (g + 1), {}


@pytest.mark.parametrize(
    "a, b, options, sentence",
    [
        ("adamw", "mars", {}, "symbols cannot pass through adamw"),
        ("mars_adamw", "mars", {}, "clip_radius=inf"),
        ("mars_lion", "mars", {}, "symbols cannot pass through mars_lion"),
        (squared, "sgd", {}, "squared is not linear"),
        (shifted, "sgd", {}, "shifted is not linear"),
        ("mars", "sgd", {"gama": 1}, "did you mean 'gamma'"),
        ("mars", "sgd", {"a": {"gama": 1}}, "did you mean 'gamma'"),
        ("mars", "sgd", {"gamma": [0, 1]}, "is an axis"),
        ("storm", "mars", {"exact": False}, "only the exact form"),
        ("mars", "sgd", {"first": "one"}, "equal"),
        ("mars", "sgd", {"steps": 0}, "at least 1"),
    ],
)
def test_refusals(a, b, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        symbolic.difference(a, b, **options)
