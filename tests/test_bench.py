"""The benchmark measures what it says: its workload is right, and it survives without rivals. No timed assertion."""

import importlib
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from marslab import paths

BENCH = paths.ROOT / "bench"


def imported(monkeypatch, name):
    """bench/NAME.py as its own processes import it; later tests find no trace of it."""
    monkeypatch.syspath_prepend(str(BENCH))
    for module in ("workload", "rivals", "run"):
        monkeypatch.setitem(sys.modules, module, None)  # what is set is undone, also where it was missing
        del sys.modules[module]
    return importlib.import_module(name)


@pytest.fixture
def workload(monkeypatch):
    return imported(monkeypatch, "workload")


@pytest.fixture
def rivals(monkeypatch, tmp_path):
    """bench/rivals.py with an environment of its own, and commands that are written down instead of run."""
    module = imported(monkeypatch, "rivals")
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path / ".bench-venv")
    module.ENVIRONMENT.mkdir()
    module.ran, module.status = [], 0

    def pretend(command, **options):
        module.ran.append(command)
        return SimpleNamespace(returncode=module.status)

    monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=pretend))
    return module


def test_the_gradient_of_the_workload_is_the_derivative_of_its_value(workload):
    problem = workload.Ring(dimension=7)
    x = torch.randn(3, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    (wanted,) = torch.autograd.grad(problem.value({"x": x}).sum(), x)
    assert torch.allclose(problem.gradient({"x": x})["x"], wanted, rtol=0, atol=1e-12)


def test_the_value_of_the_workload_is_its_formula_written_out(workload):
    x = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)
    wells, links = 1 / 2 + 4 / 5 + 1 / 2, (1 - 2) ** 2 + (2 + 1) ** 2 + (-1 - 1) ** 2
    assert workload.Ring(3).value({"x": x}).item() == pytest.approx(wells + 0.05 * links, rel=1e-14)


def test_the_noise_of_the_workload_has_the_stated_levels(workload):
    curvature, additive = workload.noise(100).parts
    assert curvature.level == 0.5 and additive.sigma == pytest.approx(0.3 * 10)


def case(*arguments):
    """The lines that one case prints for two rounds."""
    command = [sys.executable, str(BENCH / "cases.py"), *map(str, arguments)]
    done = subprocess.run(command, input="go\ngo\n", capture_output=True, text=True, cwd=BENCH, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_case_answers_every_round_with_one_line():
    ready, first, second = case("marslab-eager", 4, 5, 12)
    assert ready == {"ready": "marslab-eager"}
    assert first["work"] == 4 * 5 * 12 and first["seconds"] > 0
    assert first["result"] == second["result"] > 0


def test_a_rival_that_is_not_installed_is_named():
    (answer,) = case("user-loop", 4, 5, 12)
    assert "pytorch_optimizer" in answer["missing"]


def test_the_quick_run_prints_every_figure_and_ends_well():
    command = [sys.executable, str(BENCH / "run.py"), "--quick", "--no-rivals"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    for text in (
        "marslab-eager",
        "floor",
        "NOT MEASURED",
        "NOT CHECKED",
        "W-small",
        "exact moments",
        "cold process",
        "MarsLion in MarsAdamW",
    ):
        assert text in done.stdout


def test_the_environment_of_the_rivals_is_made_once_for_the_same_pins(rivals, monkeypatch):
    assert rivals.environment() == rivals.environment() == rivals.ENVIRONMENT / "bin" / "python"
    assert len(rivals.ran) == 3 and rivals.ran[2][-2:] == ["--no-deps", *rivals.RIVALS]
    monkeypatch.setattr(rivals, "RIVALS", ["pytorch-optimizer==0.0.0"])
    rivals.environment()
    assert len(rivals.ran) == 6


def test_an_environment_that_cannot_be_made_is_said_and_tried_again(rivals, capsys):
    rivals.status = 1
    assert rivals.environment() is None
    assert "could not be made" in capsys.readouterr().out
    assert rivals.environment() is None and len(rivals.ran) == 2


@pytest.mark.parametrize(("times", "failures"), [(50.1, 0), (49.9, 1), (None, 0)])
def test_the_requirement_on_speed_is_judged_where_it_was_measured(monkeypatch, times, failures):
    assert len(imported(monkeypatch, "run").faster(times)) == failures


@pytest.mark.parametrize(
    ("quiet", "loud", "failures"),
    [(2.0, [1.0, 2.0, 3.0], 0), (2.0001, [1.0, 2.0, 3.0], 1), (2.0, [9.0, 9.1, 9.2], 1)],
    ids=["the same", "another number without noise", "another mean"],
)
def test_two_algorithms_are_told_apart(monkeypatch, capsys, quiet, loud, failures):
    run = imported(monkeypatch, "run")
    answers = {"algorithm": {"quiet": 2.0, "loud": [1.1, 2.1, 2.9]}, "algorithm-user": {"quiet": quiet, "loud": loud}}
    found = {name: SimpleNamespace(runs=[{"result": result}]) for name, result in answers.items()}
    monkeypatch.setattr(run, "measure", lambda cases, repetitions: found)
    assert len(run.agreement("python", 3, 1)) == failures
    assert f": {'NO' if failures else 'yes'} (" in capsys.readouterr().out
