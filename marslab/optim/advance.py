"""One step of one parameter by its rule, and of all of them."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import torch

from marslab.errors import UsageError
from marslab.optim import compiled, together
from marslab.optim.view import View, stochastically_rounded
from marslab.rule import Rule

__all__ = ["Job", "advance_all"]


@dataclass
class Job:
    """A parameter that has a gradient, with its group and rule."""

    p: torch.Tensor
    group: dict
    rule: Rule
    hyper: dict = field(init=False)
    compiled: bool = False
    shared: dict | None = None  # what the parameters of a group need only once a step

    def __post_init__(self):
        self.hyper = {name: self.group[name] for name in self.rule.hyper}
        if "lr_scale" in self.group:
            self.hyper["lr"] = self.hyper["lr"] * self.group["lr_scale"]

    @property
    def clips(self) -> bool:
        """Whether the rule clips by a norm."""
        return self.rule.clipped is not None and not compiled.is_infinite(self.hyper["clip_radius"])


def advance_all(optimizer, jobs: list, earlier: dict) -> None:
    """One step of every job; a parameter without one has no history at its next step."""
    moving = {id(job.p) for job in jobs}
    for p, state in optimizer.state.items():
        if id(p) not in moving and "history" in state:
            state["history"] = False
    places = {id(p): place for place, p in enumerate(optimizer.handed)}
    if optimizer.settings["clip_scope"] == "global":
        begun = [begin(optimizer, job, earlier) for job in jobs]
        norm = norm_over(begun)
        for step in begun:
            finish(step, optimizer.settings, places, norm)
        return
    large = compiled.rules_with_large_tensors(optimizer.param_groups) if optimizer.settings["compiled"] == "auto" else set()
    alone, alike, shared = [], {}, {}
    for job in jobs:
        job.shared = shared
        size = job.p.numel()
        job.compiled = job.rule.name in large and size >= compiled.MEDIUM and not job.rule.matrix
        small = size < compiled.MEDIUM and together.is_plain(job)
        key = together.key(job, optimizer.state[job.p]) if small else len(alone)
        (alike.setdefault(key, []) if small else alone).append(job)
    for batch in alike.values():
        if len(batch) > 1:
            together.advance([begin(optimizer, job, earlier) for job in batch])
        else:
            alone += batch
    for job in alone:
        finish(begin(optimizer, job, earlier), optimizer.settings, places, None)


def begin(optimizer, job: Job, earlier: dict) -> SimpleNamespace:
    """Gradient and what it is corrected against, as the rule sees them."""
    view, state = View(job.p, job.rule.matrix), optimizer.state[job.p]
    if "t" not in state:
        state.update(t=0, memory=first_memory(view, job.rule))
    sign = (lambda value: -value) if job.group["maximize"] else (lambda value: value)
    g, known = sign(view.load(job.p.grad)), earlier.get(job.p)
    known = None if known is None else sign(view.load(known))
    step = SimpleNamespace(job=job, view=view, state=state, g=g, prev=None, keep=None)
    if job.group["mode"] == "approximate":
        keep_last_gradient(step)
    elif job.group["mode"] == "exact":
        step.prev = previous(step, known)
    return step


def first_memory(view, rule) -> dict:
    """Zeros like the parameter; running products are float64 numbers, which a schedule of betas needs."""
    start = rule.init(torch.zeros((1, 1) if rule.matrix else (1,), dtype=view.dtype, device=view.p.device))
    memory = {name: view.new() for name in rule.memory}
    scalars = {name: start[name].to("cpu", torch.float64) for name in rule.scalars}
    return memory | scalars | {name: start[name] for name in getattr(rule, "factors", ())}


def has_history(step) -> bool:
    """Whether the step before had a gradient of this parameter."""
    return step.state["t"] > 0 and step.state.get("history", False)


def previous(step, known):
    """What the exact correction is taken against: the gradient handed over, or the convention of a step without history."""
    if step.state["t"] == 0 and step.job.group["first"] == "zero":
        return torch.zeros_like(step.g)
    return known if known is not None and has_history(step) else step.g


def keep_last_gradient(step) -> None:
    """The buffer of the last gradient: a copy, for the next backward overwrites the gradient in place."""
    state = step.state
    if "previous" not in state:
        state["previous"] = step.view.new(None if step.job.group["first"] == "zero" and state["t"] == 0 else step.g)
    elif not has_history(step):
        step.view.store(state["previous"], step.g)
    step.keep = state["previous"]
    step.prev = step.view.load(step.keep)


def norm_over(begun: list):
    """The norm over all tensors of rules that clip; None where there is none."""
    norms = [step.view.norm(clipped_by(step)).double() for step in begun if step.job.clips]
    return torch.stack(norms).norm() if norms else None


def clipped_by(step):
    """The tensor whose norm the clip looks at."""
    return step.job.rule.clipped(step.g, step.prev, **step.job.hyper)


def finish(step, settings, places, norm) -> None:
    """Apply the rule and write back weights, memory and the last gradient."""
    job, view, state = step.job, step.view, step.state
    if norm is not None:
        norm = norm.to(view.dtype)
    elif job.clips and view.sharded and not view.gathered:
        norm = view.norm(clipped_by(step))
    state["t"] += 1
    step.x = weights(view, state, settings["rounding"])
    if not (job.compiled and compiled.run(step, norm)):
        apply(step, norm)
    write_back(step, settings["rounding"], places)
    if "history" in state or job.group["mode"] != "single":
        state["history"] = True


def apply(step, norm) -> None:
    """The rule, eagerly: new memory and the last gradient go into their buffers, the new weights into step.x."""
    rule, view, kept = step.job.rule, step.view, step.state["memory"]
    memory = {name: view.load(value) if name in rule.memory else value for name, value in kept.items()}
    axes = tuple(range(-step.x.ndim, 0))
    t = torch.tensor(float(step.state["t"]), dtype=torch.float64)
    new, found = rule(step.x, memory, step.g, step.prev, t=t, axes=axes, norm=norm, **step.job.hyper)
    borrowed = (step.x, step.g, *memory.values())
    found = {name: owned(found[name], *borrowed) for name in kept}
    for name, value in found.items():
        if name in rule.memory:
            view.store(kept[name], value)
        else:
            kept[name] = value.to(kept[name].device, kept[name].dtype)
    if step.keep is not None:
        view.store(step.keep, step.g)
    step.x = new


def weights(view, state, rounding) -> torch.Tensor:
    """The weights that the rule starts from: p's, or those of its float32 copy, brought up to date where somebody wrote p."""
    x = view.load(view.p)
    if not view.low or rounding != "master":
        return x
    if "master" not in state:
        state["master"] = view.new(x)
        return view.load(state["master"])
    master = view.load(state["master"])
    return master.copy_(torch.where(master.to(view.p.dtype).to(master.dtype) == x, master, x))


def write_back(step, rounding, places) -> None:
    """The new weights into the parameter, and into its float32 copy."""
    view = step.view
    if not view.low or rounding == "nearest":
        return view.store(view.p, step.x)
    if rounding == "master":
        view.store(step.state["master"], step.x)
        return view.store(view.p, step.x)
    if view.p.dtype != torch.bfloat16:
        raise UsageError("stochastic rounding is for bfloat16; use rounding='master' for float16.")
    seed = (step.state["t"] * 1_000_003 + places[id(view.p)]) * 65_537 + view.coordinate()
    view.store(view.p, stochastically_rounded(step.x, seed))
    return None


def owned(value, *borrowed):
    """The value itself as a tensor, or a copy where it shares memory with what is overwritten in place."""
    value = torch.as_tensor(value)
    places = {tensor.untyped_storage().data_ptr() for tensor in borrowed}
    return value.clone() if value.untyped_storage().data_ptr() in places else value
