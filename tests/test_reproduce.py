"""Faults of whole runs, in a small copy of the checkout: kill -9, Ctrl-C, no network, odd paths, two at once.

The copy's folder and its store have odd names, and its first, undisturbed run has no network where this may be arranged.
"""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import small_checkout
from small_checkout import CLAIM, EXPERIMENT, FIGURE, NAMES, environment, run, start, write

from marslab import results

ODD = "a b'ü [1] $HOME %s"
MESSAGE = "Interrupted. Finished results are kept; the same command goes on from here."
EXPECTED = sorted([*(f"{name}-quick" for name in NAMES), "claim-small-quick", "claim-stated_schedule-quick"])


class Undisturbed:
    """The copy, the store of a run that nothing disturbed, what the run said, and how long it took."""

    def __init__(self, folder: Path):
        self.folder, self.store = small_checkout.make(folder / ODD, steps=300), folder / f"store {ODD}"
        self.network = [] if shutil.which("unshare") is None else ["unshare", "--net"]
        if self.network and subprocess.run([*self.network, "true"], capture_output=True).returncode:
            self.network = []
        begun = time.monotonic()
        done = subprocess.run(
            [*self.network, sys.executable, "-m", "marslab", "reproduce"],
            cwd=self.folder, env=environment(self.folder, self.store), capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        self.seconds = 0.7 * (time.monotonic() - begun)  # later runs find byte code
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.data = contents(self.store)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return Undisturbed(tmp_path_factory.mktemp("copy"))


def contents(store):
    """Name -> data of every result in a store; damaged ones raise."""
    return {path.name: results.published(path)[0] for path in sorted(store.glob("*.nc"))}


def stamps(*folders):
    """Which files stand there, unmoved and unwritten."""
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns) for folder in folders for path in folder.iterdir() if path.is_file()
    }


def strays(*folders):
    return sum(1 for folder in folders if folder.is_dir() for path in folder.iterdir() if path.name.endswith(".tmp"))


def assert_same_data(store, whole):
    """The results of a disturbed run are bit for bit those of an undisturbed one; the rows differ in their seconds."""
    found = contents(store)
    assert set(found) == set(whole.data)
    for name, expected in whole.data.items():
        if name.startswith("claim-"):
            rows = [results_row(data) | {"seconds": 0} for data in (found[name], expected)]
            assert rows[0] == rows[1]
            continue
        for label, dataset in expected.items():
            assert found[name][label].equals(dataset)
            for variable in dataset.variables:
                assert found[name][label][variable].values.tobytes() == dataset[variable].values.tobytes()


def results_row(data):
    return json.loads(data.attrs["row"])


def members(group):
    """The processes of a group that still run; zombies are dead."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, its_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            found.append(int(entry.name))
    return found


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted in /proc")


def settle(group, seconds):
    """Wait until nothing of a group runs any more; return the processes that are left after so many seconds."""
    end = time.monotonic() + seconds
    while members(group) and time.monotonic() < end:
        time.sleep(0.05)
    return members(group)


def begun(process, cpu=0.2):
    """Wait until a process has worked for a moment: before, the interpreter itself is starting."""
    ticks = os.sysconf("SC_CLK_TCK")
    while process.poll() is None:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks >= cpu:
            return
        time.sleep(0.01)


# without disturbance


def test_the_run_ends_with_ledger_and_page(whole):
    assert whole.status == 0, whole.err
    lines = whole.out.splitlines()
    assert (
        lines[0].split() == ["verdict", "claim", "predicted", "measured", "mode"]
        and lines[-2] == "1 HOLDS, 1 FAILS, 0 CANNOT TELL"
    )
    assert (
        lines[-1] == f"page: {whole.folder / 'figures' / 'index.html'}" and (whole.folder / "figures" / "index.html").is_file()
    )
    assert "experiments: 100%" in whole.err and "claims: 100%" in whole.err and "Traceback" not in whole.err
    assert sorted(path.name.rpartition("-")[0] for path in whole.store.iterdir()) == EXPECTED
    assert not (whole.folder / ".marslab").exists() and strays(whole.store, whole.folder / "figures") == 0


def test_the_run_needs_no_network(whole):
    if not whole.network:
        pytest.skip("a namespace without a network is not allowed here")
    assert whole.status == 0


def test_a_second_run_recomputes_nothing_and_is_quick(whole):
    before = stamps(whole.store, whole.folder / "experiments")
    drawn = {path: path.read_bytes() for path in stamps(whole.folder / "figures")}
    start_time = time.monotonic()
    status, out, err = run(whole.folder, "reproduce", store=whole.store)
    assert status == 0 and out == whole.out and time.monotonic() - start_time < 45
    assert stamps(whole.store, whole.folder / "experiments") == before
    assert {path: path.read_bytes() for path in stamps(whole.folder / "figures")} == drawn
    assert "experiments" not in err and "claims" not in err


def test_a_new_experiment_figure_and_claim_appear_by_themselves(whole, tmp_path):
    folder = tmp_path / "more"
    shutil.copytree(whole.folder, folder)
    write(folder / "experiments" / "seven.py", EXPERIMENT, name="seven", curvature=1.0, steps=20)
    write(folder / "figures" / "seven.py", FIGURE.replace("experiment one", "experiment seven"))
    write(folder / "marslab" / "claims" / "seventh.py", CLAIM.replace("small", "seventh").replace('"one"', '"seven"'), steps=20)
    code = """
