"""The simulator: many lanes (seeds x hyper-parameters) of one rule on one problem, advanced together."""

import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
import xarray as xr

from marslab.noise.base import Noise
from marslab.optimizers import find_rule
from marslab.oracle import Oracle
from marslab.plan import Clock, Plan
from marslab.record import Recorder, event_norm, norm, record_grid
from marslab.rule import Rule
from marslab.samples import Samples
from marslab.streams import BLOCK

__all__ = ["run"]


def run(
    rule: Rule | str,
    *,
    problem,
    noise: Noise | None = None,
    steps: int = 1000,
    seeds: int | list[int] = 1,
    exact: bool | None = None,
    first: str | None = None,
    clip_scope: str = "tensor",
    fallback: str | Rule | None = None,
    fallback_options: Mapping | None = None,
    record: int | list[int] = 200,
    dtype: str = "float64",
    progress: Callable[[int, int], None] | None = None,
    **hyper,
) -> xr.Dataset:
    """Run a rule on a problem under a noise law and return the recorded curves.

    rule, problem    a rule or its name; a problem such as ``marslab.problems.quadratic([1.0, 0.1])``
    noise            a law or a sum of laws; None: the true gradient
    steps, seeds     T >= 1; a count S (the seeds 0..S-1) or a list of seeds
    exact            True: prev is the gradient at the previous point on the same sample (two gradients a step);
                     False: the last step's gradient; None: the rule's declared mode ("either" means approximate)
    first            "equal": prev = g at t = 1; "zero": prev = 0 (as released); None: the rule's own
    clip_scope       "tensor" or "global" (one norm over all tensors of the problem)
    fallback         the rule for tensors with fewer than two axes where ``rule`` needs a matrix, with its options
    record           number of log-spaced records, or the steps themselves
    hyper            a number is a constant, a list is an axis, a function of t is a schedule; so are noise levels; the
                     period and size of declared observations (marslab.extras) are single numbers

    Returns a dataset over (hyper axes, seed, step): grad_norm = |grad F(x_t)|, error = |estimate_t - grad F(x_t)| (both
    at the point before step t), correction = |c_t - g_t|, clip_scale, loss, loss_gap (where f_min is known), running means
    of |grad F| and its square (not for minibatches), evaluations(step), diverged_at.

    Raises UsageError, in one sentence, for anything that cannot be run; nothing is computed then.
    """
    begun = time.monotonic()
    rule = find_rule(rule)
    plan = Plan(rule, problem, noise, steps, seeds, exact, first, clip_scope, fallback, fallback_options, dtype, hyper)
    recorder = Recorder(record_grid(record, plan.steps), plan.lanes, plan.dtype)
    with torch.no_grad():
        advance(plan, recorder, progress)
    return dataset(plan, recorder, time.monotonic() - begun)


def advance(plan: Plan, recorder: Recorder, progress) -> None:
    """The loop: draw, gradients, update, record."""
    x = plan.start()
    states = {name: started(plan.parts[name].rule, value) for name, value in x.items()}
    samples = Samples(plan.problem, plan.noise, plan.seeds, plan.dtype)
    clock = Clock(plan)
    oracle = Oracle(plan.problem, plan.noise, plan.mode, plan.first, clock.levels, plan.extras())
    for t in range(1, plan.steps + 1):
        clock.tick(t)
        seen = oracle.observe(x, samples.at(t))
        running = seen.true is not None
        recorder.watch(size := norm(plan.problem, seen.true if running else seen.g))
        new_x, states = step(plan, clock, x, states, seen)
        if t in recorder.wanted:
            true = seen.true if running else plan.problem.gradient(x)
            size = size if running else norm(plan.problem, true)
            recorder.write(t, oracle.evaluations, metrics(plan, x, states, seen, true, size), running)
        x = new_x
        if progress is not None and t % BLOCK == 0 and t < plan.steps:
            progress(t, plan.steps)
    if progress is not None:
        progress(plan.steps, plan.steps)


