"""What there is: one line for every rule, problem, noise law, claim, experiment and figure; and the state of the machine."""

import inspect
import platform
import shutil
from collections.abc import Callable, Iterable
from importlib import metadata

from marslab.errors import unknown

__all__ = ["doctor", "lines"]

PACKAGES = ("torch", "numpy", "scipy", "sympy", "xarray", "matplotlib", "scikit-learn", "jupyterlab")


def first_line(thing) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n")[0]


def about(thing) -> str:
    """The first line of the file that defines it: plain words, where the docstring itself holds the formula."""
    return first_line(inspect.getmodule(thing))


def rules() -> dict[str, str]:
    """Name -> what it is, the forms it has, and what about it could not be checked."""
    from marslab.optimizers import RULES

    return {name: about(rule.function) + forms(rule) + doubts(rule) for name, rule in RULES.items()}


def forms(rule) -> str:
    """The rule's modes, in brackets."""
    return f" [{', '.join(rule.modes)}]" if rule.modes else ""


def doubts(rule) -> str:
    """What could not be checked against a second source."""
    return f" (uncertain: {rule.uncertain})" if rule.uncertain else ""


def problems() -> dict[str, str]:
    """Name -> first line."""
    from marslab.problems import PROBLEMS

    return {name: about(kind) for name, kind in PROBLEMS.items()}


def noise() -> dict[str, str]:
    """Name -> first line."""
    from marslab.noise import LAWS

    return {name: about(law) for name, law in LAWS.items()}


def claims() -> dict[str, str]:
    """Name -> statement."""
    from marslab.claims import CLAIMS

    return {name: claim.statement for name, claim in CLAIMS.items()}


def experiments() -> dict[str, str]:
    """Name -> question."""
    from marslab import experiment

    return {name: experiment.load(name).question for name in experiment.names()}


def figures() -> dict[str, str]:
    """Name -> caption."""
    from marslab import draw, experiment, paths

    return {name: first_line(experiment.load_file(paths.FIGURES / f"{name}.py").make) for name in draw.names()}


KINDS: dict[str, Callable[[], dict[str, str]]] = {
    "rules": rules,
    "problems": problems,
    "noise": noise,
    "claims": claims,
    "experiments": experiments,
    "figures": figures,
}


def lines(kinds: Iterable[str] = ()) -> list[str]:
    """The listing of these kinds, or of all."""
    out = []
    for kind in list(kinds) or list(KINDS):
        if kind not in KINDS:
            raise unknown("kind", kind, KINDS)
        found = KINDS[kind]()
        width = max(map(len, found), default=0)
        out += [f"{kind} ({len(found)})", *(f"  {name:<{width}}  {words}" for name, words in found.items()), ""]
    return out[:-1]


def version(package: str) -> str:
    """The installed version."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def doctor() -> list[str]:
    """Versions, compiler, processors, the store and the space that is left."""
    import os

    from marslab import __version__, paths, results

    store = paths.store()
    there = next(p for p in (store, *store.parents) if p.exists())
    entries = results.list_entries()
    damaged = [e.path.name for e in entries if e.problem]
    return [
        f"marslab {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        *(f"{name} {version(name)}" for name in PACKAGES),
        f"C++ compiler: {shutil.which('c++') or shutil.which('g++') or 'none (compiled runs need one)'}",
        f"processors: {os.cpu_count()}",
        f"store: {store} ({len(entries)} results, {sum(e.bytes for e in entries) / 1e6:.1f} MB, damaged: {damaged or 'none'})",
        f"free space there: {shutil.disk_usage(there).free / 1e9:.1f} GB",
    ]
