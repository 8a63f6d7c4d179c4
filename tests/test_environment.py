"""pyproject.toml, constraints.txt, environment.yml and tools/setup.sh agree, and no file names a registry or a machine."""

import ast
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from rattler import MatchSpec, VersionSpec
from rattler import Version as CondaVersion

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
CONSTRAINTS = (ROOT / "constraints.txt").read_text()

CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base", "playwright": "playwright-python"}
IMPORT_NAMES = {"scikit-learn": "sklearn", "pyyaml": "yaml", "pillow": "PIL", "py-rattler": "rattler"}
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PLATFORMS = [("linux", "Linux", "x86_64"), ("linux", "Linux", "aarch64"), ("darwin", "Darwin", "arm64")]


def direct_dependencies():
    """Every requirement of the project and its extras, without the extras' reference to each other."""
    lines = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    found = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): one.specifier for one in found if one.name != PROJECT["name"]}


def pins():
    found = [Requirement(line) for line in CONSTRAINTS.splitlines() if line and not line.startswith("#")]
    return [(canonicalize_name(one.name), one) for one in found]


def conda_specs():
    lines = [line for line in CONDA["dependencies"] if isinstance(line, str)]
    return {line.split()[0]: MatchSpec(line, strict=True) for line in lines}


def marker_environment(python, platform):
    system, name, machine = platform
    return {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": system,
        "platform_system": name,
        "platform_machine": machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
    }


def pins_in_force(name, python, platform):
    environment = marker_environment(python, platform)
    named = [requirement for pinned, requirement in pins() if pinned == name]
    return [one for one in named if one.marker is None or one.marker.evaluate(environment)]


def exact_version(requirement):
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", f"{requirement} is not an exact pin"
    return specifier.version


def tracked_files():
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def tracked_texts():
    for path in tracked_files():
        content = path.read_bytes()
        if b"\0" not in content:
            yield path.relative_to(ROOT).as_posix(), content.decode()


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: "-".join(platform[::2]))
@pytest.mark.parametrize("python", PYTHONS)
def test_each_dependency_has_one_pin_inside_the_range_of_pip_and_of_conda(python, platform):
    specs = conda_specs()
    for name, wanted in direct_dependencies().items():
        in_force = pins_in_force(name, python, platform)
        assert len(in_force) == 1, f"{name} has {len(in_force)} pins for Python {python} on {platform}"
        version = exact_version(in_force[0])
        assert wanted.contains(version), f"{name} is pinned to {version}, outside {wanted}"
        conda_range = VersionSpec(str(specs[CONDA_NAMES.get(name, name)].version))
        assert conda_range.matches(CondaVersion(version)), f"{name} is pinned to {version}, outside {conda_range}"


def test_every_pin_is_exact():
    for _, requirement in pins():
        exact_version(requirement)


def test_conda_and_pip_state_the_same_ranges():
    expected = {CONDA_NAMES.get(name, name): wanted for name, wanted in direct_dependencies().items()}
    expected["python"] = SpecifierSet(PROJECT["requires-python"])
    stated = {name: SpecifierSet(str(spec.version)) for name, spec in conda_specs().items() if name != "pip"}
    assert stated == expected


def test_conda_takes_one_channel_and_pip_only_this_package():
    assert CONDA["channels"] == ["conda-forge"]
    assert [entry for entry in CONDA["dependencies"] if isinstance(entry, dict)] == [{"pip": ["-e ."]}]


def test_torch_is_pinned_exactly_and_never_older_than_safe_loading():
    assert [str(one) for name, one in pins() if name == "torch"] == ["torch==2.13.0"]
    lower = [one.version for one in direct_dependencies()["torch"] if one.operator == ">="]
    assert max(map(Version, lower)) >= Version("2.10")


def test_the_pin_of_torch_is_the_one_that_remaking_starts_from():
    uv = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]
    assert uv["constraint-dependencies"] == [str(one) for name, one in pins() if name == "torch"]


def test_constraints_name_versions_and_nothing_to_fetch_from():
    assert not re.search(r"https?:|file:|git\+|--|@", CONSTRAINTS)


def test_setup_accepts_the_pythons_that_the_project_accepts():
    (listed,) = re.findall(r'^supported="([\d. ]+)"', (ROOT / "tools/setup.sh").read_text(), re.MULTILINE)
    wanted = SpecifierSet(PROJECT["requires-python"])
    assert sorted(listed.split()) == [f"3.{minor}" for minor in range(30) if wanted.contains(f"3.{minor}.1")] == PYTHONS


def imported_modules(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("folder", ["marslab", "experiments", "figures", "tests"])
def test_whatever_is_imported_is_declared(folder):
    declared = {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in direct_dependencies()}
    files = list((ROOT / folder).rglob("*.py"))
    own = {"marslab", "experiments", "figures", "tests", *(path.stem for path in files)}
    known = declared | own | set(sys.stdlib_module_names)
    for path in files:
        unknown = set(imported_modules(path.read_text())) - known
        assert not unknown, f"{path.relative_to(ROOT)} imports {unknown}, which pyproject.toml does not declare"


# Written in two halves, so that this file does not contain what it looks for.
REGISTRIES = ["py" + "pi.org", "python" + "hosted", "ana" + "conda.org", "npm" + "js", "download." + "pytorch"]
FOLDERS = ["home", "root", "work", "Users", "tmp", "opt", "mnt", "srv"]


def test_no_file_names_a_registry():
    for name, text in tracked_texts():
        found = [host for host in REGISTRIES if host in text.lower()]
        assert not found, f"{name} names {found}"


def test_no_file_holds_a_path_of_one_machine():
    absolute = re.compile(rf"(?<![\w.~}}/-])/(?:{'|'.join(FOLDERS)})/\w[^\s'\"]*")
    for name, text in tracked_texts():
        assert not absolute.findall(text), f"{name} holds {absolute.findall(text)}"
