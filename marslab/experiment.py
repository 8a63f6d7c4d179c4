"""Declared experiments: configuration in one file each, results in the store, found again by what made them.

A file in ``experiments/`` holds one ``experiment = Experiment(...)`` and nothing but configuration::

    from marslab.experiment import Budget, Experiment, moments, simulate

    experiment = Experiment(
        title="...", question="...",
        runs={"measured": simulate("mars", problem=..., noise=..., steps=Budget(2_000, 20_000), seeds=Budget(16, 256)),
              "predicted": moments("mars", problem=..., noise=..., steps=1_000_000)},
    )

``Budget(quick, full)`` may stand for any option. A run's ``keep`` names the variables to store.
"""

import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import xarray as xr

from marslab import paths, results
from marslab.errors import StoreError, UsageError, unknown

__all__ = ["MODES", "Budget", "Experiment", "Run", "load", "moments", "names", "simulate"]

MODES = ("quick", "full")
ENGINES = {"simulate": ("marslab.simulate", "run"), "moments": ("marslab.moments", "propagate")}


@dataclass(frozen=True)
class Budget:
    """A value that differs between the quick and the full mode."""

    quick: object
    full: object


@dataclass(frozen=True)
class Run:
    """One call of an engine: its rule, its options (any may be a Budget), and the variables to keep (empty: all)."""

    engine: str
    rule: str
    options: Mapping
    keep: tuple[str, ...] = ()

    def resolve(self, mode: str) -> dict:
        """The options of one mode."""
        return {name: getattr(value, mode) if isinstance(value, Budget) else value for name, value in self.options.items()}

    def execute(self, mode: str, progress: Callable | None = None) -> xr.Dataset:
        """Run the engine; simulations report their progress as ``progress(step, steps)``."""
        module, function = ENGINES[self.engine]
        extra = {"progress": progress} if self.engine == "simulate" and progress is not None else {}
        data = getattr(importlib.import_module(module), function)(self.rule, **self.resolve(mode), **extra)
        return data[list(self.keep)] if self.keep else data

    def configuration(self, mode: str) -> dict:
        """What defines the result, for the key."""
        return {"engine": self.engine, "rule": self.rule, "keep": list(self.keep), "options": self.resolve(mode)}

    def modules(self) -> list:
        """The code that the result depends on: engine, rule, problem, noise laws and schedules."""
        from marslab.optimizers import find_rule

        used = [ENGINES[self.engine][0], find_rule(self.rule).function]
        for options in map(self.resolve, MODES):
            values = [v for option in options.values() for v in (option if isinstance(option, list | tuple) else [option])]
            used += [options["problem"], *getattr(options.get("noise"), "parts", ())]
            used += [type(value) for value in values if callable(value) and not isinstance(value, type)]
        return used


def simulate(rule: str, *, keep=(), **options) -> Run:
    """Declare a simulation; options as in ``marslab.run``."""
    return Run("simulate", rule, options, tuple(keep))


def moments(rule: str, *, keep=(), **options) -> Run:
    """Declare exact moments; options as in ``marslab.moments.propagate``."""
    return Run("moments", rule, options, tuple(keep))


@dataclass(frozen=True)
class Experiment:
    """A question, the runs that answer it, and where their data lie."""

    title: str
    question: str
    runs: Mapping[str, Run]
    name: str = field(default="", compare=False)

    def configuration(self, mode: str) -> dict:
        """What defines the result, for the key."""
        return {label: run.configuration(mode) for label, run in self.runs.items()}

    def modules(self) -> list:
        """The code that the result depends on."""
        return [module for run in self.runs.values() for module in run.modules()]

    def identity(self, mode: str = "quick") -> results.Identity:
        """Key, configuration text and code digests of the result that today's code would give."""
        return results.identify(self.configuration(mode), self.modules())

    def changed(self, changes: Mapping[str, Mapping], only: bool = False) -> "Experiment":
        """The same experiment with other options, {run: {option: value}}, of some runs ("rule" may be among the options).

        ``only``: without the other runs.
        """
        runs = dict(self.runs)
        for label, options in changes.items():
            if label not in runs:
                raise unknown("run", label, runs)
            more = {**runs[label].options, **options}
            runs[label] = dataclasses.replace(runs[label], rule=more.pop("rule", runs[label].rule), options=more)
        return dataclasses.replace(self, runs={label: runs[label] for label in changes} if only else runs)

    def compute(self, mode: str = "quick", progress: Callable | None = None) -> dict[str, xr.Dataset]:
        """The data of every run: found in the store, or computed and stored."""
        return results.compute(self.entry(mode), self.configuration(mode), self.modules(), lambda: self._run(mode, progress))

    def _run(self, mode, progress):
        return {label: run.execute(mode, progress) for label, run in self.runs.items()}

    def entry(self, mode: str) -> str:
        """The result's name in the store."""
        return f"{self.name}-{mode}"

    def published_path(self, mode: str = "quick") -> Path:
        """Where the committed result lies, if there is one."""
        return paths.EXPERIMENTS / "published" / f"{self.name}{'' if mode == 'quick' else '-full'}.nc"

    def find(self, mode: str = "quick") -> tuple[dict[str, xr.Dataset], str]:
        """Stored or else committed data, and where they come from; computes nothing.

        Raises:
            StoreError: there are neither, or the committed file is damaged.
        """
        identity = self.identity(mode)
        data = results.find(identity.key)
        if data is not None:
            return data, f"computed here, key {identity.key[:12]}"
        path = self.published_path(mode)
        if not path.is_file():
            full = " --full" if mode == "full" else ""
            raise StoreError(f"{self.name} has no {mode} result yet: run 'python -m marslab run {self.name}{full}'")
        configuration = self.configuration(mode)
        data, note = results.published(path, identity.key, table=identity.table, configuration=configuration)
        return data, "published with the repository" + (f", {note}" if note else f", key {identity.key[:12]}")


def names() -> list[str]:
    """The declared experiments: the file names in ``experiments/``."""
    folder = paths.need(paths.EXPERIMENTS)
    return sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))


def load(name: str) -> Experiment:
    """The experiment declared in ``experiments/NAME.py``; an unknown name is refused with the closest one."""
    if name not in names():
        raise unknown("experiment", name, names())
    module = load_file(paths.EXPERIMENTS / f"{name}.py")
    found = getattr(module, "experiment", None)
    if not isinstance(found, Experiment):
        raise UsageError(f"{module.__file__} defines no experiment = Experiment(...); give it one.")
    object.__setattr__(found, "name", name)
    return found


def load_file(path: Path):
    """Import a top-level file (an experiment or a figure) under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"marslab_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
