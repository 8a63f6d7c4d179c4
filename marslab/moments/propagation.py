"""Exact curves: E|grad F(x_t)|^2 and the estimator's error of a linear rule on a quadratic, step by step."""

import math
import time
from contextlib import contextmanager

import torch
import xarray as xr

from marslab.errors import UsageError
from marslab.moments import compose
from marslab.moments.columns import Columns, Moment
from marslab.moments.curves import Spectrum, dataset
from marslab.moments.linear import check_linear
from marslab.moments.timeline import Scalars, steps_tensor, values
from marslab.noise.additive import Additive
from marslab.noise.curvature import Curvature
from marslab.optimizers import find_rule
from marslab.plan import Plan
from marslab.record import record_grid
from marslab.rule import Rule

__all__ = ["propagate"]

ELEMENTS = 1 << 16


def propagate(
    rule: Rule | str,
    *,
    problem,
    noise=None,
    steps: int,
    exact: bool | None = None,
    first: str | None = None,
    record: int | list[int] = 200,
    modes: bool = False,
    **hyper,
) -> xr.Dataset:
    r"""The exact second moments of a linear rule on a quadratic, with no sampling.

    The arguments are those of :func:`marslab.run`; the problem must have eigenvalues, and the noise is additive (any law of
    finite variance, correlated in time or not), curvature noise (independent in time) or both.

    Every eigenmode is a linear system :math:`z_{t+1} = A_t z_t + b_t v_t + w_t C_t z_t`; the steps between two records are
    composed as affine maps :math:`S \mapsto A S A^\top + Q` (with curvature noise: of vech E[z z']) in a pairwise tree.

    Returns a dataset over (hyper axes, step), recorded where ``marslab.run`` would record: grad_norm_squared =
    :math:`E|\nabla F(x_t)|^2` and loss_gap = E F(x_t) - min F at the point before step t, error_squared =
    :math:`E|\text{estimate}_t - \nabla F(x_t)|^2`, mean_grad_norm = :math:`|E\,\nabla F(x_t)|`, evaluations(step). With
    ``modes=True`` also grad_mean, grad_variance, error_mean, error_variance along ``mode``, the eigenbasis's coordinates.
    A lane that overflows records +inf from there on.

    Raises UsageError for a rule that is not linear or mixes coordinates, a problem without eigenvalues, noise without a
    variance, curvature noise correlated in time, and for everything that ``marslab.run`` refuses.
    """
    begun = time.monotonic()
    rule = find_rule(rule)
    plan = Plan(rule, problem, noise, steps, 1, exact, first, "tensor", None, None, "float64", hyper)
    check_problem(problem)
    check_noise(problem, noise)
    grid = record_grid(record, plan.steps)
    with one_thread():
        check_rule(plan)
        rows = Propagation(plan).run(grid)
    return dataset(plan, grid, rows, modes, time.monotonic() - begun)


