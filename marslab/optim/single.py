"""One step of one parameter by its rule."""

from dataclasses import dataclass
from types import SimpleNamespace

import torch

from marslab.optim import compiled
from marslab.optim.groups import plain
from marslab.optim.view import View, stochastically_rounded
from marslab.rule import Rule

__all__ = ["Job", "applied", "begin", "count", "finish", "jobs_of", "keep", "loaded", "norm_of", "norm_over", "write_back"]


@dataclass
class Job:
    """A parameter that has a gradient, with its group and rule."""

    p: torch.Tensor
    group: dict
    rule: Rule
    hyper: dict
    compiled: bool = False
    shared: dict | None = None  # what the parameters of a group need only once a step

    @property
    def clips(self) -> bool:
        """Whether the rule clips by a norm."""
        return self.rule.clipped is not None and not compiled.is_infinite(self.hyper["clip_radius"])


def jobs_of(optimizer) -> list[Job]:
    """A job for every parameter with a gradient and entries; those of a group share its hyper-parameters, as they are now."""
    found = []
    for group in optimizer.param_groups:
        rule = optimizer.rule_of(group)
        hyper = {name: plain(group[name]) for name in rule.hyper}
        if "lr_ratio" in group:
            hyper["lr"] = hyper["lr"] * group["lr_ratio"]
        found += [Job(p, group, rule, hyper) for p in group["params"] if p.grad is not None and p.numel()]
    return found


def begin(optimizer, job: Job, earlier: dict) -> SimpleNamespace:
    """Gradient and what it is corrected against, as the rule sees them."""
    view, state = View(job.p, job.rule.matrix), optimizer.state[job.p]
    if "t" not in state:
        state.update(t=0, memory=first_memory(view, job.rule))
    else:
        fit(state, view, job.rule)
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


def fit(state: dict, view, rule) -> None:
    """Bring state to the type and the shards of the parameter, which may have changed: what is written must be what is kept."""
    memory = state["memory"]
    for name in (*rule.memory, *getattr(rule, "factors", ())):
        memory[name] = view.fitted(memory[name])
    if not view.low:
        state.pop("master", None)  # of a parameter that has left 16 bits
    for name in ("previous", "master"):
        if name in state:
            state[name] = view.fitted(state[name])


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
    norms = [step.view.norm(clipped_by(step)) for step in begun if step.job.clips]
    return torch.stack(norms).norm() if norms else None


def clipped_by(step):
    """The tensor whose norm the clip looks at."""
    return step.job.rule.clipped(step.g, step.prev, **step.job.hyper)


def finish(step, settings, places, norm) -> None:
    """Apply the rule and write back weights, memory and the last gradient."""
    count(step, settings)
    norm = norm_of(step, norm)
    if not (step.job.compiled and compiled.run(step, norm)):
        keep(step, *applied(step, loaded(step), norm))
    write_back(step, settings["rounding"], places)


def count(step, settings) -> None:
    """The step is now being taken: its number, its history, and the weights it starts from."""
    step.state["t"] += 1
    step.x = weights(step.view, step.state, settings["rounding"])
    if "history" in step.state or step.job.group["mode"] != "single":
        step.state["history"] = True


def norm_of(step, norm):
    """The norm for the clip in the working type: a global one, or that of a tensor of which every process holds a part."""
    if norm is not None:
        return norm.to(step.view.dtype)
    if step.job.clips and step.view.sharded and not step.view.gathered:
        return step.view.norm(clipped_by(step)).to(step.view.dtype)
    return None


def loaded(step) -> dict:
    """The state as the rule takes it."""
    rule, kept = step.job.rule, step.state["memory"]
    return {name: step.view.load(value) if name in rule.memory else value for name, value in kept.items()}


def applied(step, memory, norm) -> tuple:
    """The rule, eagerly: new weights and state, which share no memory with the old ones."""
    axes = tuple(range(-step.x.ndim, 0))
    t = torch.tensor(float(step.state["t"]), dtype=torch.float64)
    new, found = step.job.rule(step.x, memory, step.g, step.prev, t=t, axes=axes, norm=norm, **step.job.hyper)
    borrowed = (step.x, step.g, *memory.values())
    return new, {name: owned(found[name], *borrowed) for name in memory}


def keep(step, new, found) -> None:
    """New memory and the last gradient go into their buffers, the new weights into step.x."""
    rule, view, kept = step.job.rule, step.view, step.state["memory"]
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
    seed = (step.state["t"] * 1_000_003 + places[id(view.p)]) * 65_537 + view.coordinate()
    view.store(view.p, stochastically_rounded(step.x, seed))
    return None


def owned(value, *borrowed):
    """The value itself as a tensor, or a copy where it shares memory with what is overwritten in place."""
    value = torch.as_tensor(value)
    places = {tensor.untyped_storage().data_ptr() for tensor in borrowed}
    return value.clone() if value.untyped_storage().data_ptr() in places else value
