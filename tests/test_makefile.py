"""The commands a user types, run with a stand-in for Python that records what it is asked to do."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ["reproduce", "test", "test-slow", "lab", "figures", "lint", "bench", "clean", "clean-results", "help"]
ODD_NAME = "a  blank, ü, 試験, it's, #1, 100% & (more); é"
TOOLS = ["awk", "cat", "cksum", "dirname", "echo", "find", "id", "make", "mkdir", "rm", "sh", "sleep", "test", "touch"]

# Answers setup.sh's questions, makes a .venv that holds itself, and writes every other call to $CALLS.
FAKE_PYTHON = r"""#!/bin/sh
case "$*" in
    *version_info*) echo "{version}" ;;
    *ensurepip*) [ -z "${NO_ENSUREPIP:-}" ] || { echo "Traceback ...: No module named 'ensurepip'" >&2; exit 1; } ;;
    "-m venv --clear .venv") echo "$*" >>"$CALLS"; rm -rf .venv; mkdir -p .venv/bin; cat "$0" >.venv/bin/python
        touch .venv/bin/python; chmod +x .venv/bin/python ;;
    "-m pip "*) echo "$*" >>"$CALLS"; exit "${PIP_FAILS:-0}" ;;
    *) echo "$*" >>"$CALLS"; exit "${EXIT_CODE:-0}" ;;
esac
"""
INSTALL = "-m pip install -q -q -c constraints.txt -e .[dev]"
MADE = ["-m venv --clear .venv", INSTALL]


class Checkout:
    """A copy of what `make` reads, and a PATH on which nothing but the needed tools and the given Pythons exist."""

    def __init__(self, folder, tools):
        self.root, self.bin, self.calls_file = folder, tools, tools / "calls"
        (folder / "tools").mkdir(parents=True)
        for name in ["Makefile", "pyproject.toml", "constraints.txt", "tools/setup.sh"]:
            shutil.copy(ROOT / name, folder / name)
        for name in [*TOOLS, "chmod"]:
            (tools / name).symlink_to(shutil.which(name))

    def add_python(self, version, name="python3"):
        path = self.bin / name
        path.write_text(FAKE_PYTHON.replace("{version}", version))
        path.chmod(0o755)
        return path

    def make(self, *arguments, code=0, **environment):
        # MAKEFLAGS, PYTHON and the like of a surrounding `make test` must not reach the inner make
        surroundings = {"PATH": str(self.bin), "CALLS": str(self.calls_file), "LC_ALL": "C.UTF-8", **environment}
        done = subprocess.run(["make", *arguments], cwd=self.root, env=surroundings, capture_output=True, text=True)
        assert (done.returncode != 0) == (code != 0), done.stdout + done.stderr
        return done.stdout + done.stderr

    def calls(self):
        """What Python was asked to do since the last look."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return lines


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "bin").mkdir()
    return Checkout(tmp_path / ODD_NAME, tmp_path / "bin")


@pytest.fixture
def ready(checkout):
    checkout.add_python("3.12")
    checkout.make("setup")
    assert checkout.calls() == MADE
    return checkout


def only_sentence(output):
    """The one line that comes before make's own last word."""
    (sentence,) = [line for line in output.splitlines() if not line.startswith("make: ***")]
    return sentence


def test_make_alone_lists_every_target_and_needs_no_python(checkout):
    listing = checkout.make()
    assert listing == checkout.make("help")
    for target in TARGETS:
        assert re.search(rf"^make {target} +\w.*$", listing, re.MULTILINE), target


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("reproduce", "-m marslab reproduce"),
        ("test", "-m pytest -m not slow"),
        ("test-slow", "-m pytest -m slow"),
        ("figures", "-m marslab figure"),
        ("bench", "bench/run.py"),
    ],
)
def test_each_target_sets_up_and_runs_its_command_in_an_oddly_named_folder(checkout, target, call):
    checkout.add_python("3.11")
    checkout.make(target)
    assert checkout.calls() == [*MADE, call]
    checkout.make(target, "ARGS=--more")
    assert checkout.calls() == [f"{call} --more"]


def test_lint_checks_rules_and_format(ready):
    ready.make("lint")
    assert ready.calls() == ["-m ruff check .", "-m ruff format --check ."]


def test_full_figures(ready):
    ready.make("figures", "FULL=1")
    assert ready.calls() == ["-m marslab figure --full"]


def test_lab_listens_on_this_computer_and_opens_the_tour_when_there_is_one(ready):
    root = " --allow-root" if os.getuid() == 0 else ""
    ready.make("lab")
    assert ready.calls() == [f"-m jupyterlab --ip=127.0.0.1{root} notebooks"]
    (ready.root / "notebooks").mkdir()
    (ready.root / "notebooks/00_tour.ipynb").touch()
    ready.make("lab")
    assert ready.calls() == [f"-m jupyterlab --ip=127.0.0.1{root} notebooks/00_tour.ipynb"]


@pytest.mark.parametrize("exit_code", ["1", "2", "5"])
def test_a_failure_is_passed_on_and_an_empty_slow_suite_is_none(ready, exit_code):
    ready.make("test", code=1, EXIT_CODE=exit_code)
    ready.make("test-slow", code=exit_code != "5", EXIT_CODE=exit_code)


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.9", "3.10", "3.15", "4.0"])
def test_an_unfit_python_gets_one_sentence_with_its_version_and_the_remedy(checkout, version):
    checkout.add_python(version)
    sentence = only_sentence(checkout.make("test", code=2))
    assert f"'python3' is Python {version}:" in sentence
    assert "marslab needs Python 3.11 to 3.14" in sentence
    assert "make PYTHON=" in sentence
    assert not (checkout.root / ".venv").exists()


