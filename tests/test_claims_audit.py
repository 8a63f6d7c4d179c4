"""The audit of the theorems: expected verdicts, independent closed forms, and checks that can hold as well as fail."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import sympy
import torch

from marslab import optimizers
from marslab.claims import CLAIMS, _audit_chain
from marslab.claims._audit import CoinCurvature, Coins, error_bound, every, scaled_theorem, walk
from marslab.claims._symbols import FAULTY_MARS
from marslab.moments import propagate
from marslab.noise import additive, minibatch
from marslab.optimizers import mars, mars_adamw, mars_lion
from marslab.problems import quadratic
from marslab.schedules import TheoremBeta, theorem
from marslab.simulate import run
from marslab.verdicts import CANNOT_TELL, FAILS, HOLDS

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")

EXPECTED = {
    "audit_adamw_theorem_is_vacuous": FAILS,
    "audit_bias_correction_overcorrects": HOLDS,
    "audit_clip_in_lemmas": FAILS,
    "audit_coefficient_of_m": FAILS,
    "audit_d14_loses_beta": FAILS,
    "audit_first_step": FAILS,
    "audit_gamma_star_in_unit_interval": FAILS,
    "audit_lion_has_no_lower_bound": FAILS,
    "audit_m_is_never_negative": FAILS,
    "audit_m_negative_frequency": FAILS,
    "audit_power_of_eta": FAILS,
    "audit_power_of_rho": FAILS,
    "audit_rate_wording": HOLDS,
    "audit_sign_in_lemma_c2": FAILS,
    "audit_stationarity_needs_upper_bound": FAILS,
    "audit_weight_decay_moves_limit": HOLDS,
}


def module(name):
    return CLAIMS[name].module


def checked(name, **settings):
    """Row and verdict of a claim with other settings."""
    claim = CLAIMS[name]
    return dataclasses.replace(claim, settings={**claim.settings, **settings}, planted="").check()


def verdict(name, **settings):
    return checked(name, **settings)[1].verdict


@pytest.mark.parametrize("name", EXPECTED)
def test_the_verdict_is_the_expected_one(name, quick, measured):
    row, found = measured(name)
    assert found.verdict == EXPECTED[name], row


def test_every_item_of_the_audit_is_here():
    assert {name for name in CLAIMS if name.startswith("audit_")} == set(EXPECTED)


# the published statement fails and its repair holds through the same check


REPAIRS = {
    "audit_adamw_theorem_is_vacuous": {"eps": 1.0},
    "audit_clip_in_lemmas": {"start": 0.5},
    "audit_coefficient_of_m": {"coefficient": module("audit_coefficient_of_m").derived},
    "audit_d14_loses_beta": {"formula": module("audit_d14_loses_beta").corrected},
    "audit_first_step": {"schedule": TheoremBeta},
    "audit_gamma_star_in_unit_interval": {"level": math.sqrt(10)},
    "audit_m_is_never_negative": {"gammas": None},
    "audit_power_of_eta": {"power": 2},
    "audit_power_of_rho": {"power": 2},
    "audit_sign_in_lemma_c2": {"sign": 1},
    "audit_stationarity_needs_upper_bound": {"upper": 1e4},
    "audit_lion_has_no_lower_bound": {"eps": 1.0},
    "audit_m_negative_frequency": {"gamma": 1.0},  # M is 0 there by definition
}


@pytest.mark.parametrize("name", REPAIRS)
def test_the_check_holds_for_the_repaired_statement(name):
    assert verdict(name, **REPAIRS[name]) == HOLDS


def test_every_failing_claim_has_a_repair():
    assert set(REPAIRS) == {name for name, found in EXPECTED.items() if found == FAILS}


@pytest.mark.parametrize("fault", [name for name in FAULTY_MARS if "step" not in name])
def test_the_repaired_formula_of_gamma_fails_for_a_faulty_rule(fault):
    rule = FAULTY_MARS[fault].settings["rule"]
    assert verdict("audit_d14_loses_beta", formula=module("audit_d14_loses_beta").corrected, rule=rule) == FAILS


# the helpers


def test_the_walk_takes_the_steps_of_a_run():
    options = dict(problem=quadratic([1.0, 0.3]), noise=additive(1.0), seeds=3, exact=True, lr=0.1, gamma=[0.1, 0.7])
    data = run(mars_adamw, steps=20, record=list(range(1, 21)), **options)
    gradients = [options["problem"].gradient(step.x)["x"] for step in walk(mars_adamw, steps=20, **options)]
    norms = [torch.linalg.vector_norm(gradient, dim=-1) for gradient in gradients]
    assert np.allclose(torch.stack(norms, -1).numpy(), data.grad_norm.values, rtol=1e-12)


def test_the_coins_spell_every_sequence_of_signs_once():
    noise = Coins(1.0) + CoinCurvature(1.0)
    steps = list(walk(mars, problem=quadratic([1.0]), noise=noise, steps=2, seeds=every(4), exact=True, lr=0.0, first="equal"))
    seen = {tuple(round(float(s.seen.g["x"][lane, 0]), 9) for s in steps) for lane in range(16)}
    values = {(1 + w) + z for w, z in itertools.product((1, -1), repeat=2)}
    assert seen == set(itertools.product(values, repeat=2)) and every(4) == 16


def test_the_enumerated_expectation_is_that_of_exact_moments():
    options = dict(problem=quadratic([1.0], start_scale=0.7), steps=2, exact=True, gamma=0.4, **theorem(33, 1500))
    *_, last = walk(mars, noise=Coins(0.8), seeds=every(2), **options)
    moments = propagate(mars, noise=additive(0.8), record=[1, 2], **options)
    found = (last.states["x"]["m"] - last.x["x"]).square().mean()
    assert float(found) == pytest.approx(float(moments.error_squared[-1]), rel=1e-6)


def test_the_chain_is_that_of_the_proof():
    rho, eta, L, c = _audit_chain.rho, _audit_chain.eta, _audit_chain.L, _audit_chain.c
    found = _audit_chain.chain(mars)
    wanted = (eta / rho, 3 * rho / (8 * eta), rho * c**2 * eta**3 / (8 * L**2), rho / (16 * L**2 * eta))
    assert all(sympy.simplify(a - b) == 0 for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("fault", [name for name in FAULTY_MARS if "step" not in name])
def test_the_chain_refuses_a_rule_for_which_the_lemma_is_not_proved(fault):
    with pytest.raises(ValueError, match="not proved"):
        _audit_chain.chain(FAULTY_MARS[fault].settings["rule"])


@pytest.mark.parametrize(("power", "bound"), [(0.5, 0.5), (1, 0.0), (2, 0.0)])
def test_the_growth_of_a_bound(power, bound):
    integral = _audit_chain.integral(sympy.Rational(power))
    total = sum((3 + t) ** -power for t in range(1, 2001))
    assert total <= float(integral.subs({_audit_chain.s: 3, _audit_chain.T: 2000})) * 1.0001
    assert float(_audit_chain.growth(integral)) == bound


# independent closed forms


def error_path(betas, first):
    """E|eps_t|^2 by eps_{t+1} = beta eps_t + (1 - beta) z, sigma = 1: gamma = 1 and additive noise."""
    out = [first]
    for beta in betas:
        out.append(beta**2 * out[-1] + (1 - beta) ** 2)
    return np.array(out)


def test_the_mean_error_beside_its_closed_form():
    found = module("audit_power_of_rho").mean_error(mars, 1000.0, 190.0, 1.0)
    steps = np.arange(1, 1000)
    wanted = error_path(1 - 33 * (190.0 + steps) ** (-2 / 3), 1.0).mean() * 1000**2
    assert found == pytest.approx(wanted, rel=1e-9)


def test_the_printed_bound_is_not_homogeneous_and_the_repaired_one_is():
    def bound(a, power):
        return error_bound(1000, L=a, rho=a, sigma=a, c=33, s=190, gap=a * 0.7, power=power) / a**2

    assert bound(50.0, 2) == pytest.approx(bound(1.0, 2)) and bound(50.0, 1) < bound(1.0, 1) / 2
    assert scaled_theorem(33, 190, 50.0)["lr"](7) == pytest.approx(197 ** (-1 / 3) / 50)


def test_the_first_step_beside_its_closed_form():
    found = module("audit_first_step")
    first, mean = found.errors(mars, found.Continued, 100.0)
    beta = 1 - found.C * (found.S + np.arange(found.STEPS)) ** (-2 / 3)
    wanted = error_path(beta[1:], beta[0] ** 2 * 1e4 + (1 - beta[0]) ** 2)
    assert first == pytest.approx(wanted[0], rel=1e-9) and mean == pytest.approx(wanted.mean(), rel=1e-3)


def test_the_gain_of_the_counterexample_is_beta_squared():
    found = module("audit_coefficient_of_m")
    beta = float(theorem(found.C, 1e4)["beta1"](2))
    assert found.best_gain(mars, 2.0, 1e4) == pytest.approx(beta**2 * 4, rel=1e-6)
    assert found.lowest([0.0, 1.0, 3.0], [2 + (g - 0.3) ** 2 for g in (0.0, 1.0, 3.0)]) == pytest.approx(2)


def test_the_chain_never_gives_the_printed_coefficient():
    found = module("audit_coefficient_of_m")
    s, late = np.meshgrid(np.geomspace(1, 1e6, 30), np.geomspace(1, 1e6, 30))
    steps = s * late
    largest = (s + steps) ** (2 / 3) / (16 * steps)  # all of M at the last step
    assert (largest / found.printed(steps, s)).max() == pytest.approx(2 ** (2 / 3) / 2)
    assert (found.derived(steps, s) <= largest * (1 + 1e-9) + (s + 1 > s + steps)).all()


def test_gamma_star_is_the_closed_form_and_does_not_depend_on_the_gamma_in_use():
    found = module("audit_gamma_star_in_unit_interval")
    for a, level, gamma in itertools.product((0.1, 0.3), (0.0, 1.0, 10**0.5), (0.0, 0.4)):
        assert found.optimum(mars, a, 0.9, level, gamma) == pytest.approx(found.closed_form(a, 0.9, level), rel=1e-9)


def test_the_sign_counterexample_beside_its_closed_form():
    found = module("audit_sign_in_lemma_c2")
    beta, eta = float(theorem(33, 6000)["beta1"](2)), 6001 ** (-1 / 3)
    left, right = found.both_sides(mars, found.STATED, 6000.0, 1.0)
    assert left == pytest.approx(4 * beta**2 + (1 - beta) ** 2, rel=1e-6)
    assert right == pytest.approx(2 * beta**2 * eta**2 + 2 * (1 - beta) ** 2, rel=1e-5)
    assert found.remaining(mars, found.PROVED) == 0 and found.remaining(mars, found.STATED) != 0


def test_the_sign_of_m_is_that_of_the_derivation_everywhere():
    assert "in 100% of 320 settings" in CLAIMS["audit_m_is_never_negative"].row().note


def test_both_lemmas_hold_only_where_the_clip_never_acts():
    found = module("audit_clip_in_lemmas")
    on, off, small = (found.ratios(mars_adamw, *o, 0.01) for o in ((1.0, 10.0), (math.inf, 10.0), (1.0, 0.5)))
    assert on[0] > 1 > on[1] and off[0] <= 1 < off[1] and max(small) <= 1


def test_the_gain_on_the_network_beside_sampled_minibatches():
    """600 x 32 rows at two points: the closed form lies within four standard errors of the sampled gain."""
    found = module("audit_m_negative_frequency")
    problem = found.two_layer("digits", hidden=4)
    options = dict(problem=problem, noise=minibatch(32), steps=30, seeds=2, exact=True, beta1=0.95, lr=3e-3)
    *_, step = walk(mars_adamw, clip_radius=math.inf, **options)
    rows = torch.randint(problem.examples, (600, 1, 32), generator=torch.Generator().manual_seed(1))
    here, g, h = problem.gradient(step.new), problem.gradient(step.new, rows), problem.gradient(step.x, rows)

    def error(gamma):
        m = {n: 0.95 * step.states[n]["m"] + 0.05 * g[n] + gamma * 0.95 * (g[n] - h[n]) - here[n] for n in g}
        return found.dot(problem, m, m)

    sampled = (error(1.0) - error(0.025)).numpy()
    closed, _ = found.gain(problem, step, 0.025, 0.95, 32)
    assert (np.abs(sampled.mean(0) - closed) < 4 * sampled.std(0) / np.sqrt(600)).all()


def test_the_gain_on_the_network_is_the_gap_to_the_optimal_gamma():
    """M = S beta^2 (1 - gamma)(1 + gamma - 2 gamma*): zero at gamma = 1 and at 2 gamma* - 1."""
    found = module("audit_m_negative_frequency")
    problem = found.two_layer("digits", hidden=4)
    *_, step = walk(mars, problem=problem, noise=minibatch(8), steps=4, exact=True, lr=0.1)
    best = float(found.gain(problem, step, 0.5, 0.95, 8)[1][0])
    size = abs(float(found.gain(problem, step, best, 0.95, 8)[0][0]))
    assert size > 0 and abs(float(found.gain(problem, step, 2 * best - 1, 0.95, 8)[0][0])) < 1e-9 * size
    assert float(found.gain(problem, step, 1.0, 0.95, 8)[0][0]) == 0


def test_the_closed_form_of_the_gain_on_the_network_is_that_of_the_recursion():
    """Given the past: S = |d|^2 + V/b, P = K/b; V and K as in the claim's docstring."""
    c = _audit_chain
    left, spread = c.beta * (1 - c.gamma), sympy.Symbol("spread")  # V / b
    claimed = 2 * c.beta * left * c.Q - left**2 * c.D + 2 * (1 - c.beta) * left * c.P + c.beta**2 * (1 - c.gamma**2) * spread
    assert sympy.expand(c.gain(mars) - claimed.subs(spread, c.S - c.D)) == 0


