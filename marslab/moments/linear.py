"""Is a rule linear, and does it leave eigenmodes alone? Asked of the rule itself, on random states of norm 10.

Linearising a clip at zero would silently give the unclipped answer; so a rule that is not linear is refused.
"""

import math
from collections.abc import Mapping

import torch

from marslab.errors import UsageError
from marslab.rule import Rule

__all__ = ["check_linear"]

NORM = 10.0
FACTORS = (-1.7, 1e-8, 1e8)
TOLERANCE = 1e-9


def check_linear(rule: Rule, t: torch.Tensor, hyper: Mapping) -> None:
    """Refuse a rule that is not additive, homogeneous and the same on each coordinate.

    t      steps (time, 1, ...) at which the rule is asked
    hyper  its hyper-parameters at these steps: floats, options and tensors (time, \\*lanes, 1)
    """
    probe = Probe(rule, t, hyper)
    reason = probe.reason()
    if reason is None:
        return
    radius = hyper.get("clip_radius", math.inf)
    unclipped = {**hyper, "clip_radius": math.inf}
    helps = not is_infinite(radius) and Probe(rule, t, unclipped).reason() is None
    raise UsageError(f"{rule.name} {reason}; {'pass clip_radius=inf' if helps else 'simulate it with marslab.run instead'}.")


def is_infinite(radius) -> bool:
    """Whether a clip's radius is the plain float inf, which switches the clip off."""
    return isinstance(radius, float) and math.isinf(radius)


class Probe:
    """A rule on random states at chosen steps."""

    def __init__(self, rule: Rule, t: torch.Tensor, hyper: Mapping):
        self.rule, self.t, self.hyper = rule, t, hyper
        self.event = (2, 3) if rule.matrix else (4,)
        self.generator = torch.Generator().manual_seed(20)
        lanes = [v.shape[:-1] for v in (t, *hyper.values()) if torch.is_tensor(v)]
        self.lanes = torch.broadcast_shapes(*lanes)

    def reason(self) -> str | None:
        """Why the exact moments cannot take the rule, or None."""
        for still in (True, False):
            u, v = self.state(still), self.state(still)
            images = self.images(u)
            if not all(torch.isfinite(image).all() for image in images):
                return "is not linear in the gradient: it is not finite on a random state of norm 10"
            if not same(self.images(add(u, v)), add_up(images, self.images(v))):
                return "is not linear in the gradient: its step on a sum is not the sum of its steps"
            for factor in FACTORS:
                if not same(self.images(scale(u, factor)), [factor * image for image in images]):
                    return f"is not linear in the gradient: scaling its inputs by {factor:g} does not scale its step"
        return self.strange_scalars() or self.mixing()

    def state(self, still: bool) -> dict:
        """A random state of norm 10; ``still`` puts x at zero, so that a tiny step is not hidden behind x."""
        names = ["x", "g", *(("prev",) if self.rule.modes else ()), *self.rule.memory]
        drawn = torch.randn(len(names), *self.event, generator=self.generator, dtype=torch.float64)
        if still:
            drawn[0] = 0
        drawn *= NORM / torch.linalg.vector_norm(drawn)
        return {name: value.expand(*self.lanes, *self.event) for name, value in zip(names, drawn, strict=True)}

    def images(self, u: dict) -> list[torch.Tensor]:
        """The new point, the new memory and the estimate, each (time, \\*lanes, coordinates)."""
        new, state = self.call(u, self.event)
        g = u["g"].expand(*self.lanes, *self.event)
        outputs = [new, *(state[name] for name in self.rule.memory), self.rule.estimate(state, g)]
        full = [torch.as_tensor(out, dtype=torch.float64).expand(*self.lanes, *self.event) for out in outputs]
        return [out.flatten(-len(self.event)) for out in full]

    def call(self, u: dict, event, scalar: float = 0.5):
        """One call of the rule, hyper-parameters widened to the event axes."""
        memory = {name: u[name] for name in self.rule.memory}
        scalars = {name: torch.full((1,), scalar, dtype=torch.float64) for name in self.rule.scalars}
        hyper = {name: self.widen(value, len(event)) for name, value in self.hyper.items()}
        axes = tuple(range(-len(event), 0))
        try:
            inputs = (u["x"], {**memory, **scalars}, u["g"], u.get("prev"))
            return self.rule(*inputs, t=self.widen(self.t, len(event)), axes=axes, **hyper)
        except (RuntimeError, TypeError, KeyError, IndexError) as error:
            raise UsageError(
                f"{self.rule.name} cannot be called on many steps at once ({error}); "
                "write it with torch.where instead of a branch on t or on a tensor."
            ) from error

    def widen(self, value, event_ndim: int):
        """(time, \\*lanes, 1) with one axis for each event axis."""
        return value.reshape(value.shape + (1,) * (event_ndim - 1)) if torch.is_tensor(value) else value

    def mixing(self) -> str | None:
        """Compare a whole tensor with its coordinates one by one."""
        u = self.state(still=False)
        whole, one = self.images(u), Probe(self.rule, self.t, self.hyper)
        one.event = (1,) * len(self.event)
        alone = []
        for k in range(math.prod(self.event)):
            single = {name: value.flatten(-len(self.event))[..., k] for name, value in u.items()}
            alone.append(one.images({name: value.reshape(value.shape + one.event) for name, value in single.items()}))
        apart = [torch.cat(parts, dim=-1) for parts in zip(*alone, strict=True)]
        return None if same(whole, apart) else "mixes the coordinates of a tensor, so an eigenmode is not on its own"

    def strange_scalars(self) -> str | None:
        """Scalar state must follow its own affine recursion, whatever the gradients are."""
        states = [self.call(u, self.event, s)[1] for u in (self.state(False), self.state(True)) for s in (0.25, 0.5, 0.75)]
        for name in self.rule.scalars:
            a, b, c, *others = (torch.as_tensor(state[name], dtype=torch.float64) for state in states)
            if not same([a + c, *others], [2 * b, a, b, c]):
                return f"has a scalar state {name!r} that is no affine recursion of its own"
        return None


def add(u: dict, v: dict) -> dict:
    """Sum of two states."""
    return {name: u[name] + v[name] for name in u}


def scale(u: dict, factor: float) -> dict:
    """A multiple of a state."""
    return {name: factor * value for name, value in u.items()}


def add_up(first: list, second: list) -> list:
    """Sums of outputs."""
    return [a + b for a, b in zip(first, second, strict=True)]


def same(found: list, wanted: list) -> bool:
    """Equality of each output, in each lane, to a small part of its own size; lanes differ in scale."""
    pairs = zip(found, wanted, strict=True)
    return all(bool(((f - w).abs().amax(-1) <= TOLERANCE * w.abs().amax(-1)).all()) for f, w in pairs)
