"""Curves of any set of logs: losses against tokens and against time, one colour a run."""

from pathlib import Path

from marslab.errors import UsageError
from marslab.gpt2.log import read_log
from marslab.plots import close, label_ends, number_axes, save, style

__all__ = ["draw_losses", "plot"]

UNITS = {"tokens": ((1, "tokens"), (1e3, "thousand tokens"), (1e6, "million tokens"), (1e9, "billion tokens"))}
UNITS["seconds"] = ((1, "seconds"), (60, "minutes"), (3600, "hours"), (86400, "days"))


def unit(x: str, largest: float) -> tuple[float, str]:
    """The largest unit that the largest value fills at least twice."""
    return [one for one in UNITS[x] if largest >= 2 * one[0] or one[0] == 1][-1]


def column(log: list[dict], x: str, y: str, scale: float) -> tuple[list, list]:
    """Two fields of the lines that have the second, the first in units of ``scale``."""
    lines = [one for one in log if one.get(y) is not None]
    return [one[x] / scale for one in lines], [one[y] for one in lines]


def draw_losses(ax, logs: dict[str, list[dict]], x: str, colors: dict):
    """Training loss thin, validation loss as points; a cross where a run diverged."""
    largest, ends = max(log[-1][x] for log in logs.values()), {}
    scale, word = unit(x, largest)
    for name, log in logs.items():
        ax.plot(*column(log, x, "loss", scale), lw=0.6, alpha=0.5, color=colors[name])
        at, values = column(log, x, "validation_loss", scale)
        ax.plot(at, values, "o-", ms=3, color=colors[name])
        known = [one["loss"] for one in log if one.get("loss") is not None]
        ends[name] = (values or known or [0.0])[-1]
        if log[-1].get("diverged") and known:
            ax.plot(log[-1][x] / scale, known[-1], "x", ms=8, mew=2, color=colors[name])
            ends[name], ends[f"{name} (diverged)"] = None, ends[name]
            colors[f"{name} (diverged)"] = colors[name]
    ax.set_xlabel(word)
    ax.set_ylabel("loss (nats a token)")
    label_ends(ax, largest / scale, {name: y for name, y in ends.items() if y is not None}, colors)
    return ax


def plot(runs: list[Path], path: Path) -> list[Path]:
    """Draw the logs of some runs' folders (or log files) into ``path`` (.pdf and .png); the files.

    Raises:
        UsageError: no run is named, one has no log, or two have the same name.
    """
    logs = {}
    for run in map(Path, runs):
        name = run.parent.name if run.suffix == ".jsonl" else run.name
        if name in logs:
            raise UsageError(f"two runs are named {name!r}; rename one of their folders.")
        logs[name] = read_log(run if run.suffix == ".jsonl" else run / "log.jsonl")
    if not logs:
        raise UsageError("no run is named; give the folders of some runs.")
    import matplotlib.pyplot as plt

    with style():
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
        colors = {name: f"C{number % 10}" for number, name in enumerate(logs)}
        for ax, x in zip(axes, UNITS, strict=True):
            draw_losses(ax, logs, x, dict(colors))
        number_axes(axes)
        provenance = {"runs": sorted(logs), "steps": {name: log[-1]["step"] for name, log in logs.items()}}
        drawn = save(figure, Path(path).with_suffix(""), provenance)
        close(figure)
    return drawn