def test_m_is_positive_only_until_the_average_has_caught_up():
    row = CLAIMS["audit_m_negative_frequency"].row()
    assert "0% of the seeds at step 1," in row.note and "100% of all from step 40 on" in row.note
    row, _ = CLAIMS["audit_m_negative_frequency"].plant("the estimate starts at the first gradient").check()
    assert "100% of the seeds at step 1," in row.note and row.measured == 1


def test_a_share_has_the_spread_that_a_share_may_have():
    found = module("audit_m_negative_frequency").share
    same = found(np.ones((4, 8)) * np.array([[1], [1], [1], [0]]))
    assert same.estimate == 0.75 and same.standard_error == pytest.approx(math.sqrt(0.75 * 0.25 / 8))
    assert found(np.eye(2)).standard_error == pytest.approx(math.sqrt(0.25 / 2))


@pytest.mark.parametrize(("sigma", "decay"), [(1.0, 0.1), (0.5, 0.3)])
def test_the_limit_under_decay_solves_its_equation(sigma, decay):
    found = module("audit_weight_decay_moves_limit")
    u = found.distance(sigma, decay)
    assert u > 0 and u == pytest.approx(decay * math.hypot(sigma, u) * (found.CENTRE - u))


def test_the_shifted_problem_is_consistent():
    problem = module("audit_weight_decay_moves_limit").Shifted()
    x = {"x": torch.linspace(-1, 4, problem.size, dtype=torch.float64).requires_grad_()}
    (gradient,) = torch.autograd.grad(problem.value(x), x["x"])
    assert torch.allclose(gradient, problem.gradient(x)["x"].detach())
    assert float(problem.value(problem.start())) == problem.f_min == 0


