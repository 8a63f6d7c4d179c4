"""The plan of a run: everything is checked before anything is computed, and hyper-parameters are shaped for lanes."""

import json

import torch

from marslab.errors import UsageError
from marslab.extras import Extras, check_extras
from marslab.kinds import one_of, whole
from marslab.lanes import Lanes
from marslab.noise.base import Noise
from marslab.optimizers import find_rule
from marslab.problems.base import Problem
from marslab.record import event_axes
from marslab.streams import BLOCK, check_seeds

__all__ = ["Clock", "Part", "Plan"]

DTYPES = {"float64": torch.float64, "float32": torch.float32}


class Plan:
    """Everything a run needs, checked before anything is computed."""

    def __init__(self, rule, problem, noise, steps, seeds, exact, first, scope, fallback, options, dtype, hyper):
        check_instance("problem", problem, Problem, "problems.quadratic([1.0, 0.1])")
        if noise is not None:
            check_instance("noise", noise, Noise, "noise.additive(sigma=0.1)")
        self.rule, self.problem, self.noise = rule, problem, noise
        self.fallback, self.options = fallback, dict(options or {})
        if self.options and fallback is None:
            raise UsageError(f"fallback_options = {self.options!r} without a fallback; name one, for example fallback='adamw'.")
        self.steps = whole("steps", steps)
        self.seeds = check_seeds(seeds)
        self.mode = rule.mode(exact)
        self.first = one_of("first", rule.first if first is None else first, ("equal", "zero"))
        self.scope = one_of("clip_scope", scope, ("tensor", "global"))
        self.dtype = DTYPES[one_of("dtype", dtype, DTYPES)]
        if noise is not None:
            for law in noise.parts:
                law.check(problem)
        given = rule.check(hyper)
        check_extras(rule, problem, given)
        self._lay_out_lanes(given)
        self.parts = {name: self._part(name, shape) for name, shape in problem.shapes.items()}

    def _lay_out_lanes(self, hyper):
        levels = self.noise.level_values() if self.noise is not None else {}
        for name in hyper.keys() & levels.keys():
            raise UsageError(f"{name!r} is a hyper-parameter of {self.rule.name} and a level of the noise; rename the former.")
        self.given = {**hyper, **levels}
        self.values = Lanes(self.given, steps=self.steps, dtype=self.dtype)
        self.hyper_names = set(hyper)
        self.lanes = (*self.values.shape, len(self.seeds))

    def _part(self, name, shape):
        if not self.rule.matrix or len(shape) >= 2:
            return Part(self.rule, None, event_axes(shape))
        if self.fallback is None:
            raise UsageError(
                f"{self.rule.name} needs a matrix, but {name!r} of {self.problem.name} has shape {shape}; "
                "name a fallback for such tensors, for example fallback='adamw'."
            )
        return Part(*self._other(find_rule(self.fallback)), event_axes(shape))

    def _other(self, other):
        """The fallback and its hyper-parameters; refused where it cannot stand beside the main rule."""
        if other.matrix:
            raise UsageError(f"fallback = {other.name!r} needs a matrix itself; choose an elementwise rule such as 'adamw'.")
        if other.needs:
            raise UsageError(f"fallback = {other.name!r} needs {other.needs[0]!r}, which only a main rule has; try 'adamw'.")
        if other.modes and self.mode not in other.modes:
            raise UsageError(f"fallback = {other.name!r} has no {self.mode} form, in which {self.rule.name} runs; try 'adamw'.")
        values = Lanes(other.check(self.options), steps=self.steps, dtype=self.dtype)
        for name, entries in values.axes.items():
            raise UsageError(f"fallback_options: {name} = {entries!r} is an axis, which only the main rule may have; give one.")
        return other, values

    def described(self) -> dict:
        """Plain attributes that say what was run."""
        return {
            "rule": self.rule.name,
            "mode": self.mode,
            "first": self.first,
            "clip_scope": self.scope,
            "fallback": str(getattr(self.fallback, "name", self.fallback)),
            "fallback_options": json.dumps({name: plain(value) for name, value in self.options.items()}),
            "problem": repr(self.problem),
            "noise": repr(self.noise),
            "steps": self.steps,
            "dtype": str(self.dtype).removeprefix("torch."),
            "hyper": json.dumps({name: plain(value) for name, value in self.given.items()}),
        }

    def extras(self) -> Extras | None:
        """The observations that the rule declares beyond g and prev."""
        if not self.rule.needs:
            return None
        sizes = {name: self.given[name] for name in ("period", "large") if name in self.given}
        return Extras(self.rule, self.problem, self.noise, self.seeds, self.dtype, **sizes)

    def start(self) -> dict:
        """The problem's start in every lane."""
        return {
            name: value.to(self.dtype).expand(*self.lanes, *value.shape).clone() for name, value in self.problem.start().items()
        }


class Part:
    """How one tensor of the variable is updated: its rule, its own hyper-parameters if it is a fallback, its axes."""

    def __init__(self, rule, values, axes):
        self.rule, self.values, self.axes = rule, values, axes


def check_instance(name: str, value, kind: type, example: str) -> None:
    """Refuse what is no instance of a class of this library (its class alone, a name, a number)."""
    if not isinstance(value, kind):
        raise UsageError(f"{name} = {value!r} is no {name} made ready; give one such as marslab.{example}.")


class Clock:
    """The hyper-parameters and noise levels of the current step, by number of event axes."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.tables = [plan.values, *(p.values for p in plan.parts.values() if p.values is not None)]
        self.changing = any(table.scheduled for table in self.tables)

    def tick(self, t: int) -> None:
        """Move to step t; schedules are evaluated a block at a time, constants are looked up once."""
        self.t = t
        if self.changing or t == 1:
            self._all, self._hyper = {}, {}
        if (t - 1) % BLOCK == 0:
            self._times = torch.arange(t, t + BLOCK, dtype=torch.float64)
            for table in self.tables:
                table.prepare(t, min(t + BLOCK - 1, self.plan.steps))

    @property
    def time(self) -> torch.Tensor:
        """t as a float64 scalar."""
        return self._times[(self.t - 1) % BLOCK]

    def levels(self, event_ndim: int) -> dict:
        """Every value of the run's own table at this step, the noise levels among them."""
        if event_ndim not in self._all:
            self._all[event_ndim] = self.plan.values.at(self.t, event_ndim)
        return self._all[event_ndim]

    def hyper(self, name: str) -> dict:
        """The hyper-parameters of the rule of one named tensor."""
        if name not in self._hyper:
            part = self.plan.parts[name]
            values = self.levels(len(part.axes)) if part.values is None else part.values.at(self.t, len(part.axes))
            own = self.plan.hyper_names if part.values is None else values
            self._hyper[name] = {key: value for key, value in values.items() if key in own}
        return self._hyper[name]


def plain(value):
    """A hyper-parameter as JSON can hold it: numbers, options, lists of these, and schedules as text."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return str(value) if callable(value) or value in (float("inf"), -float("inf")) else value
