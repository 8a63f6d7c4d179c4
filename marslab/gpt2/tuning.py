"""Learning rates of language models, chosen with an equal, stated budget on seeds that are not reported.

Every method gets the same number of rates, a factor 2 apart around its preset's; while the best one lies on the edge of its
grid, one more is added there, up to a stated number. Each run has a folder of its own, and what is there is not run again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from marslab.errors import UsageError
from marslab.gpt2.loop import train
from marslab.gpt2.settings import Settings, preset
from marslab.tuning import FIRST_TUNING_SEED

__all__ = ["Method", "Plan", "Runs", "Tuned", "adapted", "method", "tune"]

SPACING = 2.0


@dataclass(frozen=True)
class Method:
    """What is compared, by a name of its own: settings that differ from the others', lr among them where it is not tuned."""

    name: str
    settings: Settings
    tuned: bool = True


@dataclass(frozen=True)
class Plan:
    """How much each method gets: rates (at first, and at most), seeds and steps of tuning and of reporting.

    baseline: the name of the method that the others are held against; margin: the smallest difference, in nats a token, that
    counts; target: a validation loss to reach (None: the baseline's mean at the end).
    """

    baseline: str
    rates: int = 5
    most: int = 7
    tuning_seeds: int = 2
    tuning_steps: int = 250
    seeds: int = 8
    steps: int = 500
    margin: float = 0.0
    target: float | None = None


@dataclass(frozen=True)
class Tuned:
    """The best rate, whether it lies on the edge of the grid, and the mean log loss at every rate (inf: diverged)."""

    lr: float
    on_edge: bool
    scores: dict[float, float]


def method(word: str, size: str, **overrides) -> Method:
    """A method from ``optimizer``, ``optimizer:exact`` or ``optimizer:exact@lr`` (@lr: at this rate, not tuned)."""
    name, at, rate = word.partition("@")
    optimizer, colon, mode = name.partition(":")
    if colon and mode not in ("exact", "approximate"):
        raise UsageError(f"{word!r} names no mode after its colon; write {optimizer}:exact or {optimizer}:approximate.")
    own = {**overrides, "exact": mode == "exact", **({"lr": rate} if at else {})}
    return Method(word, preset(size, optimizer, **own), tuned=not at)


def adapted(settings: Settings, steps: int, seed: int, lr: float) -> Settings:
    """The settings with a rate, steps and a seed; what depends on the rate and on the steps keeps its ratio."""
    ratio = lr / settings.lr if settings.lr else 1.0
    second = None if settings.lr_1d is None else settings.lr_1d * ratio
    warmup = round(settings.warmup * steps / settings.steps)
    every = min(settings.eval_every, steps)
    return replace(
        settings, lr=lr, lr_1d=second, min_lr=settings.min_lr * ratio, steps=steps, warmup=warmup, seed=seed, eval_every=every
    )


class Runs:
    """Trained runs below a folder; one that is there is read, not trained again."""

    def __init__(self, root: Path, data: Path, say: Callable | None):
        self.root, self.data, self.say = Path(root), data, say or (lambda line: None)

    def folder(self, name: str, settings: Settings) -> Path:
        """The folder of a run: method, rate, steps and seed."""
        return self.root / name.replace(":", "-") / f"lr{settings.lr:.6g}-steps{settings.steps}-seed{settings.seed}"

    def loss(self, name: str, settings: Settings) -> float:
        """The validation loss at the end; inf where the run diverged."""
        outcome = train(settings, self.folder(name, settings), self.data)
        loss = outcome.validation_loss if outcome.state == "finished" else math.inf
        self.say(f"{name}  lr {settings.lr:.4g}  seed {settings.seed}: {loss:.4f}")
        return loss if math.isfinite(loss) else math.inf


def tune(one: Method, plan: Plan, runs: Runs) -> Tuned:
    """The rate with the lowest mean log validation loss over the tuning seeds.

    A method at a stated rate costs nothing; the others get ``plan.rates`` rates and, while the best lies on the edge, one more.
    """
    if not one.tuned:
        return Tuned(one.settings.lr, False, {})
    scores, middle = {}, one.settings.lr
    wanted = [middle * SPACING**k for k in range(-(plan.rates // 2), plan.rates - plan.rates // 2)]
    while wanted:
        for lr in wanted:
            scores[lr] = score(one, lr, plan, runs)
        best = min(scores, key=scores.get)
        low, high = min(scores), max(scores)
        room = len(scores) < plan.most and math.isfinite(scores[best])
        wanted = [low / SPACING if best == low else high * SPACING] if room and best in (low, high) else []
    return Tuned(best, best in (low, high), dict(sorted(scores.items())))


def score(one: Method, lr: float, plan: Plan, runs: Runs) -> float:
    """The mean log validation loss over the tuning seeds."""
    seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + plan.tuning_seeds)
    losses = [runs.loss(one.name, adapted(one.settings, plan.tuning_steps, seed, lr)) for seed in seeds]
    return float(np.mean(np.log(losses)))