def started(rule: Rule, x) -> dict:
    """The state before the first step, with running products as plain numbers: lanes make tensors of them where need be."""
    return rule.init(x) | dict.fromkeys(rule.scalars, 1.0)


def step(plan: Plan, clock: Clock, x: dict, states: dict, seen) -> tuple[dict, dict]:
    """One update of every tensor by its rule."""
    shared = global_norm(plan, clock, seen) if plan.scope == "global" and plan.rule.clipped else None
    new_x, new_states = {}, {}
    for name, part in plan.parts.items():
        size = None if shared is None or part.rule is not plan.rule else shared.reshape(shared.shape + (1,) * len(part.axes))
        new_x[name], new_states[name] = part.rule(
            x[name],
            states[name],
            seen.g[name],
            previous(part.rule, seen, name),
            t=clock.time,
            axes=part.axes,
            norm=size,
            **{key: value[name] for key, value in seen.extras.items() if key in part.rule.accepts},
            **clock.hyper(name),
        )
    return new_x, new_states


def previous(rule: Rule, seen, name: str):
    """What this tensor's rule is corrected against; a fallback may need none."""
    return None if seen.prev is None or not rule.modes else seen.prev[name]


def global_norm(plan: Plan, clock: Clock, seen) -> torch.Tensor:
    """The norm of the corrected gradient over all tensors that the main rule takes, one number a lane."""
    norms = []
    for name, part in plan.parts.items():
        if part.rule is plan.rule:
            c = plan.rule.clipped(seen.g[name], seen.prev[name], **clock.hyper(name))
            norms.append(event_norm(c, part.axes))
    return torch.linalg.vector_norm(torch.stack(norms), dim=0)


def metrics(plan: Plan, x: dict, states: dict, seen, true: dict, size) -> dict:
    """The numbers recorded at one step, each of the lanes' shape."""
    problem, out = plan.problem, {"grad_norm": size, "loss": plan.problem.value(x)}
    if problem.f_min is not None:
        out["loss_gap"] = out["loss"] - problem.f_min
    estimates = {name: part.rule.estimate(states[name], seen.g[name]) for name, part in plan.parts.items()}
    out["error"] = norm(problem, {name: e - true[name] for name, e in estimates.items()})
    if "corrected" in plan.rule.diagnostics:
        moved = {n: states[n].get("corrected", seen.g[n]) - seen.g[n] for n in plan.parts}
        out["correction"] = norm(problem, moved)
    if "clip_scale" in plan.rule.diagnostics:
        out["clip_scale"] = smallest_scale(plan, states)
    return out


def smallest_scale(plan: Plan, states: dict) -> torch.Tensor:
    """The strongest clip over the tensors, 1 where none acts."""
    scales = []
    for name, part in plan.parts.items():
        scale = torch.as_tensor(states[name].get("clip_scale", 1.0), dtype=plan.dtype)
        scales.append(scale.reshape(scale.shape[: scale.ndim - len(part.axes)]).expand(plan.lanes))
    return torch.stack(scales).amin(dim=0)


def dataset(plan: Plan, recorder: Recorder, seconds: float) -> xr.Dataset:
    """The records as labelled arrays, with the configuration in the attributes."""
    axes = plan.values.coordinates()
    dims = (*axes, "seed", "step")
    times, evaluations = zip(*recorder.steps, strict=True)
    variables = {name: (dims, np.stack(rows, axis=-1)) for name, rows in recorder.rows.items()}
    variables["diverged_at"] = (dims[:-1], recorder.diverged_at())
    variables["evaluations"] = (("step",), np.asarray(evaluations, dtype=np.int64))
    coordinates = {**axes, "seed": np.asarray(plan.seeds, dtype=np.int64), "step": np.asarray(times, dtype=np.int64)}
    return xr.Dataset(variables, coordinates, attrs={**plan.described(), "seconds": seconds})
