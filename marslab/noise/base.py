"""What a noise law offers: draws, perturbed gradients, and the constants that theorems ask for.

The sample xi is an explicit value, drawn before and apart from the point: the exact form of MARS evaluates two points on
the same xi. A law is a frozen dataclass; its fields are its configuration.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

import torch

from marslab.errors import UsageError
from marslab.kinds import is_axis, is_number
from marslab.streams import Stream

__all__ = ["Noise", "Sum", "flatten", "named_parts"]


class Noise:
    """Base of all laws.

    purpose    the stream its draws come from (a seed's streams never disturb each other)
    order      where it acts in a sum: 0 rows of the data, 1 on the true gradient, 2 on top of everything
    levels     fields that may be a list (an axis of the run) or a schedule
    uses_rows  the law picks rows of a finite sum instead of perturbing the true gradient
    uses_point what ``at_sample`` returns takes the point beside the gradient, ``(g, x) -> g``
    """

    purpose: ClassVar[str] = "additive"
    order: ClassVar[int] = 2
    levels: ClassVar[tuple[str, ...]] = ()
    uses_rows: ClassVar[bool] = False
    uses_point: ClassVar[bool] = False
    correlation: float = 0.0

    @property
    def name(self) -> str:
        """Public name: the file's."""
        return type(self).__module__.rsplit(".", 1)[-1]

    @property
    def parts(self) -> tuple["Noise", ...]:
        """The laws that are added up, in the order in which they act."""
        return (self,)

    def draw(self, problem, stream: Stream) -> torch.Tensor:
        """The next BLOCK steps of one seed: a tensor of shape (BLOCK, k), with unit variance where it is a noise."""
        raise NotImplementedError

    def perturb(self, problem, g: dict, xi: torch.Tensor, levels: Callable) -> dict:
        """The stochastic gradient made from ``g`` and the sample ``xi`` of shape (\\*lanes, k).

        ``levels(event_ndim)`` gives the current values of the level fields, shaped for tensors with that many event axes.
        """
        return self.at_sample(problem, xi, levels)(g)

    def at_sample(self, problem, xi: torch.Tensor, levels: Callable) -> Callable[[dict], dict]:
        """``g -> perturb(problem, g, xi, levels)``: what depends on the sample alone is done once for both points of a step."""
        return lambda g: self.perturb(problem, g, xi, levels)

    def constants(self, problem) -> dict:
        """sigma, delta and mean_squared_L on this problem; None where unknown, inf where there is none.

        sigma^2 bounds E|g(x, xi) - grad F(x)|^2; delta is the similarity constant,
        delta^2 = sup E|d_xi - d|^2 / |x - y|^2 for d_xi = g(x, xi) - g(y, xi), d = E d_xi; mean_squared_L^2 is the
        same supremum of E|d_xi|^2, so it is at most L^2 + delta^2.
        """
        raise NotImplementedError

    def check(self, problem) -> None:
        """Refuse a problem on which the law is not defined."""

    def configuration(self) -> dict:
        """Everything that defines the law, for keys and provenance: its name and its fields (schedules as they are)."""
        return {"noise": self.name, **{field.name: getattr(self, field.name) for field in fields(self)}}

    def level_values(self) -> dict:
        """The level fields as given: numbers, lists or schedules."""
        return {name: getattr(self, name) for name in self.levels}

    def __add__(self, other: "Noise") -> "Noise":
        if not isinstance(other, Noise):
            return NotImplemented
        return Sum(self.parts + other.parts)


@dataclass(frozen=True)
class Sum(Noise):
    """Several laws at once, each with a stream of its own; the order of writing does not matter."""

    laws: tuple[Noise, ...]

    def __post_init__(self):
        purposes = [law.purpose for law in self.laws]
        for law in self.laws:
            if purposes.count(law.purpose) > 1:
                raise UsageError(f"the noise holds {law.name} twice or two laws of its kind; give one of each.")
        object.__setattr__(self, "laws", tuple(sorted(self.laws, key=lambda law: law.order)))

    @property
    def parts(self) -> tuple[Noise, ...]:
        """The laws that are added up, in the order in which they act."""
        return self.laws

    def constants(self, problem) -> dict:
        r"""Variances of independent laws add up, and :math:`1 + \delta^2/L^2` multiplies (curvature noise scales rows)."""
        every = [law.constants(problem) for law in self.laws]
        sigma = root_sum(c["sigma"] for c in every)
        delta = joint_delta([c["delta"] for c in every], problem.L)
        return {"sigma": sigma, "delta": delta, "mean_squared_L": root_sum([problem.L, delta])}

    def configuration(self) -> dict:
        """The configurations of the laws."""
        return {"noise": "sum", "laws": [law.configuration() for law in self.laws]}

    def level_values(self) -> dict:
        """The level fields of all laws."""
        return {name: value for law in self.laws for name, value in law.level_values().items()}


def root_sum(values) -> float | None:
    """Root of the sum of squares; None where one of them is unknown."""
    values = list(values)
    return None if any(v is None for v in values) else math.sqrt(sum(v * v for v in values))


def joint_delta(deltas: list, L: float | None) -> float | None:
    """The similarity constant of laws that act one after the other; None where it is unknown."""
    acting = [delta for delta in deltas if delta != 0.0]
    if len(acting) < 2:
        return acting[0] if acting else 0.0
    if L is None or None in acting:
        return None
    return math.sqrt(math.prod(L * L + delta * delta for delta in acting) / L ** (2 * len(acting) - 2) - L * L)


def named_parts(problem, flat: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Cut (\\*lanes, D) into the problem's named tensors (\\*lanes, \\*event)."""
    shapes, first = problem.shapes, 0
    if len(shapes) == 1 and len(*shapes.values()) == 1:  # a single vector is its own flat form
        yield next(iter(shapes)), flat
        return
    for name, shape in shapes.items():
        size = math.prod(shape)
        yield name, flat[..., first : first + size].reshape(*flat.shape[:-1], *shape)
        first += size


def flatten(problem, g: Mapping) -> torch.Tensor:
    """The named tensors (\\*lanes, \\*event) side by side as (\\*lanes, D)."""
    shapes = problem.shapes
    return torch.cat([g[name].flatten(start_dim=g[name].ndim - len(s)) for name, s in shapes.items()], dim=-1)


def checked_levels(law: Noise) -> None:
    """Refuse a level that is no number in [0, inf), no list of such and no schedule (the run checks what that gives).

    Lists become tuples, so that a law can be hashed.
    """
    for name in law.levels:
        value = getattr(law, name)
        if is_axis(value):
            object.__setattr__(law, name, value := tuple(value.tolist() if hasattr(value, "tolist") else value))
        for entry in value if isinstance(value, tuple) else (value,):
            if not (callable(entry) or (is_number(entry) and 0 <= entry < math.inf)):
                raise UsageError(f"{name} = {entry!r} lies outside [0, inf); give a number, a list of them or a schedule.")


def checked_correlation(law: Noise) -> None:
    """Refuse a correlation outside (-1, 1)."""
    if not is_number(law.correlation) or not -1 < law.correlation < 1:
        raise UsageError(f"correlation = {law.correlation!r} lies outside (-1, 1); AR(1) noise would not be stationary.")