import marslab as ml
from marslab import listing, __main__
print("\\n".join(listing.lines()))
assert "seventh" in dir(ml.claims) and ml.claims.seventh.experiments == ("seven",)
status = __main__.main(["claims", "--jobs", "1"]) or __main__.main(["figure", "seven"])
raise SystemExit(status)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment(folder, whole.store), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for words in ("How does seven fall?", "Gradient norm of experiment seven.", "experiments (7)", "figures (2)", "claims (3)"):
        assert words in done.stdout
    assert "  seventh          One ends below ten.\n" in done.stdout
    assert any(line.startswith("HOLDS        seventh ") for line in done.stdout.splitlines())
    assert (folder / "figures" / "seven.png").is_file() and not (whole.folder / "figures" / "seven.png").exists()
    for path in [*whole.store.glob("seven-*"), *whole.store.glob("claim-seventh-*")]:
        path.unlink()


# F1: kill -9


def lose_some(store, chosen):
    """Remove half of the results, so that there is always something to do."""
    there = sorted(store.glob("*.nc"))
    for path in chosen.sample(there, len(there) // 2):
        path.unlink()


def kill(whole, store, times, chosen):
    """Kill -9 a run at random moments and go on after each; the whole group or the parent alone."""
    places = (store, whole.folder / "figures")
    for number in range(times):
        lose_some(store, chosen)
        before, left = strays(*places), stamps(store)
        process = start(whole.folder, "reproduce", store=store)
        time.sleep(chosen.uniform(0.3, 0.9) * whole.seconds)
        if number % 2:
            process.kill()  # the workers must notice by themselves
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert settle(process.pid, 10) == []
        assert strays(*places) - before <= 2  # one for each worker
        now = stamps(store)
        assert {path: now[path] for path in left if path.suffix == ".nc"} == {
            p: s for p, s in left.items() if p.suffix == ".nc"
        }
        contents(store)  # none is half-written


def let_end(whole, store):
    """Go on a last time: what had ended is not computed again, strays are swept, and all is as if undisturbed."""
    for path in [*store.glob("six-*.nc")]:
        path.unlink()
    for path in (store / ".six.nc.999999999-1.0badcafe.tmp", whole.folder / "figures" / ".one.png.999999999-1.0badcafe.tmp"):
        path.write_bytes(b"half")
    finished = stamps(store)
    status, out, err = run(whole.folder, "reproduce", store=store)
    assert status == 0 and out == whole.out, err
    now = stamps(store)
    assert all(now[path] == stamp for path, stamp in finished.items() if path.suffix == ".nc")
    assert strays(store, whole.folder / "figures") == 0
    assert_same_data(store, whole)


@linux
@pytest.mark.slow
def test_killed_forty_times_it_goes_on(whole, tmp_path):
    for name, seed in (("killed", 2), ("killed again", 3)):
        (tmp_path / name).mkdir()
        kill(whole, tmp_path / name, 20, random.Random(seed))
        let_end(whole, tmp_path / name)


# F17: Ctrl-C


def interrupt(whole, store, after, twice=False, jobs="2"):
    """SIGINT to the process group at a moment; asserts what must hold at every moment."""
    process = start(whole.folder, "reproduce", "--jobs", jobs, store=store)
    begun(process)
    time.sleep(after)
    finished = stamps(store) if store.is_dir() else {}
    pressed = time.monotonic()
    os.killpg(process.pid, signal.SIGINT) if process.poll() is None else None
    if twice:
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT) if process.poll() is None else None
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - pressed
    assert process.returncode in (0, 130), err
    assert took < (3 if twice and process.returncode else 15)  # three times the stated limits
    assert settle(process.pid, 15) == []
    assert "Traceback" not in err and "KeyboardInterrupt" not in err and "Warning" not in err, err
    if process.returncode:
        assert err.rstrip().endswith(MESSAGE) and err.count(MESSAGE) == 1 and "page: " not in out
    now = stamps(store) if store.is_dir() else {}
    assert {path: now[path] for path in finished if path.suffix == ".nc"} == {
        p: s for p, s in finished.items() if p.suffix == ".nc"
    }
    contents(store) if store.is_dir() else None
    return process.returncode


