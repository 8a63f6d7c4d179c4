"""What cannot be run is refused in one sentence that names the value and the remedy, before anything is computed."""

import math

import numpy as np
import pytest
import torch

from marslab import noise, problems
from marslab.errors import UsageError
from marslab.optimizers import RULES
from marslab.rule import rule
from marslab.schedules import PowerLaw
from marslab.simulate import run

QUADRATIC = problems.quadratic((1.0, 0.5))
NETWORK = problems.two_layer("breast_cancer", hidden=2)
BETA = r"lies outside \[0, 1\); choose a value inside"


def refused(words, name="mars_adamw", **change):
    started = []
    setting = {"problem": QUADRATIC, "noise": noise.additive(0.1), "steps": 200, "seeds": 2, **change}
    with pytest.raises(UsageError, match=words) as caught:
        run(name, progress=lambda *call: started.append(call), **setting)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 300
    assert isinstance(caught.value, ValueError)
    assert not started


@pytest.mark.parametrize("name", RULES)
def test_an_unknown_hyper_parameter_names_the_closest(name):
    refused(f"{name} has no hyper-parameter 'lrr': did you mean 'lr'", name, lrr=0.1, problem=problems.matrix_factorization())
    for known in RULES[name].hyper:
        if len(known) > 3:
            wrong = known[:-2] + known[-1] + "x"
            refused(f"no hyper-parameter '{wrong}': did you mean '{known}'", name, **{wrong: 0.1})


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if "beta1" in rule.hyper])
@pytest.mark.parametrize("beta", [1.0, -0.1, 1.5, math.nan, math.inf])
def test_beta_outside_its_range_is_refused_wherever_it_stands(name, beta):
    problem = problems.two_layer("breast_cancer", hidden=3) if RULES[name].matrix is False else problems.matrix_factorization()
    shown = f"beta1 = {beta:g} "
    refused(shown + BETA, name, beta1=beta, problem=problem)
    refused(shown + BETA, name, beta1=[0.5, beta], problem=problem)
    late = lambda t: torch.where(t == 190, beta, 0.5)
    refused(shown + BETA, name, beta1=late, problem=problem)
    refused(shown + BETA, name, beta1=[0.5, late], problem=problem)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        # ranges of the other hyper-parameters
        ({"lr": -0.1}, r"lr = -0.1 lies outside \[0, inf\); choose a value inside"),
        ({"lr": [0.1, -0.2]}, "lr = -0.2 lies outside"),
        ({"lr": lambda t: 10.0 - t}, r"lr = -1 lies outside \[0, inf\)"),
        ({"lr": PowerLaw(1.0, 0.5, -3.0)}, "lr = nan lies outside"),
        ({"gamma": math.nan}, r"gamma = nan lies outside \(-inf, inf\)"),
        ({"gamma": [0.0, math.nan]}, "gamma = nan"),
        ({"eps": -1e-8}, "eps = -1e-08 lies outside"),
        ({"weight_decay": -0.1}, "weight_decay = -0.1 lies outside"),
        ({"clip_radius": 0.0}, r"clip_radius = 0 lies outside \(0, inf\]"),
        # what is no number
        ({"lr": True}, "lr = True is no number; give a number, a list of numbers or a function of t"),
        ({"lr": "0.1"}, "lr = '0.1' is no number"),
        ({"lr": None}, "lr = None is no number"),
        ({"lr": 1j}, "lr = 1j is no number"),
        ({"lr": {"a": 1}}, "is no number"),
        ({"lr": [0.1, "0.2"]}, "lr holds '0.2', which cannot be an axis; run once for each value"),
        ({"lr": [True, False]}, "lr holds True, which cannot be an axis"),
        ({"lr": []}, r"lr = \[\] is an empty axis; give at least one value"),
        ({"lr": [0.1, 0.1]}, "lr holds 0.1 twice; give each value of an axis once"),
        ({"lr": np.ones((2, 2))}, r"lr holds \[1.0, 1.0\], which cannot be an axis"),
        ({"lr": lambda t: torch.ones(7)}, r"gives shape \(7,\) for 200 steps; return one number a step"),
        ({"lr": lambda t: math.sqrt(t)}, "fails on a tensor of steps.*use torch functions of t"),
        # options
        ({"second_moment": "squared"}, "second_moment = 'squared' is unknown; choose 'clipped' or 'raw'"),
        ({"second_moment": ["clipped", "raw"]}, r"second_moment = \['clipped', 'raw'\] is unknown; choose 'clipped' or 'raw'"),
        ({"second_moment": 1}, "second_moment = 1 is unknown"),
        # steps, seeds, records
        *(
            ({"steps": steps}, f"steps = {steps!r} must be a whole number of at least 1")
            for steps in (0, -3, 1.5, "9", None, True)
        ),
        *(({"seeds": seeds}, f"seeds = {seeds!r} must be a whole number of at least 1") for seeds in (0, -1, 2.5, "4", True)),
        ({"seeds": []}, r"seeds = \[\] leaves nothing to run; give at least 1"),
        ({"seeds": [1, 2, 1]}, r"seeds = \[1, 2, 1\] names a seed twice"),
        ({"seeds": [0.5]}, "seed 0.5 is no whole number"),
        ({"seeds": [-1]}, r"seed -1 is no whole number in \[0, 2\^26\)"),
        ({"record": 0}, "record = 0 must be a whole number of at least 1"),
        ({"record": [1, 201]}, r"record = \[1, 201\] must name whole steps within 1..200"),
        ({"record": [0, 5]}, "within 1..200"),
        ({"record": [1.5]}, "must name whole steps"),
        ({"record": []}, "must name whole steps"),
        # words
        ({"dtype": "float16"}, "dtype = 'float16' is unknown; choose 'float64' or 'float32'"),
        ({"dtype": torch.float64}, "dtype = torch.float64 is unknown"),
        ({"first": "one"}, "first = 'one' is unknown; choose 'equal' or 'zero'"),
        ({"clip_scope": "all"}, "clip_scope = 'all' is unknown; choose 'tensor' or 'global'"),
        ({"exact": "False"}, "exact = 'False' must be True, False or None"),
        ({"exact": 2}, "exact = 2 must be"),
        # problem and noise
        (
            {"problem": "quadratic"},
            "problem = 'quadratic' is no problem made ready; give one such as marslab.problems.quadratic",
        ),
        ({"problem": problems.quadratic}, "is no problem made ready"),
        ({"noise": 0.1}, "noise = 0.1 is no noise made ready; give one such as marslab.noise.additive"),
        ({"noise": noise.additive}, "is no noise made ready"),
        ({"noise": noise.minibatch(4)}, "quadratic is no sum over rows, so it has no minibatches; use additive noise"),
        ({"noise": noise.additive(lambda t: 5.0 - t)}, r"sigma = -1 lies outside \[0, inf\)"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_refusals(change, words):
    refused(words, **change)


def test_unknown_rules_are_refused_with_the_closest():
    refused("unknown rule 'mars_adam': did you mean 'mars_adamw'", "mars_adam")
    refused("unknown rule 'zzz': choose among adamw, ", "zzz")
    for odd in (3, None, ["mars"], torch.optim.AdamW):
        refused("unknown rule", odd)


def test_a_mode_that_the_rule_does_not_have_is_refused():
    refused(
        r"storm has only the exact form \(with the last step's gradient.*that is sgd\); leave exact out", "storm", exact=False
    )
    for name in ("sgd", "adamw", "lion", "momentum", "qhm"):
        for exact, form in ((True, "exact"), (False, "approximate")):
            refused(f"{name} takes no previous gradient, so it has no {form} form; leave exact out", name, exact=exact)


@rule(prev="last")
def only_last(x, state, g, prev, *, lr=0.1):
    """A rule with the approximate form alone."""
    return x - lr * (g + (g - prev)), {}


@rule(prev="either")
def noisy(x, state, g, prev, *, sigma=0.1):
    """A rule whose hyper-parameter bears the name of a noise level."""
    return x - sigma * g, {}


def test_a_rule_of_ones_own_is_refused_alike():
    refused("only_last has only the approximate form; leave exact out", only_last, exact=True)
    assert run(only_last, problem=QUADRATIC, steps=2).attrs["mode"] == "approximate"
    refused("'sigma' is a hyper-parameter of noisy and a level of the noise; rename the former", noisy)


def test_a_matrix_rule_needs_a_fallback_for_vectors():
    shampoo = {"name": "mars_shampoo", "problem": NETWORK, "noise": None}
    refused(
        r"mars_shampoo needs a matrix, but 'x' of quadratic has shape \(2,\); name a fallback.*fallback='adamw'", "mars_shampoo"
    )
    refused(r"'b1' of two_layer has shape \(2,\)", **shampoo)
    refused("unknown rule 'adamww': did you mean 'adamw'", fallback="adamww", **shampoo)
    refused("fallback = 'mars_shampoo' needs a matrix itself", fallback="mars_shampoo", **shampoo)
    refused("fallback = 'storm' has no approximate form, in which mars_shampoo runs", fallback="storm", **shampoo)
    refused("fallback_options: lr = .* is an axis, which only the main rule may have", fallback="sgd",
            fallback_options={"lr": [0.1, 0.2]}, **shampoo)  # fmt: skip
    refused("sgd has no hyper-parameter 'beta1'", fallback="sgd", fallback_options={"beta1": 0.1}, **shampoo)
    refused(r"lr = -1 lies outside", fallback="sgd", fallback_options={"lr": -1.0}, **shampoo)
    refused("fallback_options = .* without a fallback", fallback_options={"lr": 0.1}, name="mars")
    run("mars_shampoo", problem=NETWORK, steps=2, fallback="storm", exact=True)


def test_numbers_of_other_libraries_pass():
    hyper = {"lr": np.float32(0.5), "gamma": torch.tensor(0.1), "beta1": np.array([0.5, 0.9]), "clip_radius": 1}
    counts = {"steps": np.int64(3), "seeds": np.int32(2), "record": np.array([1, 3]), "exact": 0}
    seen = run("mars_adamw", problem=QUADRATIC, **counts, **hyper)
    assert seen.sizes == {"beta1": 2, "seed": 2, "step": 2} and seen.attrs["mode"] == "approximate"
