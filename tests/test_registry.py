"""The scan of a folder: one public object a file, and the file at fault by name."""

import sys
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest
import torch

from marslab import problems
from marslab.errors import UsageError
from marslab.registry import scan


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package of the given files and return its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**files):
        folder = tmp_path / f"scanned_{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for stem, text in {"__init__": "", "base": "raise RuntimeError", "_skip": "raise RuntimeError", **files}.items():
            (folder / f"{stem}.py").write_text(text)
        return folder.name

    yield write
    for module in [module for module in sys.modules if module.startswith("scanned_")]:
        del sys.modules[module]


def test_scan_takes_subclasses_defined_in_the_file(package):
    text = "from fractions import Fraction\nclass {}(Fraction): pass\nclass _Help(Fraction): pass"
    found = scan(package(beta=text.format("B"), alpha=text.format("A")), Fraction)
    assert [(name, cls.__name__) for name, cls in found.items()] == [("alpha", "A"), ("beta", "B")]


def test_scan_takes_the_instance_named_like_the_file(package):
    text = "from fractions import Fraction\n{} = Fraction(1, {})\nother = Fraction(1, 9)"
    found = scan(package(half=text.format("half", 2), third=text.format("third", 3)), Fraction)
    assert {name: value.denominator for name, value in found.items()} == {"half": 2, "third": 3}


def test_scan_names_the_file_at_fault(package):
    with pytest.raises(UsageError, match=r"empty\.py defines no Fraction subclass"):
        scan(package(empty="x = 1"), Fraction)
    two = "from fractions import Fraction\nclass A(Fraction): pass\nclass B(Fraction): pass"
    with pytest.raises(UsageError, match=r"pair\.py defines 2 objects \(A, B\)"):
        scan(package(pair=two), Fraction)


def test_the_template_of_problems_is_a_problem(package):
    body = textwrap.dedent(problems.__doc__.split("\n\n", 2)[2])
    head = "import torch\nfrom dataclasses import dataclass\nfrom marslab.problems.base import Problem\n"
    cubic = scan(package(cubic=head + body), problems.Problem)["cubic"]()
    x = {"x": torch.linspace(-1, 1, 5, dtype=torch.float64)}
    torch.testing.assert_close(torch.func.grad(cubic.value)(x)["x"], cubic.gradient(x)["x"])
    assert cubic.constants()["f_min"] == (0.0, "exact") and len(cubic.digest()) == 64
    assert len([line for line in body.splitlines() if line]) <= 10


def test_a_new_file_is_a_registered_problem(package):
    text = Path(problems.PROBLEMS["rosenbrock"].__module__.replace(".", "/") + ".py")
    source = (Path(problems.__file__).parents[2] / text).read_text()
    found = scan(package(valley=source), problems.Problem)
    assert list(found) == ["valley"] and found["valley"]().start()["x"].tolist() == [-1.2, 1.0]
