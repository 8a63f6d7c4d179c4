"""A rule: one optimizer as one pure function over tensors, with a declaration of what it needs.

    @rule(memory=("m",), prev="either")
    def my_momentum(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
        m = ema(state["m"], correct(g, prev, gamma=gamma, beta=beta1), beta1)
        return x - lr * m, dict(m=m)

The same object serves the simulator, the exact moments, the symbolic proofs and the torch optimizer.
"""

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType

import torch

from marslab.errors import UsageError, closest
from marslab.kinds import is_axis, is_number, one_of

__all__ = ["RANGES", "Rule", "check_range", "rule"]

MODES = {
    "none": (),
    "last": ("approximate",),
    "same_sample": ("exact",),
    "either": ("approximate", "exact"),
    "snapshot": ("snapshot",),
}
OBSERVED = ("full", "hess")
RESERVED = ("t", "axes", "norm", "prev", *OBSERVED)
ESTIMATES = ("", "hutchinson", "gauss_newton")
UNIT = (0.0, 1.0, "[0, 1)")
NOT_NEGATIVE = (0.0, math.inf, "[0, inf)")
REAL = (-math.inf, math.inf, "(-inf, inf)")
RANGES = {
    "lr": NOT_NEGATIVE,
    "gamma": REAL,
    "beta1": UNIT,
    "beta2": UNIT,
    "nu": REAL,
    "eps": NOT_NEGATIVE,
    "weight_decay": NOT_NEGATIVE,
    "beta3": UNIT,
    "tau": UNIT,
    "rho": NOT_NEGATIVE,
    "threshold": NOT_NEGATIVE,
    "clip_radius": (0.0, math.inf, "(0, inf]"),
    "sigma": NOT_NEGATIVE,
    "level": NOT_NEGATIVE,
}


