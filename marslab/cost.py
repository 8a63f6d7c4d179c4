"""What a full run will cost, from the seconds of the quick results and the ratio of the budgets."""

import math
from collections.abc import Iterable, Mapping

from marslab import experiment, ledger
from marslab.errors import StoreError
from marslab.experiment import Budget

__all__ = ["estimate", "growth"]


def size(value) -> float:
    """A number itself, a list by its length; anything else counts as one."""
    if isinstance(value, list | tuple):
        return max(len(value), 1)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 1.0


def growth(options: Mapping) -> float:
    """How many times dearer the full mode is: the product over the budgets of steps, seeds and the like."""
    budgets = [value for name, value in options.items() if isinstance(value, Budget) and name != "record"]
    return math.prod(size(value.full) / size(value.quick) for value in budgets)


def of_experiment(name: str) -> float | None:
    """Seconds of an experiment's full run, or None where no quick run tells."""
    declared = experiment.load(name)
    try:
        data, _ = declared.find("quick")
    except StoreError:
        return None
    return sum(data[label].attrs.get("seconds", 0.0) * growth(run.options) for label, run in declared.runs.items())


def of_claim(name: str) -> float | None:
    """Seconds of a claim's own measuring at the full budget: as published, else from its quick row."""
    claim = ledger.chosen([name])[name]
    for mode, factor in (("full", 1.0), ("quick", growth(claim.settings))):
        row, _ = ledger.stored(claim, mode)
        if row is not None:
            return row.seconds * factor
    return None


def estimate(tasks: Iterable[tuple[str, str, str]], jobs: int) -> str:
    """One sentence on the cost of (kind, name, mode) tasks of the full mode."""
    found = {f"{kind} {name}": (of_experiment if kind == "experiment" else of_claim)(name) for kind, name, _ in tasks}
    unknown = [name for name, seconds in found.items() if seconds is None]
    seconds = sum(seconds for seconds in found.values() if seconds is not None)
    words = f"{len(found)} to do, about {spoken(seconds)} of processor time, {spoken(seconds / jobs)} on {jobs} processes"
    more = f"; unknown, for want of a quick result: {', '.join(unknown)}" if unknown else ""
    return f"cost: {words}{more}. It may be interrupted and goes on where it was."


def spoken(seconds: float) -> str:
    """Seconds, minutes or hours."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
