"""The command line: ``python -m marslab reproduce | run | figure | claims | list | bench | doctor``."""

import subprocess
import sys
from typing import Annotated

from marslab import interrupt

if __name__ == "__main__":  # at once: the imports below and in the commands take seconds
    interrupt.install()

import tyro

from marslab.errors import StoreError, UsageError

Names = tyro.conf.Positional[tuple[str, ...]]
Full = Annotated[bool, tyro.conf.arg(help="use the full budgets instead of the quick ones")]
Jobs = Annotated[int, tyro.conf.arg(help="processes, of one thread each")]


def say(line: str = "") -> None:
    """One line for the user."""
    print(line, flush=True)


def work_through(title: str, tasks: list, jobs: int) -> dict[str, str]:
    """Do tasks with a progress bar; returns the problems by name."""
    from tqdm import tqdm

    from marslab import work

    if not tasks:
        return {}
    with tqdm(total=len(tasks), desc=title, unit="", dynamic_ncols=True) as bar:

        def done(name: str, problem: str) -> None:
            bar.set_postfix_str(f"{name}{' FAILED' if problem else ''}")
            bar.update()

        return work.perform(tasks, jobs, done)


def checked_jobs(jobs: int) -> int:
    """At least one process."""
    if jobs < 1:
        raise UsageError(f"jobs = {jobs} must be at least 1.")
    return jobs


def report(problems: dict[str, str]) -> int:
    """Name what could not be done; the exit status."""
    for name, problem in problems.items():
        say(f"{name} could not be run: {problem}")
    return 1 if problems else 0


def reproduce(full: Full = False, jobs: Jobs = 2) -> int:
    """Run the experiments, draw the figures, print the ledger, write figures/index.html."""
    from marslab import experiment, ledger, page, results, work

    mode = "full" if full else "quick"
    results.check_writable()
    jobs = checked_jobs(jobs)
    problems = work_through("experiments", work.missing_experiments(experiment.names(), mode), jobs)
    problems |= work_through("claims", work.missing_claims((), mode), jobs)
    drawn = draw_all((), mode)
    found = ledger.entries()
    path = page.write_page(found, drawn, mode)
    say("\n".join(ledger.lines(found)))
    status = report(problems)
    say(f"page: {path}")
    return status


def draw_all(names: tuple, mode: str) -> list:
    """Draw figures with a progress bar."""
    from tqdm import tqdm

    from marslab import draw

    return [draw.draw(name, mode) for name in tqdm(draw.chosen(names), desc="figures", unit="", dynamic_ncols=True)]


def run(names: Names = (), full: Full = False, jobs: Jobs = 2, publish: bool = False) -> int:
    """Run experiments (all where none is named); --publish commits their data to experiments/published."""
    from marslab import experiment, results, work

    mode = "full" if full else "quick"
    loaded = {name: experiment.load(name) for name in names or experiment.names()}
    results.check_writable()
    problems = work_through("experiments", work.missing_experiments(loaded, mode), checked_jobs(jobs))
    for name, each in loaded.items():
        if name not in problems:
            say(f"{name}: {each.find(mode)[1]}")
            if publish:
                say(f"published: {results.publish(each.compute(mode), each.published_path(mode), limit=200_000)}")
    return report(problems)


def figure(names: Names = (), full: Full = False) -> int:
    """Draw figures (all where none is named) from stored data, PNG and PDF."""
    for drawn in draw_all(names, "full" if full else "quick"):
        say(f"{drawn.path} ({'drawn' if drawn.fresh else 'unchanged'}; {'; '.join(drawn.origins.values())})")
    return 0


def claims(names: Names = (), full: Full = False, jobs: Jobs = 2, publish: bool = False) -> int:
    """Measure claims (all where none is named) and print their verdicts; one name: explain it."""
    from marslab import ledger, results, work

    mode = "full" if full else "quick"
    picked = ledger.chosen(names)
    results.check_writable()
    needed = {name for claim in picked.values() for name in claim.experiments}
    problems = work_through("experiments", work.missing_experiments(sorted(needed), mode), checked_jobs(jobs))
    problems |= work_through("claims", work.missing_claims(picked, mode), jobs)
    found = ledger.entries()
    if len(names) == 1:
        say("\n".join(ledger.explain(next(e for e in found if e.claim.name == names[0]))))
    else:
        say("\n".join(ledger.lines([e for e in found if e.claim.name in picked])))
    if publish:
        publish_claims([c for n, c in picked.items() if n not in problems], mode)
    return report(problems)


def publish_claims(picked: list, mode: str) -> None:
    """Commit the rows to marslab/claims/published."""
    from marslab import ledger, results

    for claim in picked:
        say(f"published: {results.publish(results.load(claim.key(mode)), ledger.published_path(claim, mode))}")


def list_everything(kinds: Names = ()) -> int:
    """List rules, problems, noise laws, claims, experiments and figures with their first lines."""
    from marslab import listing

    say("\n".join(listing.lines(kinds)))
    return 0


def doctor() -> int:
    """Show versions, compiler, store and free space."""
    from marslab import listing

    say("\n".join(listing.doctor()))
    return 0


def bench() -> int:
    """Measure speed beside its rivals (bench/run.py)."""
    from marslab import paths

    return subprocess.call([sys.executable, str(paths.need(paths.ROOT / "bench") / "run.py")])


COMMANDS = {
    "reproduce": reproduce,
    "run": run,
    "figure": figure,
    "claims": claims,
    "list": list_everything,
    "bench": bench,
    "doctor": doctor,
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command (that of the command line by default); a user's error is one sentence and exit status 2."""
    if arguments is None:
        interrupt.install()
    try:
        status = tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="marslab", args=arguments, description=__doc__)
    except (UsageError, StoreError) as problem:
        print(f"marslab: {problem}", file=sys.stderr)
        status = 2
    if arguments is None:
        interrupt.ignore()
    return status


if __name__ == "__main__":
    sys.exit(main())
