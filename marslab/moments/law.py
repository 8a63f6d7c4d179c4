"""Stationary laws of linear rules on quadratics, and the sharpness at which they stop to exist."""

from typing import NamedTuple

import numpy as np
import torch

from marslab.errors import UsageError
from marslab.lanes import Lanes
from marslab.moments.columns import Columns, Moment
from marslab.moments.compose import lift, pack, product, quadratic_form
from marslab.moments.linear import check_linear
from marslab.moments.propagation import check_noise, check_problem
from marslab.moments.timeline import Scalars, steps_tensor, values
from marslab.optimizers import find_rule
from marslab.rule import Rule

__all__ = ["Stationary", "stability_limit", "stationary"]

LATE = 1_000_000


class Stationary(NamedTuple):
    """Second moments at stationarity: floats, or arrays over the axes that were given as lists.

    grad_norm_squared   :math:`E|\\nabla F(x)|^2`
    estimate_squared    E|estimate|^2, the variance of m (all means are zero)
    error_squared       :math:`E|\\text{estimate} - \\nabla F(x)|^2`, the estimate made at x
    spectral_radius     of the step's matrix; with curvature noise, of the map of second moments
    """

    grad_norm_squared: float | np.ndarray
    estimate_squared: float | np.ndarray
    error_squared: float | np.ndarray
    spectral_radius: float | np.ndarray


def stationary(
    rule: Rule | str,
    *,
    curvature=None,
    sigma=1.0,
    level=0.0,
    correlation: float = 0.0,
    problem=None,
    noise=None,
    exact: bool | None = None,
    **hyper,
) -> Stationary:
    r"""The stationary law of a linear rule on :math:`F = \lambda x^2/2`, or on a quadratic problem under a noise law.

    curvature    :math:`\lambda > 0` with ``sigma`` (standard deviation of one coordinate's additive noise), ``level`` (of
                 the curvature noise) and ``correlation`` (AR(1) coefficient of the additive noise); or instead:
    problem      with ``noise``: the sum over all coordinates
    hyper        constants; lists are axes, of curvature, sigma and level too

    Solves the discrete Lyapunov equation :math:`P = A P A^\top + E[w^2]\,C P C^\top + b b^\top` by linear algebra on vech(P).
    Refuses an unstable setting, a rule that is not linear, and a rule that never settles.
    """
    rule = find_rule(rule)
    if problem is not None:
        return summed(rule, problem, noise, exact, hyper)
    if curvature is None:
        raise UsageError("stationary needs curvature=..., the eigenvalue of the mode, or a problem.")
    frozen = Frozen(rule, exact, {"curvature": curvature, "sigma": sigma, "level": level, **hyper}, correlation)
    return Stationary(*(plain(part[..., 0]) for part in frozen.solve()))


def summed(rule: Rule, problem, noise, exact, hyper) -> Stationary:
    """The law over all coordinates of a quadratic problem."""
    check_problem(problem)
    check_noise(problem, noise)
    given = {**(noise.level_values() if noise is not None else {}), **hyper}
    correlation = max((law.correlation for law in noise.parts), key=abs) if noise is not None else 0.0
    frozen = Frozen(rule, exact, {"sigma": 0.0, "level": 0.0, **given}, correlation, problem)
    different, counts = torch.unique(problem.eigenvalues, return_counts=True)
    *sums, radius = frozen.solve(different)
    return Stationary(*(plain((part * counts).sum(-1)) for part in sums), plain(radius.amax(-1)))


def stability_limit(rule: Rule | str, *, exact: bool | None = None, level=0.0, **hyper) -> float | np.ndarray:
    r"""The smallest :math:`a = \eta\lambda` at which the rule is no longer (mean-square) stable, to 1e-12 relative.

    The curvature grows at the given lr (or the rule's default) until the spectral radius of the step reaches one; with
    curvature noise of ``level`` > 0, that of the map of second moments. inf where it never does up to a = 1e8, 0 where no
    a is stable. The search starts from 4000 values of a between 1e-6 and 1e8, so a narrower window of instability below
    the limit is overlooked. Lists are axes.
    """
    frozen = Frozen(find_rule(rule), exact, {"level": level, "sigma": 0.0, **hyper})
    rate = frozen.values.get("lr", 1.0)
    if not bool(torch.as_tensor(rate > 0).all()):
        raise UsageError("lr = 0 takes no step, so it has no stability limit; give lr > 0.")
    beyond = lambda a: frozen.radius(a / rate) >= 1
    tried = torch.logspace(-6, 8, 4000, dtype=torch.float64)
    unstable = beyond(tried)
    index = unstable.to(torch.int8).argmax(dim=-1, keepdim=True)
    low, high = tried[(index - 1).clamp(min=0)], tried[index]
    for _ in range(50):
        middle = (low + high) / 2
        bad = beyond(middle)
        low, high = torch.where(bad, low, middle), torch.where(bad, middle, high)
    limit = torch.where(unstable.any(-1, keepdim=True), torch.where(index == 0, 0.0, high), torch.inf)
    return plain(limit[..., 0])