@contextmanager
def one_thread():
    """Keep torch to one thread for a while: these operations are short, and on a busy machine threads wait for each other.

    Seen at 10^6 steps with two threads and four jobs on two cores: 12 s against 0.3 s.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_problem(problem) -> None:
    """Refuse a problem that is no quadratic."""
    if problem.eigenvalues is None or len(problem.shapes) != 1:
        raise UsageError(f"{problem.name} has no eigenvalues: exact moments need a quadratic; simulate it with marslab.run.")


def check_noise(problem, noise) -> None:
    """Refuse noise whose moments do not close."""
    for law in () if noise is None else noise.parts:
        if not isinstance(law, Additive | Curvature):
            raise UsageError(f"{law.name} noise has no exact moments here; use additive noise, curvature noise or both.")
        if isinstance(law, Additive) and not law.bounded_variance:
            raise UsageError(f"student noise with degrees = {law.degrees:g} has no variance; choose degrees above 2.")
        if isinstance(law, Curvature) and law.correlation:
            raise UsageError(
                f"curvature noise with correlation = {law.correlation:g} has no closed second moments; "
                "set correlation=0, or simulate it with marslab.run."
            )


def check_rule(plan: Plan) -> None:
    """Ask the rule at a few steps, all of them at once."""
    asked = sorted({1, min(2, plan.steps), min(3, plan.steps), (plan.steps + 1) // 2, plan.steps})
    each = [values(plan.values, t, t) for t in asked]
    gathered = {
        name: torch.cat([one[name] for one in each]) if name in plan.values.scheduled else value
        for name, value in each[0].items()
        if name in plan.hyper_names
    }
    t = torch.tensor(asked, dtype=torch.float64).reshape(-1, *(1,) * (len(plan.values.axes) + 1))
    check_linear(plan.rule, t, gathered)


class Propagation:
    """The walk from record to record."""

    def __init__(self, plan: Plan):
        laws = {type(law): law for law in (plan.noise.parts if plan.noise is not None else ())}
        self.plan, self.spectrum = plan, Spectrum(plan.problem)
        self.correlation = laws[Additive].correlation if Additive in laws else 0.0
        self.kind = compose.Bent if Curvature in laws else compose.Straight
        self.columns = Columns(plan.rule, plan.mode, self.correlation, Curvature in laws)
        self.lanes = len(plan.values.axes)
        self.scalars = Scalars(plan.rule, self.lanes)
        self.steady = not (plan.values.scheduled or plan.rule.scalars or "t" in plan.rule.accepts)
        self.rows = []

    def run(self, grid: list[int]) -> list[dict]:
        """The moments at each step of the grid, tensors (\\*lanes, modes)."""
        self.state, self.pending = self.start(), list(grid)
        self.stretch(1, 1, self.plan.first)
        length = self.plan.steps if self.steady else self.chunk()
        for first in range(2, self.plan.steps + 1, length):
            self.stretch(first, min(first + length - 1, self.plan.steps), None)
        return self.rows

    def start(self) -> tuple:
        """Nothing but correlated noise varies at the start; the mean of x is one."""
        n, modes = self.columns.size, len(self.spectrum.different)
        shape = (n, n, 1, *self.plan.values.shape, modes)
        covariance, mean = torch.zeros(shape, dtype=torch.float64), torch.zeros((n, 1, *shape[2:]), dtype=torch.float64)
        mean[0] = 1
        if self.correlation:
            covariance[-1, -1] = 1
        return self.kind.start(covariance, mean)

    def chunk(self) -> int:
        """Steps taken together, so that memory stays bounded whatever the number of lanes."""
        size = self.columns.size * (self.columns.size + 1) * len(self.spectrum.different) * math.prod(self.plan.values.shape)
        return max(1, ELEMENTS // size)

    def moment(self, first: int, last: int) -> Moment:
        """Everything that the steps first..last need; a steady rule needs one step only."""
        last = first if self.steady else last
        found, t = values(self.plan.values, first, last), steps_tensor(first, last, self.lanes)
        hyper = {name: value for name, value in found.items() if name in self.plan.hyper_names}
        sigma = found.get("sigma", 0.0) / math.sqrt(self.plan.problem.size)
        return Moment(t, self.spectrum.different, sigma, found.get("level", 0.0), hyper, self.scalars.path(t, hyper))

    def stretch(self, first: int, last: int, convention: str | None) -> None:
        """Walk through the steps first..last and write down the records that lie among them."""
        step = self.columns.matrices(self.moment(first, last), convention)
        maps, done = self.kind.maps(step), first
        while self.pending and self.pending[0] <= last:
            t = self.pending.pop(0)
            self.jump(maps, done - first, t - first)
            self.rows.append(self.record(step, 0 if self.steady else t - first))
            done = t
        self.jump(maps, done - first, last + 1 - first)

    def jump(self, maps: tuple, begin: int, end: int) -> None:
        """Apply the steps at the positions begin..end-1."""
        if end > begin:
            whole = compose.power(self.kind, maps, end - begin) if self.steady else compose.over(self.kind, maps, begin, end)
            self.state = self.kind.apply(whole, self.state)

    def record(self, step, position: int) -> dict:
        """Noise part, squared and plain response of x before this step and of the estimator's error after it."""
        error, bent = step.error[:, :, position, None], step.bent_error
        bent = bent if bent is None else bent[:, :, position, None]
        unit = torch.zeros_like(error[:, :-1])
        unit[:, 0] = 1
        x, e = self.kind.read(self.state, unit), self.kind.read(self.state, error[:, :-1], error[0, -1], bent)
        return {"x": [part[0] for part in x], "error": [part[0] for part in e]}
