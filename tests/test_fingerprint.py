"""The fingerprint changes with what code means, and with nothing else."""

import functools
import importlib
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from marslab import fingerprint as fingerprint_module
from marslab.errors import UsageError
from marslab.fingerprint import changed, fingerprint
from marslab.paths import PACKAGE
from marslab.syntax import meaning

STEP = '''
"""What it is about."""
from marslab import pieces

def step(x, lr=0.1):
    """Return the next point."""
    text = f"{x['a']:>{12}} and {lr!r}: {x}"
    return x - lr * pieces.slope(x), text
'''
SAME = {
    "comment": STEP.replace("    return", "    # the update\n    return"),
    "docstring": STEP.replace("next point", "point after it").replace("What it is about", "Else"),
    "no docstring": STEP.replace('    """Return the next point."""\n', ""),
    "layout": STEP.replace("x - lr *", "(x -\n            lr *").replace("slope(x)", "slope(x))"),
    "line ends": STEP.replace("\n", "\r\n"),
    "blank lines": STEP.replace("\n", "\n\n"),
    "quotes": STEP.replace("f\"{x['a']:>{12}} and {lr!r}: {x}\"", "f\"{x['a']:>{12}} \" f'and {lr!r}: {x}'"),
}
OTHER = {
    "constant": STEP.replace("0.1", "0.10000000000000002"),
    "sign": STEP.replace("x - lr", "x + lr"),
    "type": STEP.replace("0.1", "1"),
    "name": STEP.replace("def step", "def stride"),
    "import": STEP.replace("from marslab import", "from marslab.old import"),
    "text": STEP.replace(" and ", " or "),
    "format": STEP.replace("!r", "!s"),
}


def digest(text):
    return meaning(text, "test")[0]


@pytest.mark.parametrize("how", SAME)
def test_writing_changes_nothing(how):
    assert SAME[how] != STEP and digest(SAME[how]) == digest(STEP)


@pytest.mark.parametrize("how", OTHER)
def test_meaning_changes_the_digest(how):
    assert digest(OTHER[how]) != digest(STEP)


