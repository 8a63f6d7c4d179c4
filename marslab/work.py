"""Work for several processes: experiments first, then claims, each found or computed and stored; resumable at any moment."""

import signal
from collections.abc import Callable, Iterable

from marslab import experiment, ledger, results

__all__ = ["Task", "missing_claims", "missing_experiments", "perform", "stop_workers"]

Task = tuple[str, str, str]  # (kind, name, mode)


def missing_experiments(names: Iterable[str], mode: str) -> list[Task]:
    """The experiments whose data are not in the store."""
    return [("experiment", n, mode) for n in names if results.find(experiment.load(n).identity(mode).key) is None]


def missing_claims(names: Iterable[str], mode: str) -> list[Task]:
    """The claims whose rows are not in the store."""
    return [("claim", n, mode) for n, claim in ledger.chosen(names).items() if claim.find(mode) is None]


def perform(tasks: list[Task], jobs: int, done: Callable[[str, str], None]) -> dict[str, str]:
    """Do the tasks on ``jobs`` processes of one thread each; ``done(name, problem)`` is called as each ends.

    Returns {name: problem} for those that could not be done. Nothing is lost on interruption: what had ended is stored.
    """
    from joblib import Parallel, delayed

    problems = {}
    pool = Parallel(n_jobs=max(1, min(jobs, len(tasks))), return_as="generator_unordered", batch_size=1)
    for name, problem in pool(delayed(alone)(task) for task in tasks):
        if problem:
            problems[name] = problem
        done(name, problem)
    return problems


def alone(task: Task) -> tuple[str, str]:
    """One task in a worker process: its name, and what went wrong, if anything did."""
    import torch

    torch.set_num_threads(1)
    kind, name, mode = task
    try:
        experiment.load(name).compute(mode) if kind == "experiment" else ledger.chosen([name])[name].row(mode)
    except Exception as problem:  # the others go on; the caller reports it
        return name, f"{type(problem).__name__}: {problem}"
    return name, ""


def stop_workers() -> None:
    """End the worker processes at once; a second Ctrl-C meanwhile changes nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=False, kill_workers=True)