def test_the_smallest_momentum_of_lion_follows_one_over_the_steps():
    """Chance of no |m| below a: about (1 - 2 p(0) a)^N; so N times the minimum keeps its size while N grows fivefold."""
    found = module("audit_lion_has_no_lower_bound").smallest(mars_lion, additive(1.0), 1000, 64, 0.0)
    few, many = (np.median(found[n - 1]) * n for n in (200, 1000))
    assert 0.4 < many / few < 2.5


def test_the_bias_correction_of_the_released_first_step_in_numbers():
    """m of the rule itself on a constant gradient, against Adam's factor."""
    state, g, prev = {"m": 0.0}, 1.0, 0.0
    for t in range(1, 11):
        _, state = mars(0.0, state, g, prev, beta1=0.95, gamma=0.025)
        prev = g
        assert state["m"] / (1 - 0.95**t) == pytest.approx(1 + 0.025 * 0.95**t / (1 - 0.95**t))


def test_adam_needs_more_steps_than_anyone_takes():
    found = module("audit_adamw_theorem_is_vacuous").first_covered
    assert found(1.0, 1e-8)[0] == pytest.approx(8e24) and found(1.0, 1e-8)[1] == pytest.approx(32**1.5 * 1e24, rel=1e-6)
    assert found(1.0, 1.0)[1] == pytest.approx(33**1.5 - 1)
    assert optimizers.find_rule("mars_adamw").hyper["eps"] == 1e-8


def test_a_bound_on_lion_cannot_be_told_from_two_seeds():
    assert verdict("audit_lion_has_no_lower_bound", seeds=2) == CANNOT_TELL
