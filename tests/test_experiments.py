"""Declared experiments: contracts over every one, keys that follow what matters, and the rates that they must show."""

import ast
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from marslab import claims, experiment, paths, rates, results, theory
from marslab.claims._curves import LATE, SHORT, exact_slope, sampled
from marslab.errors import StoreError, UsageError
from marslab.experiment import MODES, Budget, Experiment, moments, simulate
from marslab.noise import additive, curvature
from marslab.problems import quadratic
from marslab.record import log_grid
from marslab.schedules import PowerLaw, theorem

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")
real = experiment.load
NAMES = experiment.names()
HOME = Path(__file__).resolve().parents[1]


# contracts over every experiment


def test_the_declared_experiments_are_those_of_the_folder():
    assert sorted(path.stem for path in (HOME / "experiments").glob("*.py")) == NAMES
    assert {"rate_exact", "rate_sgd", "rate_approximate", "digits", "gamma", "exact_vs_approx"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_declaration_is_complete_and_nothing_but_configuration(name):
    declared = experiment.load(name)
    assert declared.name == name and declared.title and declared.question.endswith("?")
    assert declared.runs and all(run.engine in experiment.ENGINES for run in declared.runs.values())
    tree = ast.parse((HOME / "experiments" / f"{name}.py").read_text("utf-8"))
    assert ast.get_docstring(tree)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda | ast.Import)]
    assert all(node.module.startswith("marslab.") for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_every_run_resolves_to_options_that_its_engine_accepts(name, mode):
    for run in experiment.load(name).runs.values():
        options = run.resolve(mode)
        assert not any(isinstance(value, Budget) for value in options.values())
        assert options["steps"] >= 1 and run.configuration(mode)["options"] == options
        short = options | {"steps": 3, "record": 3} | ({"seeds": [0, 100]} if "seeds" in options else {})
        data = dataclasses.replace(run, options=short).execute(mode)
        assert set(run.keep or ["grad_norm_squared"]) <= set(data.variables)
        assert all(np.isfinite(data[kept]).all() for kept in run.keep if kept != "diverged_at")


@pytest.mark.parametrize("name", NAMES)
def test_the_full_run_is_the_larger_one(name):
    for run in experiment.load(name).runs.values():
        quick_options, full_options = run.resolve("quick"), run.resolve("full")
        assert full_options["steps"] >= quick_options["steps"]
        size = [
            len(o["seeds"]) if isinstance(o.get("seeds"), list) else o.get("seeds", 0) for o in (quick_options, full_options)
        ]
        assert size[1] >= size[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_code_of_rule_problem_noise_and_engine_is_in_the_key(name):
    declared = experiment.load(name)
    table = declared.identity().table
    for run in declared.runs.values():
        options = run.resolve("quick")
        assert f"marslab.optimizers.{run.rule}" in table
        assert type(options["problem"]).__module__ in table
        assert all(type(law).__module__ in table for law in options["noise"].parts)
        assert ("marslab.simulate" if run.engine == "simulate" else "marslab.moments.propagation") in table
        for value in options.values():
            assert not callable(value) or type(value).__module__ in table
    assert not any(part.startswith(("marslab.results", "marslab.claims", "marslab.plots")) for part in table)


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_data_can_be_committed(name, quick, tmp_path):
    data, origin = experiment.load(name).find()
    assert origin.startswith("computed here, key ")
    path = results.publish(data, tmp_path / f"{name}.nc", limit=200_000)
    back, note = results.published(path, experiment.load(name).identity().key)
    assert note == "" and list(back) == list(experiment.load(name).runs)
    for label, dataset in data.items():
        assert back[label].equals(dataset)


@pytest.mark.slow
def test_the_whole_digits_data_can_be_committed(tmp_path):
    data = real("digits").compute()
    results.publish(data, tmp_path / "digits.nc", limit=200_000)
    assert int(data["exact"].evaluations[-1]) == 2 * 2000 - 1


@pytest.mark.parametrize("name", NAMES)
def test_every_quick_result_is_committed_and_of_today(name):
    """A result made by other code is remade, or a note beside it (NAME.md) names today's key and says why it may stay."""
    declared = experiment.load(name)
    path = declared.published_path()
    assert path.is_file(), f"run 'python -m marslab run {name} --publish' and commit {path.name}"
    assert path.stat().st_size <= 200_000
    for mode in MODES:
        path, identity = declared.published_path(mode), declared.identity(mode)
        if path.is_file():
            note = results.published(path, identity.key, table=identity.table, configuration=declared.configuration(mode))[1]
            excuse = path.with_suffix(".md")
            assert not note or (excuse.is_file() and identity.key[:12] in excuse.read_text("utf-8")), f"{path.name}: {note}"


def test_every_committed_result_belongs_to_an_experiment():
    expected = {f"{name}{suffix}.nc" for name in NAMES for suffix in ("", "-full")}
    assert {path.name for path in (HOME / "experiments" / "published").glob("*.nc")} <= expected


# keys


def one(**changes):
    """An experiment of one simulation and one propagation."""
    options = dict(problem=quadratic(spectrum=(1.0, 2.0)), noise=additive(sigma=1.0), lr=0.1, steps=Budget(5, 8)) | changes
    return Experiment("t", "q?", {"a": simulate("mars", seeds=2, **options), "b": moments("mars", **options)}, name="one")


def test_a_budget_changes_the_key_of_its_mode_alone():
    keys = {mode: one().identity(mode).key for mode in MODES}
    assert keys["quick"] != keys["full"]
    larger = one(steps=Budget(5, 9))
    assert larger.identity("quick").key == keys["quick"] and larger.identity("full").key != keys["full"]
    assert one(steps=5).identity("quick").key == keys["quick"]


@pytest.mark.parametrize(
    "change",
    [
        dict(lr=0.2), dict(lr=[0.1]), dict(lr=PowerLaw(1.0, 0.5)), dict(exact=True), dict(gamma=0.5), dict(record=[1, 2]),
        dict(problem=quadratic(spectrum=(1.0, 3.0))), dict(noise=additive(sigma=2.0)), dict(keep=("grad_norm_squared",)),
        dict(noise=additive(sigma=1.0) + curvature(level=0.1)), theorem(c=1, s=1),
    ],
)  # fmt: skip
def test_every_option_changes_the_key(change):
    assert one(**change).identity().key != one().identity().key


def test_title_question_and_name_change_no_key():
    changed = dataclasses.replace(one(), title="other", question="other?", name="two")
    assert changed.identity().key == one().identity().key


def test_budgets_may_stand_for_problems_noise_and_schedules_and_bring_their_code():
    budget = one(problem=Budget(quadratic(spectrum=(1.0,)), quadratic(spectrum=(2.0,))),
                 noise=Budget(additive(sigma=1.0), additive(sigma=1.0) + curvature(level=0.1)),
                 lr=Budget(0.1, PowerLaw(1.0, 0.5)), steps=3)  # fmt: skip
    table = budget.identity().table
    for module in ("problems.quadratic", "noise.additive", "noise.curvature", "schedules"):
        assert f"marslab.{module}" in table
    assert "marslab.schedules" not in one().identity().table
    assert {mode: set(budget.compute(mode)) for mode in MODES} == {mode: {"a", "b"} for mode in MODES}


def test_a_comment_in_the_declaration_changes_no_key_and_a_value_does(monkeypatch, tmp_path):
    here = real("rate_sgd").identity().key
    monkeypatch.setattr(paths, "EXPERIMENTS", tmp_path)
    text = (HOME / "experiments" / "rate_sgd.py").read_text("utf-8")
    keys = []
    for changed in (
        text,
        "# a remark\n" + text.replace("runs={", "runs={  # here"),
        text.replace("PowerLaw(1.0", "PowerLaw(2.0"),
    ):
        (tmp_path / "rate_sgd.py").write_text(changed, "utf-8")
        keys.append(experiment.load("rate_sgd").identity().key)
    assert keys[0] == keys[1] != keys[2]
    assert keys[0] == here


KEYS = """
import json
from marslab import claims, experiment
keys = {name: [experiment.load(name).identity(mode).key for mode in ("quick", "full")] for name in experiment.names()}
print(json.dumps(keys | {name: [claim.key(mode) for mode in ("quick", "full")] for name, claim in claims.CLAIMS.items()}))
"""


def keys_in_a_process(folder, seed="0"):
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", KEYS], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_keys_are_the_same_in_every_process_and_follow_a_changed_rule_and_only_that(tmp_path):
    from shutil import copytree, ignore_patterns

    here = {name: [experiment.load(name).identity(mode).key for mode in MODES] for name in NAMES}
    here |= {name: [claim.key(mode) for mode in MODES] for name, claim in claims.CLAIMS.items()}
    for room in ("marslab", "experiments"):
        copytree(HOME / room, tmp_path / room, ignore=ignore_patterns("__pycache__", "published"))
    rule = tmp_path / "marslab" / "optimizers" / "mars.py"
    text = rule.read_text("utf-8")
    rule.write_text(
        text.replace("    c = correct", "    # a remark\n    c = correct").replace("Claimed:", "It is claimed:"), "utf-8"
    )
    assert keys_in_a_process(tmp_path, seed="1") == here
    rule.write_text(text.replace('ema(state["m"], c, beta1)', 'ema(state["m"], g, beta1)'), "utf-8")
    changed = {name for name, keys in keys_in_a_process(tmp_path).items() if keys != here[name]}
    with_mars = {"gamma", "exact_vs_approx", "rate_exact", "rate_approximate"}
    on_them = {name for name, claim in claims.CLAIMS.items() if with_mars & set(claim.experiments)}
    tables = {name: results.identify(*claim._definition("quick")).table for name, claim in claims.CLAIMS.items()}
    by_rule = {name for name, table in tables.items() if "marslab.optimizers.mars" in table}
    assert {"approximate_is_sgd", "qhm_identity", "storm_identity", "noiseless_coincidence"} <= by_rule
    assert changed == with_mars | on_them | by_rule
    assert {"sgd_rate", "stated_schedule", "digits_exact_beats_adamw"}.isdisjoint(changed)


# finding and computing


def test_a_result_is_computed_once_and_found_afterwards(monkeypatch):
    first = one().compute()
    monkeypatch.setattr(Experiment, "_run", lambda *_: pytest.fail("computed again"))
    again = one().compute()
    assert all(again[label].identical(first[label]) for label in ("a", "b"))
    assert one().find()[1] == f"computed here, key {one().identity().key[:12]}"
    assert set(first["a"].dims) == {"seed", "step"} and set(first["b"].dims) == {"step"}


def test_progress_is_reported_for_simulations():
    seen = []
    one().compute(progress=lambda step, steps: seen.append((step, steps)))
    assert seen and seen[-1] == (5, 5)


def test_what_is_neither_stored_nor_committed_is_told_with_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "EXPERIMENTS", tmp_path)
    with pytest.raises(StoreError, match=r"one has no quick result yet: run 'python -m marslab run one'$"):
        one().find()
    with pytest.raises(StoreError, match=r"one has no full result yet: run 'python -m marslab run one --full'$"):
        one().find("full")


def test_a_committed_result_is_found_by_its_name_and_says_what_differs(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "EXPERIMENTS", tmp_path)
    results.publish(one().compute(), one().published_path())
    assert one().published_path() == tmp_path / "published" / "one.nc"
    monkeypatch.setenv("MARSLAB_STORE", str(tmp_path / "empty"))
    data, origin = one().find()
    assert origin.startswith("published with the repository, key ") and data["a"].sizes["seed"] == 2
    assert one(lr=0.2).find()[1] == "published with the repository, made with another configuration"
    assert not (tmp_path / "empty").exists()  # looking changes nothing


def test_the_store_goes_before_the_committed_result(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "EXPERIMENTS", tmp_path)
    results.publish(one(lr=0.2).compute(), one().published_path())
    assert one().find()[1].startswith("published") and one().compute() and one().find()[1].startswith("computed here")


@pytest.mark.parametrize("damage", ["truncated", "foreign", "empty"])
def test_a_damaged_result_is_named_set_aside_and_computed_anew(damage, tmp_path):
    first = one().compute()
    (path,) = (tmp_path / "store").glob("one-quick-*.nc")
    path.write_bytes({"truncated": path.read_bytes()[:-100], "foreign": b"\x89HDF not ours", "empty": b""}[damage])
    with pytest.warns(results.ResultWarning, match=path.name):
        again = one().compute()
    assert again["a"].equals(first["a"]) and again["b"].equals(first["b"])
    assert (tmp_path / "store" / f"{path.name}.corrupt").is_file()


def test_unknown_and_broken_declarations_are_refused_in_one_sentence(monkeypatch, tmp_path):
    with pytest.raises(UsageError, match="unknown experiment 'rate_exac': did you mean 'rate_exact'\\?"):
        experiment.load("rate_exac")
    monkeypatch.setattr(paths, "EXPERIMENTS", tmp_path)
    (tmp_path / "odd.py").write_text("experiment = 3\n")
    (tmp_path / "_helper.py").write_text("")
    assert experiment.names() == ["odd"]
    with pytest.raises(UsageError, match=r"odd\.py defines no experiment = Experiment"):
        experiment.load("odd")


# the rates that must be seen


def test_the_windows_are_the_last_two_decades_and_the_last_of_the_simulation():
    assert LATE == (1e4, 1e6) and SHORT == (2e3, 2e4)


def slope(data, label, variable):
    return exact_slope(data[label], variable, LATE)


def test_exact_moments_have_the_exponents_of_the_theory(quick):
    exact = experiment.load("rate_exact").find()[0]
    assert slope(exact, "moments", "error_squared") == pytest.approx(-1 / 3, abs=0.01)
    steps = np.array(log_grid(1_000_000, 300))
    closed = rates.fit(steps, np.sqrt(theory.quasi_static(steps, c=33, s=190)), LATE).slope
    assert closed == pytest.approx(-0.263, abs=5e-4)
    assert slope(exact, "moments", "grad_norm_squared") == pytest.approx(closed, abs=0.01)
    assert slope(exact, "moments", "grad_norm_squared") == pytest.approx(-0.266, abs=5e-4)
    assert slope(exact, "moments_unit", "grad_norm_squared") == pytest.approx(-1 / 3, abs=0.01)
    assert slope(exact, "moments_unit", "error_squared") == pytest.approx(-1 / 3, abs=0.01)
    assert slope(experiment.load("rate_sgd").find()[0], "moments", "grad_norm_squared") == pytest.approx(-1 / 4, abs=0.01)
    found = slope(experiment.load("rate_approximate").find()[0], "moments", "grad_norm_squared")
    assert found == pytest.approx(-1 / 6, abs=0.01)


CURVES = [("rate_exact", "error"), ("rate_exact", "grad_norm"), ("rate_sgd", "grad_norm"), ("rate_approximate", "grad_norm")]


@pytest.mark.parametrize("name, variable", CURVES)
def test_the_monte_carlo_interval_covers_the_exact_exponent_of_its_window(name, variable, quick):
    data = experiment.load(name).find()[0]
    run = data["monte_carlo"]
    assert run.sizes["seed"] == 64 and run.seed.values.tolist() == list(range(64)) and int(run.step[-1]) == 20_000
    found = sampled(run, variable, SHORT, level=0.998)
    assert found.low <= exact_slope(data["moments"], f"{variable}_squared", SHORT) <= found.high
    assert found.high - found.low < 0.12  # an interval that covers everything shows nothing


@pytest.mark.parametrize("name, variable", CURVES)
def test_the_simulated_curve_is_that_of_the_exact_moments_at_every_recorded_step(name, variable, quick):
    """Twenty coordinates with one mode's law each: the mean square over seeds lies within five of its standard errors."""
    data = experiment.load(name).find()[0]
    run, exact = data["monte_carlo"], data["moments"]
    truth = np.interp(np.log(run.step), np.log(exact.step), exact[f"{variable}_squared"])
    squares = run[variable].transpose("seed", "step").values ** 2
    error = squares.std(axis=0, ddof=1) / np.sqrt(len(squares))
    gap, noisy = squares.mean(axis=0) - truth, error > 1e-12
    assert noisy.sum() >= 60 and np.abs(gap[noisy] / error[noisy]).max() < 5
    assert np.abs(gap[~noisy]).max(initial=0) < 1e-9
