"""`make bench`: how fast the engine is, as ratios within one run on this machine.

Every case is a process of its own with one thread; repetitions run one at a time in rounds A B C A B C, so that a change of
the machine's mood meets all of them; medians over the rounds are quoted, ratios are taken round by round. Exit status 1
where a requirement fails. ``--quick`` checks the benchmark itself in seconds: its times mean nothing and are not judged.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from optstep import optimizer_step
from rivals import environment
from workload import SIZES, STEPS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NEEDED, AIM, FLOORS = 50, 100, 7  # times faster than a user's loop: required, aimed at; times the noise floor: aimed at
BUSY = 0.7  # load above which times are not to be trusted


class Worker:
    """A case in its own process; ``missing`` says why it cannot run."""

    def __init__(self, name, python, size, script="cases.py", threads=1):
        command = [str(python), str(HERE / script), name, *map(str, size)]
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
        self.process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": str(threads)}, **pipes)
        self.name, self.python, self.runs = name, python, []
        self.missing = self._read().get("missing", "")

    def _read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"missing": "its process ended without a word"}

    def once(self):
        if not self.missing:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
            answer = self._read()
            self.missing = answer.get("missing", "")
            self.runs.append(answer)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def nanoseconds(self):
        """ns per unit of work, round by round."""
        return [1e9 * run["seconds"] / run["work"] for run in self.runs]


def measure(cases, repetitions, **how):
    """Run (name, python, size) in turn, after a warm-up round; returns name -> Worker, without rivals that cannot run."""
    workers = [Worker(*case, **how) for case in cases]
    for turn in range(repetitions + 1):
        for worker in workers:
            worker.once()
            if turn == 0:
                worker.runs.clear()
    for worker in workers:
        worker.close()
        if worker.missing and worker.python == sys.executable:
            sys.exit(f"FAILED: {worker.name} did not run: {worker.missing}")
        if worker.missing:
            print(f"{worker.name} is left out: {worker.missing}")
    return {worker.name: worker for worker in workers if not worker.missing}


def ratio(above, below):
    """Median over the rounds."""
    return statistics.median(a / b for a, b in zip(above.nanoseconds(), below.nanoseconds(), strict=True))


def engine(python, repetitions, steps):
    """W: the simulator, the noise floor, a user's loops; returns the requirements that failed."""
    size, loop = (*SIZES["W"], steps), (1, SIZES["W"][1], min(steps, 400))
    cases = [("marslab-eager", sys.executable, size), ("floor", sys.executable, size)]
    if python is not None:
        cases += [("user-loop", python, loop), ("user-loop-mars", python, loop)]
    found = measure(cases, repetitions)
    ours = found["marslab-eager"]
    print(f"\nW: exact MARS-AdamW, 64 lanes x 100 coordinates, float32, {steps} steps; medians of {repetitions} rounds")
    print(f"{'case':<16}{'ns per lane-step-coordinate':>30}{'times the floor':>18}{'times ours':>12}")
    for worker in found.values():
        middle = statistics.median(worker.nanoseconds())
        print(f"{worker.name:<16}{middle:>30.2f}{ratio(worker, found['floor']):>18.2f}{ratio(worker, ours):>12.2f}")
    print(f"times the noise floor: {ratio(ours, found['floor']):.1f} (aim: at most {FLOORS})")
    return faster(ratio(found["user-loop"], ours) if "user-loop" in found else None)


def faster(times):
    """The requirement on speed, against the cheaper of the user's loops."""
    if times is None:
        print("times faster than a user's loop: NOT MEASURED, there is no rival")
        return []
    print(f"times faster than a user's loop: {times:.0f} (required: {NEEDED}, aim: {AIM})")
    return [] if times >= NEEDED else [f"eager is {times:.0f} times faster than a user's loop, and {NEEDED} are required"]


def agreement(python, lanes, steps):
    """Whether the simulator and the user's loop run the same algorithm; returns the requirements that failed.

    Without noise the two must agree to rounding, with noise their means must differ by less than four standard errors.
    After 400 steps with 32 lanes a gamma that is 10 % off would shift the mean by 11 of them, a missing clip by 7; the
    noiseless number would see beta2 = 0.999 instead of 0.99 (1e-2) and gamma = 0 (6e-5).
    """
    cases = [("algorithm", sys.executable, (64, 100, steps)), ("algorithm-user", python, (lanes, 100, steps))]
    found = measure(cases, 1) if python is not None else {}
    if len(found) < 2:
        print("same algorithm as the user's loop: NOT CHECKED, there is no rival")
        return []
    ours, rival = (found[name].runs[0]["result"] for name in ("algorithm", "algorithm-user"))
    gap = abs(ours["quiet"] / rival["quiet"] - 1)
    z, means = score(ours["loud"], rival["loud"])
    good = gap < 1e-5 and abs(z) < 4
    print(
        f"same algorithm as the user's loop, |grad F|^2 after {steps} steps: {'yes' if good else 'NO'} (without noise equal "
        f"to {gap:.0e}; with noise {means[0]:.4g} and {means[1]:.4g}, {z:+.1f} standard errors apart)"
    )
    return [] if good else ["the simulator and the user's loop do not agree"]


def score(a, b):
    """The difference of two means in standard errors, and the means."""
    error = math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))
    means = statistics.mean(a), statistics.mean(b)
    return (means[0] - means[1]) / error, means


def single(name, size):
    """Seconds of one case alone, after a warm-up."""
    return measure([(name, sys.executable, size)], 1)[name].runs[0]["seconds"]


def alone(quick):
    """What has no rival."""
    if not quick:
        print(f"W in full, {STEPS} steps: {single('marslab-eager', (*SIZES['W'], STEPS)):.1f} s (expected: 10 s)")
    steps = 20 if quick else 5000
    print(f"W-small (16 x 10): {1e6 * single('marslab-eager', (*SIZES['W-small'], steps)) / steps:.0f} us a step")
    steps = 1000 if quick else 1_000_000
    print(f"exact moments, one mode, to T = {steps}: {single('moments', (1, 1, steps)):.2f} s")
    print(f"first result of a cold process: {cold_start():.1f} s")


def cold_start():
    """Seconds from nothing to the first numbers of a small run."""
    code = (
        "import marslab as ml;"
        "ml.run('mars', problem=ml.problems.quadratic([1.0]), noise=ml.noise.additive(1.0), steps=100, seeds=4)"
    )
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="check the benchmark in seconds; its times mean nothing")
    parser.add_argument("--no-rivals", action="store_true", help="do not make or use the rivals' environment")
    chosen = parser.parse_args()
    python = None if chosen.no_rivals else environment()
    load = os.getloadavg()[0]
    print(f"load {load:.2f}{': NOT IDLE, repeat later' if load > BUSY else ''}")
    slow = engine(python, *((1, 20) if chosen.quick else (7, 1000)))
    slow += optimizer_step(measure, ratio, python, chosen.quick)
    failed = agreement(python, *((16, 40) if chosen.quick else (32, 400))) + ([] if chosen.quick else slow)
    alone(chosen.quick)
    for problem in failed:
        print(f"FAILED: {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