def test_an_unfit_python3_is_passed_over_for_a_fitting_one(checkout):
    checkout.add_python("3.9")
    checkout.add_python("3.13", name="python3.13")
    assert "Python 3.13" in only_sentence(checkout.make("setup"))
    assert checkout.calls() == MADE


def test_a_named_unfit_python_is_refused_though_a_fitting_one_exists(checkout):
    checkout.add_python("3.13")
    checkout.add_python("3.9", name="python3.9")
    assert "'python3.9' is Python 3.9" in only_sentence(checkout.make("test", "PYTHON=python3.9", code=2))


def test_a_missing_python(checkout):
    assert "there is no 'python3' on this machine" in only_sentence(checkout.make("test", code=2))
    assert "there is no 'nowhere/python'" in only_sentence(checkout.make("test", "PYTHON=nowhere/python", code=2))


def test_a_python_that_does_not_run(checkout):
    broken = checkout.add_python("3.12")
    broken.write_text("#!/bin/sh\necho 'python3: command not found' >&2; exit 127\n")
    assert "'python3' does not run" in only_sentence(checkout.make("test", code=2))


def test_a_python_without_its_venv_module(checkout):
    checkout.add_python("3.11")
    checkout.add_python("3.12", name="python3.12")
    sentence = only_sentence(checkout.make("test", code=2, NO_ENSUREPIP="1"))
    assert "apt install python3-venv" in sentence
    sentence = only_sentence(checkout.make("test", "PYTHON=python3.12", code=2, NO_ENSUREPIP="1"))
    assert "apt install python3.12-venv" in sentence


def test_a_python_in_a_folder_with_a_blank(checkout, tmp_path):
    folder = tmp_path / "my python"
    folder.mkdir()
    shutil.move(checkout.add_python("3.12"), folder / "python3")
    checkout.make("setup", f"PYTHON={folder}/python3")
    assert checkout.calls() == MADE


def test_an_interrupted_install_is_not_taken_for_a_finished_one(checkout):
    checkout.add_python("3.12")
    assert "install did not finish" in checkout.make("test", code=2, PIP_FAILS="1")
    assert checkout.calls() == MADE
    checkout.make("setup")
    assert checkout.calls() == MADE
    checkout.make("setup")
    assert checkout.calls() == []


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_changed_pins_are_installed_into_the_same_environment(ready, changed):
    with (ready.root / changed).open("a") as file:
        file.write("# another line\n")
    ready.make("setup")
    assert ready.calls() == [INSTALL]


def test_a_new_date_installs_nothing(ready):
    for name in ["pyproject.toml", "constraints.txt", "Makefile"]:
        os.utime(ready.root / name, (4e9, 4e9))
    ready.make("setup")
    assert ready.calls() == []


def test_a_moved_checkout_is_installed_anew_and_a_linked_one_is_not(ready, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(ready.root)
    ready.root, real = link, ready.root
    ready.make("setup")
    assert ready.calls() == []
    ready.root = real.rename(tmp_path / "moved")
    ready.make("setup")
    assert ready.calls() == [INSTALL]


def test_an_environment_whose_python_is_gone_is_made_anew(ready):
    (ready.root / ".venv/bin/python").unlink()
    ready.make("setup")
    assert ready.calls() == MADE


def test_another_python_on_request_makes_another_environment(ready):
    ready.add_python("3.13", name="python3.13")
    ready.make("setup", "PYTHON=python3.13")
    assert ready.calls() == MADE
    ready.make("setup")
    assert ready.calls() == []


def test_an_unwritable_checkout_gets_one_sentence(checkout):
    checkout.add_python("3.12")
    (checkout.root / ".venv").touch()  # a file stands in the way, which stops even root
    assert "Cannot write to" in only_sentence(checkout.make("test", code=2))


def test_clean_keeps_results_and_what_git_tracks(ready):
    ready.make("clean")  # nothing to remove, not even a folder of figures
    kept = [".marslab/result.nc", "figures/idea.png", "figures/rates.py", "experiments/published/rates.nc"]
    gone = ["figures/rates.png", "figures/index.html", "marslab/__pycache__/a.pyc", ".ruff_cache/a", ".bench-venv/a"]
    for name in kept + gone:
        (ready.root / name).parent.mkdir(parents=True, exist_ok=True)
        (ready.root / name).touch()
    assert "clean-results" in ready.make("clean")
    assert not (ready.root / ".venv").exists()
    left = {path.relative_to(ready.root).as_posix() for path in ready.root.rglob("*") if path.is_file()}
    assert left == {*kept, "Makefile", "pyproject.toml", "constraints.txt", "tools/setup.sh"}
    ready.make("clean-results")
    assert not (ready.root / ".marslab").exists()
    assert (ready.root / "experiments/published/rates.nc").exists()


def test_clean_keeps_every_drawn_figure_that_is_tracked():
    listing = subprocess.run(["git", "ls-files", "figures"], cwd=ROOT, capture_output=True, text=True)
    drawn = [name for name in listing.stdout.splitlines() if name.endswith((".png", ".pdf", ".svg", ".html"))]
    assert all(Path(name).name == "idea.png" for name in drawn)
