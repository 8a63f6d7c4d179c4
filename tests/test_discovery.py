"""A new rule, problem or noise law is one new file: it then stands in registries, lists, completion and contract tests."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import marslab
from marslab import noise, optimizers, problems
from marslab.errors import UsageError
from marslab.noise import Noise
from marslab.optimizers import RULES
from marslab.registry import scan
from marslab.rule import Rule

HOME = Path(marslab.__file__).parents[1]

NEW = {
    "marslab/optimizers/heavy_ball.py": '''
        """Polyak's heavy ball."""
        from marslab.rule import rule

        @rule(memory=("velocity",))
        def heavy_ball(x, state, g, *, lr=0.01, beta1=0.9):
            r"""Heavy ball: :math:`v = \\beta_1 v + g, x = x - lr v`. Source: arXiv 1810.06801, section 2."""
            velocity = beta1 * state["velocity"] + g
            return x - lr * velocity, dict(velocity=velocity)
        ''',
    "marslab/problems/cubic.py": '''
        """A convex cubic without a Lipschitz gradient."""
        from dataclasses import dataclass
        import torch
        from marslab.problems.base import Problem

        @dataclass(frozen=True)
        class Cubic(Problem):
            """F(x) = sum_i |x_i|^3 / 3; L: none; f_min = 0 at 0."""

            dimension: int = 5
            f_min, certainty = 0.0, {"f_min": "exact"}
            shapes = property(lambda self: {"x": (self.dimension,)})

            def start(self):
                return {"x": torch.ones(self.dimension, dtype=torch.float64)}

            def value(self, x, rows=None):
                return (x["x"].abs() ** 3).sum(-1) / 3

            def gradient(self, x, rows=None):
                return {"x": x["x"] * x["x"].abs()}
        ''',
    "marslab/noise/dropout.py": '''
        """Coordinates that are dropped at random."""
        from dataclasses import dataclass
        from typing import ClassVar
        from marslab.noise.base import Noise, named_parts
        from marslab.streams import BLOCK

        @dataclass(frozen=True)
        class Dropout(Noise):
            """g_i = grad_i F(x) (1 + s z_i) with fair signs z."""

            level: float = 0.5
            purpose: ClassVar[str] = "curvature"
            order: ClassVar[int] = 1
            levels: ClassVar[tuple[str, ...]] = ("level",)

            def draw(self, problem, stream):
                """Signs."""
                return stream.rademacher((BLOCK, problem.size))

            def perturb(self, problem, g, xi, levels):
                """Scale."""
                parts = named_parts(problem, xi)
                return {n: g[n] * (1 + levels(len(problem.shapes[n]))["level"] * z) for n, z in parts}

            def constants(self, problem):
                """Unknown."""
                return {"sigma": None, "delta": None, "mean_squared_L": None}
        ''',
}

USE = """
import marslab as ml
assert ml.__file__.startswith({folder!r}), ml.__file__
for room, name in ((ml.optimizers, "heavy_ball"), (ml.problems, "cubic"), (ml.noise, "dropout")):
    assert name in dir(room) and name in room.__all__
    getattr(room, name)
assert ml.optimizers.RULES["heavy_ball"] is ml.optimizers.heavy_ball
seen = ml.run("heavy_ball", problem=ml.problems.cubic(), noise=ml.noise.dropout(0.1) + ml.noise.additive(0.1), steps=5, seeds=2)
assert seen.attrs["rule"] == "heavy_ball" and seen.sizes["seed"] == 2
try:
    ml.run("heavy_bal", problem=ml.problems.cubic())
except ValueError as error:
    assert "did you mean 'heavy_ball'" in str(error)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package and of the contract tests with three new files and nothing else changed."""
    folder = tmp_path_factory.mktemp("copy")
    for part in ("marslab", "tests", "experiments", "figures"):
        shutil.copytree(
            HOME / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.png", "*.pdf", "*.nc", "*.html")
        )
    shutil.copy(HOME / "pyproject.toml", folder)
    for path, text in NEW.items():
        (folder / path).write_text(textwrap.dedent(text).lstrip())
    return folder


def python(folder, *arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_new_files_stand_in_registries_and_completion_and_run(copy):
    python(copy, "-c", USE.format(folder=str(copy)))


def test_new_files_are_listed(copy):
    listed = python(copy, "-m", "marslab", "list")
    for words in ("heavy_ball", "Polyak's heavy ball.", "cubic", "A convex cubic", "dropout", "Coordinates that are dropped"):
        assert words in listed


def test_new_files_meet_the_contract_tests(copy):
    files = ("test_rules.py", "test_noise_constants.py", "test_same_numbers.py", "test_problems.py")
    chosen = "(heavy_ball or dropout or cubic) and not processes"
    out = python(copy, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", chosen, *(f"tests/{name}" for name in files))
    for test in (
        "test_lanes_equal_a_loop_and_vmap[heavy_ball-(4, 3)] PASSED",
        "test_a_seed_alone_among_others_and_reordered_is_bitwise_the_same[quadratic-float64-heavy_ball] PASSED",
        "test_every_law_is_a_value[dropout] PASSED",
    ):
        assert test in out
    assert "-cubic" in out or "[cubic" in out
    assert "FAILED" not in out


@pytest.mark.parametrize(("room", "registry"), [(optimizers, RULES), (problems, problems.PROBLEMS), (noise, noise.LAWS)])
def test_completion_shows_the_registry_and_no_helpers(room, registry):
    assert set(registry) <= set(dir(room)) == set(room.__all__)
    for name, value in registry.items():
        assert getattr(room, name) is value
        assert value.name == name if isinstance(value, Rule) else value().name == name


def test_the_package_completes_its_rooms_and_verbs():
    for name in ("run", "rule", "optimizers", "problems", "noise", "schedules", "pieces", "moments", "symbolic"):
        assert name in dir(marslab) and getattr(marslab, name) is not None
    with pytest.raises(AttributeError, match="did you mean 'optimizers'"):
        marslab.optimisers  # noqa: B018


RULE_FILE = """
from marslab.rule import rule

@rule()
def {}(x, state, g, *, lr=0.1):
    return x - lr * g, {{}}
"""
TWICE = RULE_FILE.format("odd") + "\nagain = odd.__class__(name='odd', function=odd.function)\n"
LAW_FILE = "from marslab.noise.base import Noise\n\nclass {}(Noise):\n    pass\n"


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Write a package of one file, odd.py, and return its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text):
        folder = tmp_path / f"room_{tmp_path.name}"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "odd.py").write_text(text)
        return folder.name

    yield write
    for module in [module for module in sys.modules if module.startswith("room_")]:
        del sys.modules[module]


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Rule, "x = 1\n", r"odd\.py defines no .*Rule named 'odd': give it one, or start the file's name with '_'"),
        (Rule, RULE_FILE.format("other"), r"odd\.py defines no .*Rule named 'odd'"),
        (Rule, TWICE, r"odd\.py defines 2 objects .*split it"),
        (Noise, "x = 1\n", r"odd\.py defines no Noise subclass"),
        (Noise, LAW_FILE.format("One") + LAW_FILE.format("Two"), r"odd\.py defines 2 objects \(One, Two\)"),
    ],
)
def test_a_file_with_no_or_two_objects_is_refused_by_name(room, kind, text, words):
    with pytest.raises(UsageError, match=words):
        scan(room(text), kind)


def test_the_template_of_rules_is_a_rule(room):
    body = textwrap.dedent(optimizers.__doc__.split("::\n\n")[1]).replace("my_momentum(", "odd(")
    found = scan(room(body), Rule)["odd"]
    problem = problems.quadratic((1.0, 0.5))
    theirs = marslab.run("momentum", problem=problem, steps=9).grad_norm
    np.testing.assert_array_equal(marslab.run(found, problem=problem, steps=9).grad_norm, theirs)
    assert len([line for line in body.splitlines() if line]) <= 10