@dataclass(frozen=True, eq=False)
class Rule:
    """An optimizer's update and its declaration; call it as ``rule(x, state, g, prev, t=t, **hyper)``.

    name         the public name, equal to the file's
    function     ``(x, state, g[, prev], *, hyper-parameters[, t, axes, norm, full, hess]) -> (x_new, state_new)``
    memory       state entries shaped like x, which start at zero
    scalars      state entries shaped like a hyper-parameter, which start at one (running products of betas)
    prev         what the correction may be taken against: none | last | same_sample | either | snapshot
    first        convention of the first step: "equal" (prev = g, no correction) or "zero" (prev = 0)
    why_not      why a mode that one might expect is not declared, in a few words
    diagnostics  state entries that are not memory (they feed the records and are never read by the next step)
    matrix       the rule works on matrices: the event axes are (rows, rest)
    estimator    ``(state, g) -> `` the rule's estimate of the true gradient (default: state["m"], else g)
    clipped      ``(g, prev, **hyper) -> `` the tensor whose norm a global clip needs, where the rule clips
    presets      named sets of hyper-parameters with their source ("paper", "released")
    options      the words that a hyper-parameter with a word for its default may take
    hess         how the parameter ``hess`` (the Hessian's diagonal) is estimated: "hutchinson" or "gauss_newton"
    large_batch  g is the mean of ``large`` fresh gradients every ``period`` steps
    uncertain    what could not be checked against a second source, in a few words

    A rule whose function takes ``full`` or ``hess``, or that declares ``large_batch``, has a hyper-parameter ``period``, and
    ``large`` where fresh gradients are averaged (marslab.extras); the simulator supplies and charges them.
    """

    name: str
    function: Callable
    memory: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    prev: str = "none"
    first: str = "equal"
    why_not: str = ""
    diagnostics: tuple[str, ...] = ()
    matrix: bool = False
    estimator: Callable | None = None
    clipped: Callable | None = None
    presets: Mapping[str, Mapping] = field(default_factory=dict)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hess: str = ""
    large_batch: bool = False
    uncertain: str = ""
    hyper: Mapping[str, object] = field(init=False)
    accepts: frozenset = field(init=False)

    def __post_init__(self):
        parameters = inspect.signature(self.function).parameters
        hyper = {name: p.default for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY and name not in RESERVED}
        missing = [name for name, default in hyper.items() if default is inspect.Parameter.empty]
        if missing:
            raise UsageError(f"rule {self.name}: give the hyper-parameter {missing[0]!r} a default value.")
        if self.prev not in MODES:
            raise UsageError(f"rule {self.name}: prev={self.prev!r} is unknown; use one of {', '.join(MODES)}.")
        if ("prev" in parameters) == (self.prev == "none"):
            raise UsageError(f"rule {self.name}: prev={self.prev!r} and the parameters disagree; declare it where it is taken.")
        if self.hess not in ESTIMATES or ("hess" in parameters) != bool(self.hess):
            raise UsageError(
                f"rule {self.name}: hess={self.hess!r} and the parameters disagree; declare one of {ESTIMATES[1:]}."
            )
        object.__setattr__(self, "hyper", hyper)
        object.__setattr__(self, "accepts", frozenset(parameters))
        if self.needs and "period" not in hyper:
            raise UsageError(
                f"rule {self.name}: {self.needs[0]} is observed every period steps; give it a hyper-parameter period."
            )

    def __call__(self, x, state, g, prev=None, *, t=None, axes=None, norm=None, full=None, hess=None, **hyper):
        """One step: returns the new point and the new state; nothing is changed in place.

        x, g, prev and the state's memory share a shape (\\*lanes, \\*event); ``t`` counts from 1; ``axes`` are the event
        axes; ``norm`` is a norm over several tensors for the clip. Hyper-parameters not given take their defaults.
        """
        given = {"t": t, "axes": axes, "norm": norm, "full": full, "hess": hess}
        for name in OBSERVED:
            if name in self.accepts and given[name] is None:
                raise UsageError(
                    f"{self.name} needs the observation {name!r}, which only the simulator supplies; use marslab.run."
                )
        extra = {name: value for name, value in given.items() if name in self.accepts}
        inputs = (x, state, g, prev) if "prev" in self.accepts else (x, state, g)
        return self.function(*inputs, **extra, **hyper)

    def init(self, x) -> dict:
        """The state before the first step: zeros like ``x`` for the memory, ones for the scalars."""
        return {name: torch.zeros_like(x) for name in self.memory} | {
            name: torch.ones((), dtype=x.dtype, device=x.device) for name in self.scalars
        }

    def estimate(self, state: Mapping, g):
        """The rule's estimate of the gradient at the point before the step, from the state after it."""
        if self.estimator is not None:
            return self.estimator(state, g)
        return state["m"] if "m" in self.memory else g

    @property
    def needs(self) -> tuple[str, ...]:
        """What the rule needs beyond g and prev: full, hess, large_batch."""
        return (*(n for n in OBSERVED if n in self.accepts), *(("large_batch",) if self.large_batch else ()))

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes: none, "approximate" (one gradient a step), "exact" (two, on the same sample), "snapshot" (two)."""
        return MODES[self.prev]

    def mode(self, exact: bool | None) -> str:
        """Resolve ``exact`` (None: the declared mode; "either" means approximate), refusing a mode not declared."""
        if exact is None:
            return self.modes[0] if self.modes else "single"
        if exact not in (True, False):
            raise UsageError(f"exact = {exact!r} must be True, False or None (the rule's declared form).")
        wanted = "exact" if exact else "approximate"
        if wanted in self.modes:
            return wanted
        if not self.modes:
            raise UsageError(f"{self.name} takes no previous gradient, so it has no {wanted} form; leave exact out.")
        why = f" ({self.why_not})" if self.why_not else ""
        raise UsageError(f"{self.name} has only the {self.modes[0]} form{why}; leave exact out.")

    def check(self, hyper: Mapping) -> dict:
        """All hyper-parameters with defaults filled in; refused: an unknown name (with the closest), a value of no use."""
        for name, value in hyper.items():
            if name not in self.hyper:
                raise UsageError(f"{self.name} has no hyper-parameter {name!r}: {closest(name, self.hyper)}")
            if name in self.options:
                one_of(name, value, self.options[name])
            else:
                check_kind(name, value, self.hyper[name])
        return {**self.hyper, **hyper}

    def __reduce__(self):
        # a decorated function cannot be pickled by its name, which now means the rule; the rule can
        module = sys.modules.get(self.function.__module__)
        if module is None or module.__name__ == "__main__" or vars(module).get(self.name) is not self:
            return super().__reduce__()
        return _find, (module.__name__, self.name)

    def __repr__(self):
        return f"<rule {self.name}: prev={self.prev}, memory={', '.join(self.memory) or 'none'}>"


def rule(**declaration) -> Callable[[Callable], Rule]:
    """Decorator that turns an update function into a :class:`Rule` named like the function."""

    def wrap(function: Callable) -> Rule:
        made = Rule(name=function.__name__, function=function, **declaration)
        object.__setattr__(made, "__doc__", function.__doc__)
        return made

    return wrap


def _find(module: str, name: str) -> Rule:
    return getattr(import_module(module), name)


def check_kind(name: str, value, default) -> None:
    """Refuse what is neither a number, an axis nor a schedule, or, for an option, not of its default's type."""
    if isinstance(default, bool | str):
        if type(value) is not type(default):
            raise UsageError(f"{name} = {value!r} is no {type(default).__name__}; give one such as {default!r}, never a list.")
    elif not (callable(value) or is_axis(value) or is_number(value)):
        raise UsageError(f"{name} = {value!r} is no number; give a number, a list of numbers or a function of t.")


def check_range(name: str, values: torch.Tensor, dtype: torch.dtype = torch.float64) -> None:
    """Refuse values outside the standard range of a hyper-parameter's name, also after rounding to ``dtype``.

    A name without a range takes every value but NaN.
    """
    low, high, text = RANGES.get(name, (-math.inf, math.inf, "[-inf, inf]"))
    rounded = values.to(dtype)
    above = rounded >= low if text[0] == "[" else rounded > low
    below = rounded <= high if text[-1] == "]" else rounded < high
    if not bool((above & below).all()):
        worst = values[~(above & below)].flatten()[0].item()
        where = "" if dtype == torch.float64 else f" in {str(dtype).removeprefix('torch.')}"
        raise UsageError(f"{name} = {worst:.9g} lies outside {text}{where}; choose a value inside.")


class _Decorator(ModuleType):
    """Importing this module binds the package's name ``rule`` to it, so it must answer like the decorator."""

    def __call__(self, **declaration):
        return rule(**declaration)


sys.modules[__name__].__class__ = _Decorator
