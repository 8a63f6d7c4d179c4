"""The command line: ``python -m marslab reproduce | run | figure | claims | list | bench | gpt2 | doctor``."""

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
Related = Annotated[bool, tyro.conf.arg(help="the methods and papers around MARS, and where each of them stands here")]
Jobs = Annotated[int, tyro.conf.arg(help="processes, of one thread each")]


def say(line: str = "") -> None:
    """One line for the user."""
    print(line, flush=True)


def work_through(title: str, tasks: list, jobs: int) -> dict[str, str]:
    """Do tasks with a progress bar; returns {"kind name": problem}. Where there are none, the store is not written."""
    from tqdm import tqdm

    from marslab import results, work

    if not tasks:
        return {}
    results.check_writable()
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
        say(f"{name} could not be made: {problem}")
    return 1 if problems else 0


def measure(experiments, claims, mode: str, jobs: int) -> dict[str, str]:
    """Run what is missing of experiments, then of claims; returns {"kind name": problem}."""
    from marslab import work

    tasks = work.missing_experiments(experiments, mode)
    announce([*tasks, *work.missing_claims(claims, mode)], mode, jobs)
    problems = work_through("experiments", tasks, jobs)
    tasks = work.missing_claims(claims, mode)
    problems |= work.blocked(tasks, problems)
    return problems | work_through("claims", [t for t in tasks if f"claim {t[1]}" not in problems], jobs)


def announce(tasks: list, mode: str, jobs: int) -> None:
    """Say beforehand what a full run costs."""
    from marslab import cost

    if mode == "full" and tasks:
        say(cost.estimate(tasks, jobs))


def reproduce(full: Full = False, jobs: Jobs = 2) -> int:
    """Run the experiments, draw the figures, print the ledger, write figures/index.html and related.html beside it."""
    from marslab import draw, experiment, ledger, page, related, related_page

    mode = "full" if full else "quick"
    jobs = checked_jobs(jobs)
    papers = related.load()  # refused before anything is computed
    draw.check_writable()
    problems = measure(experiment.names(), (), mode, jobs)
    drawn, undrawn = draw_all((), mode)
    found = ledger.entries()
    related_page.write_page(papers)
    path = page.write_page(found, drawn, mode)
    say("\n".join(ledger.lines(found)))
    status = report(problems | undrawn)
    say(f"page: {path}")
    return status


def draw_all(names: tuple, mode: str) -> tuple[list, dict[str, str]]:
    """Draw figures with a progress bar; those drawn, and {"figure NAME": problem} for the others."""
    from tqdm import tqdm

    from marslab import draw

    drawn, problems = [], {}
    for name in tqdm(draw.chosen(names), desc="figures", unit="", dynamic_ncols=True):
        try:
            drawn.append(draw.draw(name, mode))
        except Exception as problem:  # the others are drawn all the same
            problems[f"figure {name}"] = str(problem) if isinstance(problem, StoreError) else repr(problem)
    return drawn, problems


def run(names: Names = (), full: Full = False, jobs: Jobs = 2, publish: bool = False) -> int:
    """Run experiments (all where none is named); --publish commits their data to experiments/published."""
    from marslab import experiment, results, work

    mode = "full" if full else "quick"
    jobs = checked_jobs(jobs)
    loaded = {name: experiment.load(name) for name in names or experiment.names()}
    tasks = work.missing_experiments(loaded, mode)
    announce(tasks, mode, jobs)
    problems = work_through("experiments", tasks, jobs)
    for name, each in loaded.items():
        if f"experiment {name}" not in problems:
            say(f"{name}: {each.find(mode)[1]}")
            if publish:
                say(f"published: {results.publish(each.compute(mode), each.published_path(mode), limit=200_000)}")
    return report(problems)


def figure(names: Names = (), full: Full = False) -> int:
    """Draw figures (all where none is named) from stored data, PNG and PDF."""
    drawn, problems = draw_all(names, "full" if full else "quick")
    for each in drawn:
        say(f"{each.path} ({'drawn' if each.fresh else 'unchanged'}; {'; '.join(each.origins.values())})")
    return report(problems)


def claims(names: Names = (), full: Full = False, jobs: Jobs = 2, publish: bool = False) -> int:
    """Measure claims (all where none is named) and print their verdicts; one name: explain it."""
    from marslab import ledger

    mode = "full" if full else "quick"
    jobs = checked_jobs(jobs)
    picked = ledger.chosen(names)
    problems = measure(sorted({e for claim in picked.values() for e in claim.experiments}), picked, mode, jobs)
    found = ledger.entries()
    if len(names) == 1:
        say("\n".join(ledger.explain(next(e for e in found if e.claim.name == names[0]))))
    else:
        say("\n".join(ledger.lines([e for e in found if e.claim.name in picked])))
    if publish:
        publish_claims([c for n, c in picked.items() if f"claim {n}" not in problems], mode)
    return report(problems)


def publish_claims(picked: list, mode: str) -> None:
    """Commit the rows to marslab/claims/published."""
    from marslab import ledger, results

    for claim in picked:
        say(f"published: {results.publish(results.load(claim.key(mode)), ledger.published_path(claim, mode))}")


def list_everything(kinds: Names = (), related: Related = False) -> int:
    """List rules, problems, noise laws, claims, experiments and figures with their first lines, or what stands beside MARS."""
    from marslab import listing
    from marslab import related as papers

    said = listing.lines(kinds) if kinds or not related else []
    if related:
        said += [*([""] if said else []), *papers.lines()]
    say("\n".join(said))
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


def gpt2(arguments: Names = ()) -> int:
    """Train language models: prepare, train, evaluate, compare, export, plot ('marslab gpt2 --help')."""
    from marslab.gpt2 import commands

    return commands.main(list(arguments))


COMMANDS = {
    "reproduce": reproduce,
    "run": run,
    "figure": figure,
    "claims": claims,
    "list": list_everything,
    "bench": bench,
    "gpt2": gpt2,
    "doctor": doctor,
}


def chosen(arguments: list[str]) -> int:
    """Run the command that the words name; the options behind ``gpt2`` belong to its own parts."""
    if arguments[:1] == ["gpt2"]:
        return gpt2(tuple(arguments[1:]))
    return tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="marslab", args=arguments, description=__doc__)


def main(arguments: list[str] | None = None) -> int:
    """Run a command (that of the command line by default); a user's error is one sentence and exit status 2."""
    if arguments is None:
        interrupt.install()
        sys.stdout.reconfigure(errors="replace")  # a terminal without a sign for ≤ shows a question mark
    try:
        status = chosen(sys.argv[1:] if arguments is None else arguments)
    except (UsageError, StoreError) as problem:
        print(f"marslab: {problem}", file=sys.stderr)
        status = 2
    if arguments is None:
        interrupt.ignore()
    return status


if __name__ == "__main__":
    sys.exit(main())
