"""`make bench`: how fast the engine is, as ratios within one run on this machine.

Every case is a process of its own with one thread; repetitions run one at a time in rounds A B C A B C, so that a change of
the machine's mood meets all of them; medians are quoted. Numbers mean something only on an idle machine. Exit status 1
where a requirement fails. ``--quick`` is a check of the benchmark itself, not a measurement.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ENVIRONMENT = ROOT / ".bench-venv"
RIVALS = ["pytorch-optimizer==4.1.0"]
TIMES_FASTER = 50  # than a user's loop, per lane-step-coordinate
SIZES = {"W": (64, 100), "W-small": (16, 10)}


class Worker:
    """A case in its own process."""

    def __init__(self, name, python, size, steps):
        arguments = [str(python), str(HERE / "cases.py"), name, *map(str, (*size, steps))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=HERE
        )
        self.name, self.runs = name, []
        self.missing = self.read().get("missing", "")

    def read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"missing": f"{self.name} ended without a word"}

    def once(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.runs.append(self.read())

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    @property
    def nanoseconds(self):
        """Median ns per unit of work."""
        return statistics.median(run["seconds"] / run["work"] for run in self.runs) * 1e9

    @property
    def statistic(self):
        return statistics.mean(run["statistic"] for run in self.runs)


def environment():
    """The rivals' Python, made on first use; None, with the reason said, where it cannot be made."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "complete").exists():
        print(f"Making {ENVIRONMENT.name} for the rivals (once) ...", flush=True)
        pip = [python, "-m", "pip", "install", "-q", "-q"]
        steps = [
            [sys.executable, "-m", "venv", "--clear", ENVIRONMENT],
            [*pip, "-c", ROOT / "constraints.txt", "torch==2.13.0", "numpy"],
            [*pip, "--no-deps", *RIVALS],
        ]
        for step in steps:
            if subprocess.run(list(map(str, step)), cwd=ROOT).returncode:
                print("the rivals' environment could not be made (pip's message is above): going on without them")
                return None
        (ENVIRONMENT / "complete").write_text("\n".join(RIVALS))
    return python


def rounds(workers, repetitions):
    """Repetitions one at a time, in turn; the first of each is a warm-up that does not count."""
    for _ in range(repetitions + 1):
        for worker in workers:
            worker.once()
    for worker in workers:
        worker.runs.pop(0)
        worker.close()


def engine(python, repetitions, steps):
    """W: our engine, a user's loop, and the floor; returns the requirements that failed."""
    cases = [("marslab-eager", sys.executable, steps), ("floor", sys.executable, steps)]
    if python is not None:
        cases.append(("user-loop", python, max(20, min(steps, 400))))
    workers = [Worker(name, where, SIZES["W"], count) for name, where, count in cases]
    for worker in workers:
        if worker.missing:
            print(f"{worker.name} is left out: {worker.missing}")
    workers = [worker for worker in workers if not worker.missing]
    rounds(workers, repetitions)
    found = {worker.name: worker for worker in workers}
    ours = found["marslab-eager"]
    print(f"\nW: exact MARS-AdamW, 64 lanes x 100 coordinates, float32, {steps} steps, median of {repetitions}")
    print(f"{'case':<16}{'ns per lane-step-coordinate':>30}{'times the floor':>18}{'times ours':>12}")
    for worker in workers:
        ratio = worker.nanoseconds / found["floor"].nanoseconds
        print(f"{worker.name:<16}{worker.nanoseconds:>30.2f}{ratio:>18.2f}{worker.nanoseconds / ours.nanoseconds:>12.1f}")
    if "user-loop" not in found:
        return []
    return verdict(found["user-loop"].nanoseconds / ours.nanoseconds)


def verdict(faster):
    """Whether the requirement holds."""
    print(f"faster than the user's loop: {faster:.0f} times (required: {TIMES_FASTER})")
    return [] if faster >= TIMES_FASTER else [f"eager is only {faster:.0f} times faster than a user's loop"]


def single(name, size, steps, unit):
    """One case alone: the second of two repetitions."""
    worker = Worker(name, sys.executable, size, steps)
    rounds([worker], 1)
    seconds = worker.runs[0]["seconds"]
    print(unit.format(seconds=seconds, us=seconds / steps * 1e6))


def cold_start():
    """Seconds from nothing to the first numbers of a small run."""
    code = (
        "import marslab as ml;"
        "ml.run('mars', problem=ml.problems.quadratic([1.0]), noise=ml.noise.additive(1.0), steps=100, seeds=4)"
    )
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    print(f"first result of a cold process: {time.perf_counter() - begun:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="check the benchmark in seconds; its numbers mean nothing")
    parser.add_argument("--no-rivals", action="store_true", help="do not make or use the rivals' environment")
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"load {load:.2f}{': NOT IDLE, repeat later' if load > 0.7 else ''}")
    python = None if chosen.no_rivals else environment()
    failed = engine(python, 1 if chosen.quick else 5, 20 if chosen.quick else 1000)
    if not chosen.quick:
        single("marslab-eager", SIZES["W"], 20_000, "W in full, 20,000 steps: {seconds:.1f} s (expected: 10 s)")
    single("marslab-eager", SIZES["W-small"], 20 if chosen.quick else 5000, "W-small (16 x 10): {us:.0f} us a step")
    single("moments", (1, 1), 1000 if chosen.quick else 1_000_000, "exact moments, one mode, to T = 10^6: {seconds:.2f} s")
    cold_start()
    for problem in failed:
        print(f"FAILED: {problem}")
    return 1 if failed and not chosen.quick else 0


if __name__ == "__main__":
    sys.exit(main())