@linux
def test_killed_and_interrupted_at_any_moment_it_goes_on(whole, tmp_path):
    """Four kills, three Ctrl-C and a double one; then the run ends as the undisturbed one did."""
    store, chosen = tmp_path / "store", random.Random(5)
    store.mkdir()
    ends = [interrupt(whole, store, share * whole.seconds * chosen.uniform(0.8, 1.2)) for share in (0.0, 0.35, 0.5)]
    kill(whole, store, 4, chosen)
    lose_some(store, chosen)
    ends.append(interrupt(whole, store, chosen.uniform(0.2, 0.4) * whole.seconds, twice=True))
    assert ends.count(130) >= 2  # a run may have ended before the key was pressed
    let_end(whole, store)


@linux
@pytest.mark.slow
def test_interrupted_often(whole, tmp_path):
    chosen = random.Random(6)
    for number, (twice, jobs) in enumerate(itertools.product((False, True), ("2", "2", "1", "2", "2") * 2)):
        if number % 5 == 0:
            store = tmp_path / f"interrupted {number}"
        interrupt(whole, store, chosen.uniform(0, 0.9) * whole.seconds, twice, jobs)
    assert run(whole.folder, "reproduce", store=store)[0] == 0
    assert_same_data(store, whole)


# other disturbances


@linux
@pytest.mark.slow
def test_a_worker_killed_from_outside_is_one_sentence_a_task(whole, tmp_path):
    store = tmp_path / "store"
    process = start(whole.folder, "reproduce", store=store)
    while process.poll() is None and len(workers := [p for p in members(process.pid) if is_worker(p)]) < 2:
        time.sleep(0.02)
    os.kill(workers[0], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and "Traceback" not in err
    assert "could not be made: its worker process was ended from outside" in out and out.splitlines()[-1].startswith("page: ")
    status, out, _ = run(whole.folder, "reproduce", store=store)
    assert status == 0 and out == whole.out
    assert_same_data(store, whole)


def is_worker(pid):
    try:
        return b"popen_loky_posix" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def at_once(whole, store):
    """Two runs of the same at the same time."""
    pair = [start(whole.folder, "run", "--jobs", "1", store=store) for _ in range(2)]
    for process in pair:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0 and "Traceback" not in err, err
        assert sorted(line.split(": computed here, key ")[0] for line in out.splitlines()) == sorted(NAMES)
    found = contents(store)
    assert len(found) == len(NAMES) == len(list(store.iterdir()))
    for name, data in found.items():
        assert all(data[label].equals(dataset) for label, dataset in whole.data[name].items())


def test_two_runs_at_once_leave_one_valid_result_each(whole, tmp_path):
    at_once(whole, tmp_path / "store")


@pytest.mark.slow
def test_two_runs_at_once_often(whole, tmp_path):
    for number in range(20):
        at_once(whole, tmp_path / f"store {number}")


def test_the_pool_s_end_is_told_for_the_tasks_that_were_not_done(monkeypatch):
    from concurrent.futures import BrokenExecutor

    from marslab import work

    def broken(tasks, jobs):
        yield tasks[0], ""
        yield tasks[1], "KeyError: 'x'"
        raise BrokenExecutor

    monkeypatch.setattr(work, "started", broken)
    seen, tasks = [], [("experiment", name, "quick") for name in "abcd"]
    problems = work.perform(tasks, 2, lambda name, problem: seen.append((name, problem)))
    assert seen == [("a", ""), ("b", "KeyError: 'x'")]
    assert problems == {"experiment b": "KeyError: 'x'", "experiment c": work.ENDED, "experiment d": work.ENDED}


def test_a_worker_outlives_its_parent_only_for_a_moment(tmp_path):
    """In a process of its own: the parent starts a worker that follows it, and is gone."""
    code = """
import os, sys, time
from marslab import interrupt
parent = os.getpid()
if os.fork() == 0:
    interrupt.follow(parent)
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(60)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
    time.sleep(0.01)
os.kill(parent, 9)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "pid")], timeout=60)
    pid, end = int((tmp_path / "pid").read_text()), time.monotonic() + 10
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(pid)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
