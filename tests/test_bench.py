"""The benchmark measures what it says: its workload is right, and it survives without rivals. No timed assertion."""

import importlib
import json
import subprocess
import sys

import pytest
import torch

from marslab import paths

BENCH = paths.ROOT / "bench"


@pytest.fixture
def workload(monkeypatch):
    """bench/workload.py as its own processes import it."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("workload")


def test_the_gradient_of_the_workload_is_the_derivative_of_its_value(workload):
    problem = workload.Ring(dimension=7)
    x = torch.randn(3, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    (wanted,) = torch.autograd.grad(problem.value({"x": x}).sum(), x)
    assert torch.allclose(problem.gradient({"x": x})["x"], wanted, rtol=0, atol=1e-12)


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
    assert first["statistic"] == second["statistic"] > 0


def test_a_rival_that_is_not_installed_is_named():
    (answer,) = case("user-loop", 4, 5, 12)
    assert "pytorch_optimizer" in answer["missing"]


def test_the_quick_run_prints_every_figure_and_ends_well():
    command = [sys.executable, str(BENCH / "run.py"), "--quick", "--no-rivals"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    for text in ("marslab-eager", "floor", "W-small", "exact moments", "cold process"):
        assert text in done.stdout
