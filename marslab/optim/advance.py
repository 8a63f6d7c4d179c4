"""One step of all parameters, each by its rule."""

from functools import partial

from marslab.optim import compiled, divided, together
from marslab.optim.single import begin, finish, norm_over

__all__ = ["advance_all"]


def advance_all(optimizer, jobs: list, earlier: dict) -> None:
    """One step of every job; a parameter without one has no history at its next step."""
    forget_history(optimizer, jobs)
    settings, places = optimizer.settings, {id(p): place for place, p in enumerate(optimizer.handed)}
    start, norm = partial(begin, optimizer, earlier=earlier), None
    if settings["clip_scope"] == "global":
        begun = {id(job): start(job) for job in jobs}
        start, norm = (lambda job: begun[id(job)]), norm_over(begun.values())
    if settings["matrices"] == "divided":
        divided.advance([job for job in jobs if job.rule.matrix], start, norm, settings, places)
        jobs = [job for job in jobs if not job.rule.matrix]
    if norm is None:
        jobs = advance_alike(optimizer, jobs, start)
    for job in jobs:
        finish(start(job), settings, places, norm)


def forget_history(optimizer, jobs) -> None:
    """A parameter that has no gradient at this step is not corrected at its next one."""
    moving = {id(job.p) for job in jobs}
    for p, state in optimizer.state.items():
        if id(p) not in moving and "history" in state:
            state["history"] = False


def advance_alike(optimizer, jobs, start) -> list:
    """Advance small parameters of one kind together; returns the jobs that are left, marked where they run compiled."""
    large = compiled.rules_with_large_tensors(optimizer.param_groups) if optimizer.settings["compiled"] == "auto" else set()
    left, alike, shared = [], {}, {}
    for job in jobs:
        job.shared, size = shared, job.p.numel()
        job.compiled = job.rule.name in large and size >= compiled.MEDIUM and not job.rule.matrix
        small = size < compiled.MEDIUM and together.is_plain(job)
        key = together.key(job, optimizer.state[job.p]) if small else len(left)
        (alike.setdefault(key, []) if small else left).append(job)
    for batch in alike.values():
        if len(batch) > 1:
            together.advance([start(job) for job in batch])
        else:
            left += batch
    return left