class Frozen:
    """A rule at constant hyper-parameters, long after its start; tensors end in an axis for modes."""

    def __init__(self, rule: Rule, exact, given: dict, correlation: float = 0.0, problem=None):
        self.rule, self.given = rule, given
        names = set(given) - {"curvature", "sigma", "level"}
        checked = rule.check({name: given[name] for name in names})
        lanes = Lanes({**given, **checked}, steps=1, dtype=torch.float64)
        if lanes.scheduled:
            raise UsageError(f"{next(iter(lanes.scheduled))} is a schedule, but a stationary law needs constants.")
        self.shape, self.values = lanes.shape, values(lanes, 1, 1)
        self.unit = 1 / problem.size**0.5 if problem is not None else 1.0
        bent = bool(torch.as_tensor(self.values["level"] > 0).any())
        self.columns = Columns(rule, rule.mode(exact), correlation, bent)
        self.hyper = {name: self.values[name] for name in checked}
        self.t = steps_tensor(LATE, LATE, len(self.shape))
        check_linear(rule, self.t, self.hyper)
        self.scalars = Scalars(rule, len(self.shape)).limit(self.t, self.hyper)

    def matrices(self, curvature):
        """The step's matrices at these curvatures, which broadcast to (\\*lanes, mode)."""
        curvature = torch.as_tensor(curvature, dtype=torch.float64)
        if not bool((torch.isfinite(curvature) & (curvature >= 0)).all()):
            raise UsageError("curvature must be finite and at least 0.")
        sigma = self.values["sigma"] * self.unit
        at = lambda t: Moment(t, curvature, sigma, self.values["level"], self.hyper, self.scalars)
        found = self.columns.matrices(at(self.t))
        if "t" in self.rule.accepts:
            self.check_settled(found, at)
        return found

    def check_settled(self, found, at) -> None:
        """Refuse a rule whose late steps still differ."""
        for later in (*range(1, 8), LATE):
            other = self.columns.matrices(at(self.t + later))
            if not torch.allclose(found.drift, other.drift, rtol=1e-12, atol=0):
                raise UsageError(f"{self.rule.name} depends on t for ever, so it has no stationary law.")

    def moment_map(self, step) -> torch.Tensor:
        """The map of vech(P), (p, p, time, \\*lanes, mode)."""
        lifted = lift(step.drift)
        return lifted if step.bend is None else lifted + lift(step.bend)

    def radius(self, curvature) -> torch.Tensor:
        """Spectral radius (\\*lanes, mode): of A, or with curvature noise of the map of second moments."""
        step = self.matrices(curvature)
        matrix = step.drift if step.bend is None else self.moment_map(step)
        return torch.linalg.eigvals(matrix.movedim((0, 1), (-2, -1)))[0].abs().amax(-1)

    def solve(self, curvature=None) -> tuple:
        """Sums of squares of gradient, estimate and error, and the spectral radius, each (\\*lanes, mode)."""
        curvature = torch.as_tensor(self.values["curvature"] if curvature is None else curvature, dtype=torch.float64)
        radius = self.radius(curvature)
        self.refuse_unstable(radius)
        step = self.matrices(curvature)
        matrix = self.moment_map(step).movedim((0, 1), (-2, -1))
        source = pack(product(step.kick, step.kick.transpose(0, 1))).movedim((0, 1), (-2, -1))
        moments = torch.linalg.solve(torch.eye(matrix.shape[-1], dtype=matrix.dtype) - matrix, source).movedim((-2, -1), (0, 1))
        squares = [self.square(step, moments, row, bent) for row, bent in self.rows(step, curvature)]
        return *(part.expand(radius.shape) for part in squares), radius

    def rows(self, step, curvature):
        """Rows (z and fresh noise, and what w multiplies) of gradient, estimate and error."""
        gradient = torch.zeros_like(step.error)
        gradient[:, 0] = curvature
        return (gradient, None), (step.error + gradient, step.bent_error), (step.error, step.bent_error)

    def square(self, step, moments, row, bent):
        """E of the square of one row."""
        form = quadratic_form(row[:, :-1]) if bent is None else quadratic_form(row[:, :-1]) + quadratic_form(bent)
        return (product(form, moments)[0, 0] + row[0, -1].square())[0]

    def refuse_unstable(self, radius) -> None:
        """Say which setting is not stable, and by how much."""
        bad = torch.nonzero(~(radius < 1))
        if len(bad):
            worst = radius[tuple(bad[0])].item()
            kind = "of its map of second moments" if self.columns.bent else "of its step"
            where = f" (in setting {tuple(bad[0].tolist())} of {tuple(radius.shape)})" if radius.numel() > 1 else ""
            raise UsageError(
                f"{self.rule.name} has no stationary law here: the spectral radius {kind} is {worst:.6g}, "
                f"which is not below 1{where}; lower lr or the curvature."
            )


def plain(value: torch.Tensor) -> float | np.ndarray:
    """A float where there are no axes."""
    return value.item() if value.ndim == 0 else value.numpy()
