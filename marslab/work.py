"""Work for several processes: experiments first, then claims, each found or computed and stored; resumable at any moment."""

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor

from marslab import experiment, interrupt, ledger, results

__all__ = ["Task", "blocked", "missing_claims", "missing_experiments", "perform"]

Task = tuple[str, str, str]  # (kind, name, mode)
ENDED = "its worker process was ended from outside, most likely for want of memory; --jobs 1 needs the least"


def missing_experiments(names: Iterable[str], mode: str) -> list[Task]:
    """The experiments whose data are not in the store."""
    return [("experiment", n, mode) for n in names if results.find(experiment.load(n).identity(mode).key) is None]


def missing_claims(names: Iterable[str], mode: str) -> list[Task]:
    """The claims whose rows are not in the store."""
    return [("claim", n, mode) for n, claim in ledger.chosen(names).items() if claim.find(mode) is None]


def blocked(tasks: list[Task], problems: Mapping[str, str]) -> dict[str, str]:
    """{"claim NAME": problem} for the claims of which an experiment could not be run: it would only fail again."""
    lost = {}
    for kind, name, _ in tasks:
        for needed in ledger.chosen([name])[name].experiments:
            if f"experiment {needed}" in problems:
                lost[f"{kind} {name}"] = f"its experiment {needed} could not be run"
    return lost


def perform(tasks: list[Task], jobs: int, done: Callable[[str, str], None]) -> dict[str, str]:
    """Do the tasks on ``jobs`` processes of one thread each; ``done(name, problem)`` is called as each ends.

    Returns {"kind name": problem} for those that could not be done. Nothing is lost on interruption: what had ended is stored.
    """
    ended = {}
    try:
        for (kind, name, _), problem in started(tasks, jobs):
            ended[f"{kind} {name}"] = problem
            done(name, problem)
    except BrokenExecutor:
        ended = {f"{kind} {name}": ENDED for kind, name, _ in tasks} | ended
    return {task: problem for task, problem in ended.items() if problem}


def started(tasks: list[Task], jobs: int):
    """The tasks' outcomes, in the order in which they end."""
    from joblib import Parallel, delayed

    jobs = max(1, min(jobs, len(tasks)))
    following = {"initializer": interrupt.follow, "initargs": (os.getpid(),)} if jobs > 1 else {}
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, **following)
    with interrupt.deferred():
        return pool(delayed(alone)(task) for task in tasks)


def alone(task: Task) -> tuple[Task, str]:
    """One task, in a worker process; returned with what went wrong, if anything did."""
    import torch

    torch.set_num_threads(1)
    kind, name, mode = task
    try:
        experiment.load(name).compute(mode) if kind == "experiment" else ledger.chosen([name])[name].row(mode)
    except Exception as problem:  # the others go on; the caller reports it
        return task, f"{type(problem).__name__}: {problem}"
    return task, ""