def test_a_text_that_is_used_is_no_remark():
    assert digest("x = 'a'") != digest("x = 'b'")
    assert digest("x = 1.0") != digest("x = 1") != digest("x = True")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package named marslab in a folder of its own, which the fingerprint takes for the real one."""
    files = {
        "__init__": "from . import engine",
        "engine": "from marslab.pieces import ema\nimport marslab.optimizers\ndef run(): pass",
        "pieces": "A = 1",
        "lazy": "def f():\n    from .deep.inner import x\n    return x",
        "deep/__init__": "B = 1",
        "deep/inner": "from .. import pieces\nfrom . import sibling\nx = 1",
        "deep/sibling": "y = 1",
        "optimizers/__init__": "registry = 1",
        "optimizers/mars": "from marslab.pieces import ema\nc = 1",
        "optimizers/sgd": "c = 2",
        "errors": "E = 1",
    }
    folder = tmp_path / "checkout" / "marslab"
    for name, text in files.items():
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "checkout" / "experiments").mkdir()
    take_for_the_real_one(folder, monkeypatch)
    return folder


def take_for_the_real_one(folder, monkeypatch):
    monkeypatch.setattr(fingerprint_module, "PACKAGE", folder)
    monkeypatch.setattr(fingerprint_module, "ROOT", folder.parent)
    monkeypatch.setattr(fingerprint_module, "_loaded", {})
    for name in [name for name in sys.modules if name.startswith("marslab.")]:
        monkeypatch.delitem(sys.modules, name)


def names(items):
    return set(fingerprint(items)[1])


def test_imports_are_followed_within_the_package(package):
    assert names(["marslab.engine"]) == {"marslab.engine", "marslab.pieces"}
    deep = {"marslab.lazy", "marslab.deep", "marslab.deep.inner", "marslab.deep.sibling", "marslab.pieces"}
    assert names(["marslab.lazy"]) == deep
    assert names([package / "optimizers" / "mars.py"]) == {"marslab.optimizers.mars", "marslab.pieces"}


def test_registries_and_bookkeeping_are_not_followed(package):
    before = fingerprint(["marslab.engine", "marslab.optimizers.mars"])
    for name in ("__init__", "optimizers/__init__", "optimizers/sgd", "errors"):
        (package / f"{name}.py").write_text("other = 3")
    assert fingerprint(["marslab.engine", "marslab.optimizers.mars"]) == before
    assert names(["marslab.errors", "marslab", "marslab.optimizers"]) == set()


def test_what_is_used_counts(package):
    rules = (["marslab.optimizers.mars"], ["marslab.optimizers.sgd"])
    before = [fingerprint(rule) for rule in rules]
    (package / "pieces.py").write_text("A = 2")
    after = [fingerprint(rule) for rule in rules]
    assert changed(before[0][1], after[0][1]) == ["marslab.pieces"] and before[0][0] != after[0][0]
    assert after[1] == before[1]


def test_a_file_outside_the_package(package):
    file = package.parent / "experiments" / "rate.py"
    file.write_text("from marslab.pieces import A\nsteps = 3\n")
    table = fingerprint([file])[1]
    assert set(table) == {"experiments/rate.py", "marslab.pieces"}
    assert fingerprint([str(file)])[1] == table
    file.write_text("from marslab.pieces import A  # more\nsteps = 3\n")
    assert fingerprint([file])[1] == table
    file.write_text("from marslab.pieces import A\nsteps = 4\n")
    assert changed(table, fingerprint([file])[1]) == ["experiments/rate.py"]


def test_the_same_checkout_through_a_link(package, tmp_path):
    (tmp_path / "link").symlink_to(package.parent)
    file = package.parent / "experiments" / "rate.py"
    file.write_text("steps = 3")
    assert fingerprint([tmp_path / "link" / "experiments" / "rate.py"]) == fingerprint([file])


def test_the_order_of_the_modules_does_not_matter():
    one = fingerprint(["marslab.pieces", "marslab.schedules"])
    assert fingerprint(["marslab.schedules", "marslab.pieces", "marslab.pieces"]) == one


def test_modules_names_and_objects_agree():
    rule = importlib.import_module("marslab.rule")
    tables = [fingerprint([item])[1] for item in ("marslab.rule", rule, rule.Rule, PACKAGE / "rule.py")]
    assert all(table == tables[0] for table in tables)


def test_a_loaded_module_counts_as_it_was_until_it_is_reloaded(package, monkeypatch):
    loaded = types.ModuleType("marslab.pieces")
    loaded.__spec__ = object()
    monkeypatch.setitem(sys.modules, "marslab.pieces", loaded)
    before = fingerprint(["marslab.pieces"])
    (package / "pieces.py").write_text("A = 5")
    assert fingerprint(["marslab.pieces"]) == before
    loaded.__spec__ = object()
    assert fingerprint(["marslab.pieces"]) != before


def test_changed_names_what_one_table_lacks():
    assert changed({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"}) == ["b", "c", "d"]


SCALE = 0.5


def helper(x):
    return SCALE * x


def uses_helper(x):
    return helper(x) + np.pi


def make(coefficient):
    def closure(x):
        return coefficient * x

    return closure


class Stateful:
    def step(self, x):
        return helper(x)


def test_a_function_of_a_test_brings_what_it_uses():
    table = fingerprint([uses_helper])[1]
    assert set(table) == {f"{__name__}:uses_helper", f"{__name__}:helper"}
    assert f"{__name__}:helper" in fingerprint([Stateful()])[1]


def test_a_changed_value_changes_the_function_that_uses_it(monkeypatch):
    before = fingerprint([uses_helper])[1]
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 0.25)
    assert changed(before, fingerprint([uses_helper])[1]) == [f"{__name__}:helper"]


def test_closures_over_different_values_differ():
    assert fingerprint([make(0.1)])[0] == fingerprint([make(0.1)])[0] != fingerprint([make(0.2)])[0]
    assert len(fingerprint([make(0.1), make(0.2)])[1]) == 2
    assert fingerprint([make(np.array([1.0, np.inf]))])[0] != fingerprint([make(np.array([1.0, 2.0]))])[0]


def test_a_rule_stands_for_its_function():
    rule = types.SimpleNamespace(function=uses_helper)
    assert fingerprint([rule]) == fingerprint([uses_helper])


def function_without_source():
    space = {"__name__": "nowhere"}
    exec("def f(x): return x", space)
    return space["f"]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("marslab.mras", "no module 'marslab.mras'"),
        ("torch", "no module 'torch'"),
        ("experiments/none.py", "cannot be read"),
        (function_without_source(), "source of f cannot be had"),
        (functools.partial(helper, 2), "functools.partial"),
        (make(object()), "uses coefficient, which holds an object of type builtins.object"),
        (3, "builtins.int"),
    ],
)
def test_what_has_no_source_is_refused_in_one_sentence(item, words):
    with pytest.raises(UsageError, match=words) as caught:
        fingerprint([item])
    assert "\n" not in str(caught.value)


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "broken.py").write_text("def f(:\n")
    with pytest.raises(UsageError, match=r"broken\.py cannot be read as Python"):
        fingerprint([tmp_path / "broken.py"])


def starts(python):
    return subprocess.run([python, "-c", "pass"], capture_output=True).returncode == 0


def other_pythons():
    found = [shutil.which(f"python3.{version}") for version in (11, 12, 13, 14)]
    kept = Path.home().glob(".pyenv/versions/3.1[1-4].*/bin/python")
    return [python for python in [*map(str, sorted(kept)), *filter(None, found)] if starts(python)]


SCRIPT = """
import sys, types
package = types.ModuleType("marslab"); package.__path__ = [sys.argv[1]]; sys.modules["marslab"] = package
from marslab.fingerprint import fingerprint
print(fingerprint(sys.argv[2:])[0])
"""


def test_other_versions_of_python_find_the_same_digest(tmp_path, monkeypatch):
    pythons = other_pythons()
    if not pythons:
        pytest.skip("no other Python is installed")
    folder = tmp_path / "copy" / "marslab"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "step.py").write_text(STEP.replace("from marslab import pieces", "a = f'{1:{2}}{3=}' f\"x{4!r:>{5}}\""))
    files = [str(file) for file in [tmp_path / "step.py", *sorted(folder.rglob("*.py"))]]
    take_for_the_real_one(folder, monkeypatch)
    expected = fingerprint(files)[0]
    for python in pythons:
        command = [python, "-B", "-W", "ignore", "-c", SCRIPT, folder, *files]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.stdout.strip() == expected, f"{python}: {done.stderr[-500:]}"
