"""What a claim is: a statement with its source, a prediction made first, a measurement, and the row of the ledger."""

import dataclasses
import inspect
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from marslab import experiment, results
from marslab.errors import StoreError, unknown
from marslab.syntax import meaning
from marslab.verdicts import Judgement, Measurement, Verdict, decide, judge

__all__ = ["Claim", "Finding", "Plant", "Row", "verdicts"]


@dataclass(frozen=True, eq=False)
class Finding:
    """What a claim measured, and with which effort; ``note`` says in one sentence what else was seen."""

    measurement: Measurement
    steps: int = 0
    evaluations: int = 0
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One line of the ledger, as numbers and texts; ``verdicts`` turns rows into verdicts."""

    name: str
    statement: str
    source: str
    kind: str
    unit: str
    mode: str
    predicted: float
    prediction_hash: str
    measured: float
    low: float
    high: float
    level: float
    margin: float
    side: str
    detectable: float
    p_holds: float
    p_fails: float
    lower: float
    upper: float
    standard_error: float
    seeds: int | None
    diverged: int
    steps: int
    evaluations: int
    seconds: float
    note: str
    keys: Mapping[str, str]

    def judgement(self) -> Judgement:
        """The row as ``verdicts.decide`` takes it."""
        measurement = Measurement(
            self.measured, self.standard_error, seeds=self.seeds, kind=self.kind, level=self.level, diverged=self.diverged
        )
        ends = (self.lower, self.upper, self.margin, self.p_holds, self.p_fails, self.low, self.high, self.level)
        return Judgement(measurement, *ends, self.detectable, self.name)


@dataclass(frozen=True, eq=False)
class Plant:
    """A fault that a claim must notice: other settings, or other options of runs of its experiments.

    settings  {keyword of ``measure``: its wrong value}
    runs      {experiment: {run: {option: its wrong value}}}; "rule" may be among the options
    """

    settings: Mapping = field(default_factory=dict)
    runs: Mapping[str, Mapping[str, Mapping]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Claim:
    """A statement that can fail.

    statement    one sentence in plain text; the module's docstring holds the derivation
    source       paper and equation, or 'derived here'
    kind         symbolic | exact | Monte Carlo | empirical
    side         'within': |measured - predicted| <= margin; 'below' / 'above': at least the margin below / above predicted
    predict      () -> float, called before anything is measured
    measure      (data, **settings) -> Finding, with ``data[experiment][run]`` the datasets of ``experiments``
    figure       the figure to open beside it (default: the first experiment's)
    settings     keywords of ``measure``, the claim's configuration: rules, noise, schedules, steps, seeds; a ``Budget(quick,
                 full)`` may stand for any
    plants       {what is wrong: a ``Plant``}: the claim with a changed rule, schedule or noise, which must come out FAILS
    """

    name: str
    statement: str
    source: str
    kind: str
    unit: str
    predict: Callable[[], float]
    measure: Callable[[Mapping], Finding]
    margin: float = 0.0
    side: str = "within"
    experiments: tuple[str, ...] = ()
    figure: str = ""
    settings: Mapping = field(default_factory=dict)
    plants: Mapping[str, "Plant"] = field(default_factory=dict)
    planted: str = ""

    @property
    def module(self):
        """The file that states the claim."""
        return sys.modules[self.measure.__module__]

    @property
    def derivation(self) -> str:
        """The docstring of the claim's file."""
        return inspect.cleandoc(self.module.__doc__ or "")

    def check(self, quick: bool = True) -> tuple[Row, Verdict]:
        """Predict, measure and judge this claim alone; the experiments' data are found or computed."""
        row = self.row("quick" if quick else "full")
        return row, verdicts([row])[0]

    def row(self, mode: str = "quick") -> Row:
        """The claim's row, found in the store or measured and stored there."""
        stored = results.compute(self.entry(mode), *self._definition(mode), lambda: self._measured(mode))
        return row_of(stored)

    def key(self, mode: str = "quick") -> str:
        """The key of the row that today's code would give."""
        return results.key(*self._definition(mode))

    def find(self, mode: str = "quick") -> Row | None:
        """The stored row, or None; measures nothing."""
        found = results.find(self.key(mode))
        return None if found is None else row_of(found)

    def plant(self, name: str) -> "Claim":
        """The claim with one of its plants in place: the same check, on something that is wrong."""
        if name not in self.plants:
            raise unknown("plant", name, self.plants)
        return dataclasses.replace(self, settings={**self.settings, **self.plants[name].settings}, planted=name)

    def entry(self, mode: str) -> str:
        """The row's name in the store."""
        return f"claim-{self.name}-{mode}" if not self.planted else f"plant-{self.name}-{mode}"

    def _keys(self, mode: str) -> dict[str, str]:
        return {name: experiment.load(name).changed(self._changes(name)).identity(mode).key for name in self.experiments}

    def _changes(self, name: str) -> Mapping[str, Mapping]:
        """What the plant in place changes in the runs of an experiment."""
        return self.plants[self.planted].runs.get(name, {}) if self.planted else {}

    def _data(self, name: str, mode: str) -> dict[str, xr.Dataset]:
        """The data of an experiment; runs that a plant leaves alone are those of the experiment as declared."""
        declared, changes = experiment.load(name), self._changes(name)
        return declared.compute(mode) | (declared.changed(changes, only=True).compute(mode) if changes else {})

    def configured(self, mode: str) -> dict:
        """The settings of one mode."""
        return {name: getattr(v, mode) if isinstance(v, experiment.Budget) else v for name, v in self.settings.items()}

    def _definition(self, mode: str):
        configuration = {"claim": self.name, "mode": mode, "margin": self.margin, "side": self.side, "data": self._keys(mode)}
        configuration |= {"plant": self.planted} if self.planted else {}
        return configuration, [self.module, "marslab.claims.base", "marslab.verdicts"]

    def _measured(self, mode: str) -> xr.Dataset:
        begun = time.monotonic()
        predicted = float(self.predict())
        data = {name: self._data(name, mode) for name in self.experiments}
        finding = self.measure(data, **self.configured(mode))
        found = judge(finding.measurement, predicted=predicted, margin=self.margin, side=self.side, name=self.name)
        row = self._row(mode, predicted, finding, found, time.monotonic() - begun)
        return xr.Dataset(attrs={"row": json.dumps(dataclasses.asdict(row))})

    def _row(self, mode, predicted, finding, found, seconds) -> Row:
        measurement = finding.measurement
        return Row(
            **{name: getattr(self, name) for name in ("name", "statement", "source", "kind", "unit", "margin", "side")},
            **{name: float(getattr(found, name)) for name in ("low", "high", "level", "detectable", "p_holds", "p_fails")},
            mode=mode,
            predicted=predicted,
            prediction_hash=self.prediction_hash(),
            measured=float(measurement.estimate),
            lower=float(found.lower),
            upper=float(found.upper),
            standard_error=float(measurement.error.standard_error),
            seeds=measurement.seeds,
            diverged=measurement.diverged,
            steps=int(finding.steps),
            evaluations=int(finding.evaluations),
            seconds=seconds,
            note=finding.note,
            keys=self._keys(mode),
        )

    def prediction_hash(self) -> str:
        """A digest of the file that states the prediction, without comments and layout."""
        return meaning(inspect.getsource(self.module), self.name)[0][:16]

    def __repr__(self):
        return f"<claim {self.name}: {self.statement}>"


def row_of(stored: xr.Dataset) -> Row:
    """The row that a stored result holds.

    Raises:
        StoreError: it holds none, or one with other fields, as a row committed by another version may.
    """
    try:
        return Row(**json.loads(stored.attrs["row"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise StoreError(f"the stored row is of another version of marslab ({problem}): measure the claim anew") from problem


def verdicts(rows: list[Row]) -> list[Verdict]:
    """Verdicts of a family of rows: 99 % after Holm's correction over the stochastic ones (``marslab.verdicts``)."""
    return decide([row.judgement() for row in rows])


def final(data: xr.Dataset, name: str) -> np.ndarray:
    """The last recorded values of a variable, as an array over the remaining dimensions."""
    return data[name].isel(step=-1).values
