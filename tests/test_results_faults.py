"""What befalls files: kills, full disks, read-only folders, truncation, flips, odd names, wrong clocks, two writers."""

import datetime
import errno
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from marslab import paths, results
from marslab.errors import StoreError
from marslab.results import ResultWarning, files, origin

MODULES = ["marslab.pieces"]
ENOSPC = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def sample(number=0, steps=50):
    values = np.random.default_rng(number).normal(size=(4, steps))
    return xr.Dataset({"grad_norm": (("seed", "step"), values)}, coords={"step": np.arange(steps), "seed": np.arange(4)})


def compute(number=0, function=None):
    return results.compute(f"e{number}", {"number": number}, MODULES, function or (lambda: sample(number)))


def forbidden():
    raise AssertionError("this must not be computed")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MARSLAB_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


@pytest.fixture
def file(store):
    """The file of an intact stored result."""
    compute()
    (path,) = store.glob("*.nc")
    return path


def assert_is(found, number=0):
    assert found.grad_norm.values.tobytes() == sample(number).grad_norm.values.tobytes()


def assert_recovers(file, reason):
    """Whatever stands under the file's name is named, set aside, made anew with the same numbers, and found again."""
    start = time.monotonic()
    with pytest.warns(ResultWarning, match=reason) as caught:
        found = compute()
    assert time.monotonic() - start < 10
    assert len(caught) == 1 and str(file) in str(caught[0].message) and "\n" not in str(caught[0].message)
    assert_is(found)
    assert_is(compute(function=forbidden))


# F8: what stands under the name of a result


LENGTHS = [0, 1, 8, 31, 32, 47, 48, 49, 512, *(("part", i / 10) for i in range(1, 10)), *range(-1, -49, -6), -48, -49, -200]


@pytest.mark.parametrize("length", LENGTHS, ids=str)
def test_truncated(file, length):
    content = file.read_bytes()
    kept = content[: int(length[1] * len(content))] if isinstance(length, tuple) else content[:length]
    file.write_bytes(kept)
    assert_recovers(file, r"truncated|is empty")
    assert file.with_name(file.name + ".corrupt").read_bytes() == kept


def test_every_flipped_bit_is_seen(file):
    content = file.read_bytes()
    chosen = random.Random(0)
    places = [chosen.randrange(8 * len(content)) for _ in range(150)]
    places += [8 * len(content) - 1 - i for i in range(0, 8 * 48, 8)] + [0, 1]
    for place in places:
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        file.write_bytes(changed)
        with pytest.raises(results.Damaged):
            files.read(file)
    file.write_bytes(content)
    assert_is(compute(function=forbidden))


def test_a_flipped_bit_is_set_aside(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    assert_recovers(file, "its checksum does not fit")


def test_zeroed_and_exchanged_pages_are_seen(file):
    content = file.read_bytes()
    for changed in (
        content[:512] + bytes(512) + content[1024:],
        content[512:1024] + content[:512] + content[1024:],
        content + b"\0",
        content + content,
        bytes(len(content)),
        b"\0" + content,
    ):
        file.write_bytes(changed)
        with pytest.raises(results.Damaged):
            files.read(file)


def test_a_folder(file):
    file.unlink()
    file.mkdir()
    (file / "inside").write_text("kept")
    assert_recovers(file, "it is a folder")
    assert (file.with_name(file.name + ".corrupt") / "inside").read_text() == "kept"


def test_a_dangling_link(file, tmp_path):
    file.unlink()
    file.symlink_to(tmp_path / "nowhere")
    assert_recovers(file, "a link to nothing")
    assert not (tmp_path / "nowhere").exists() and not file.is_symlink()


def test_a_link_to_itself(file):
    file.unlink()
    file.symlink_to(file)
    assert_recovers(file, "cannot be read")


def test_a_link_to_an_intact_file_is_read(file, tmp_path):
    file.rename(tmp_path / "elsewhere.nc")
    file.symlink_to(tmp_path / "elsewhere.nc")
    assert_is(compute(function=forbidden))


def test_a_named_pipe_does_not_hang(file):
    file.unlink()
    os.mkfifo(file)
    assert_recovers(file, "not a regular file")


def test_an_endless_device_does_not_hang(file):
    file.unlink()
    file.symlink_to("/dev/zero")
    assert_recovers(file, "not a regular file")


def test_a_huge_foreign_file_is_refused_without_reading_it(file):
    with open(file, "wb") as opened:
        opened.truncate(2**38)
    assert_recovers(file, "not written by marslab")


def test_a_foreign_netcdf_file(file):
    file.unlink()
    sample(3).to_netcdf(file, engine="h5netcdf")
    assert_recovers(file, "not written by marslab")


def test_a_result_under_another_name(file, store):
    compute(1)
    (other,) = store.glob("e1-*.nc")
    shutil.copy(other, file)
    assert_recovers(file, "belongs to another key")


def test_a_sealed_file_that_is_no_result(file):
    file.write_bytes(results.seal(b"hello"))
    assert_recovers(file, "content cannot be read")


def test_another_schema(file):
    identity = results.identify({"number": 0}, MODULES)
    attributes = {"schema": 99, "key": identity.key, "name": "e0"}
    file.write_bytes(results.seal(results.encode(sample(), attributes)))
    assert_recovers(file, "schema 99, this marslab reads 1")


def test_a_shape_other_than_recorded(file):
    identity = results.identify({"number": 0}, MODULES)
    attributes = {"schema": 1, "key": identity.key, "name": "e0"}
    wrong = files.unseal(results.seal(results.encode(sample(), attributes)))
    wrong = wrong.replace(b'"seed": 4', b'"seed": 3')
    file.write_bytes(results.seal(wrong))
    assert_recovers(file, "not the shape recorded")


def test_damaged_files_are_numbered_when_set_aside(file):
    for number in range(1, 4):
        file.write_bytes(b"%d" % number)
        assert_recovers(file, "not written by marslab")
    aside = sorted(path.name.removeprefix(file.name) for path in file.parent.glob("*corrupt*"))
    assert aside == [".corrupt", ".corrupt.2", ".corrupt.3"]
    assert len(results.list_entries()) == 1


def test_a_file_replaced_while_it_was_judged_is_put_back(file):
    # another process has put the intact file there after this one read a damaged one
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files.set_aside(file, "what it was before", files.read)
    assert_is(compute(function=forbidden))
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_that_vanished_while_it_was_judged(file):
    file.unlink()
    files.set_aside(file, "what it was before", files.read)
    assert_is(compute())


# F5: a full disk


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "open"])
def test_a_full_disk(file, store, monkeypatch, call):
    real, calls = getattr(os, call), []

    def full(*arguments, **options):
        is_probe = call == "open" and "probe" in str(arguments[0])
        if is_probe or (call == "open" and not arguments[1] & os.O_CREAT):
            return real(*arguments, **options)
        calls.append(arguments)
        if call == "write" and len(calls) == 1:
            return real(arguments[0], arguments[1][:1000])
        raise ENOSPC

    before = {path.name: path.read_bytes() for path in store.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(StoreError, match=r"cannot write .*e1-\w+\.nc: it needs \d+ bytes and \d+ bytes are free") as caught:
            compute(1)
    assert str(store) in str(caught.value) and "MARSLAB_STORE" in str(caught.value) and "\n" not in str(caught.value)
    assert {path.name: path.read_bytes() for path in store.iterdir()} == before
    assert_is(compute(function=forbidden))
    assert_is(compute(1), 1)


def test_a_full_disk_leaves_the_earlier_result_under_the_same_name(file, monkeypatch):
    content = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(ENOSPC))
        with pytest.raises(StoreError):
            results.save(results.key({"number": 0}, MODULES), sample(5), name="e0")
    assert file.read_bytes() == content


def test_short_writes_are_completed(store, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:777]))
    compute()
    assert_is(compute(function=forbidden))


def test_an_interrupt_leaves_nothing(store, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            compute()
    assert list(store.iterdir()) == []
    assert_is(compute())


def mount(*arguments):
    """Mount, or skip the test where that is not allowed; return the folder."""
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("mounting needs root")
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")


def unmount(folder):
    subprocess.run(["umount", str(folder)], check=True)


def test_a_store_on_a_disk_that_is_full(store):
    store.mkdir()
    mount("-t", "tmpfs", "-o", "size=256k", "none", store)
    try:
        compute()
        with pytest.raises(StoreError, match="free some space") as caught:
            compute(1, lambda: sample(1, steps=20_000))
        assert str(store) in str(caught.value)
        assert [path.suffix for path in store.iterdir()] == [".nc"]
        assert_is(compute(function=forbidden))
        assert_is(compute(1), 1)
    finally:
        unmount(store)


# F7: no permission


def assert_refused_before_computing(store):
    with pytest.raises(StoreError, match="MARSLAB_STORE") as caught:
        compute(1, forbidden)
    assert str(store) in str(caught.value) and "\n" not in str(caught.value)


def test_a_store_below_a_regular_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("kept")
    for place in (tmp_path / "file", tmp_path / "file" / "deep" / "store"):
        monkeypatch.setenv("MARSLAB_STORE", str(place))
        assert_refused_before_computing(place)
        assert results.list_entries() == []
    assert (tmp_path / "file").read_text() == "kept" and len(list(tmp_path.iterdir())) == 1


def test_a_store_that_may_not_be_written(file, store, monkeypatch):
    real = os.open

    def refuse(path, flags, *rest):
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    assert_is(compute(function=forbidden))
    assert_refused_before_computing(store)


def test_a_read_only_mount(file, store):
    mount("--bind", store, store)
    try:
        mount("-o", "remount,ro,bind", store)
        assert_is(compute(function=forbidden))
        assert_refused_before_computing(store)
    finally:
        unmount(store)
    assert_is(compute(1), 1)


def test_a_damaged_file_in_a_read_only_store_is_named(file, store, monkeypatch):
    file.write_bytes(b"x")
    monkeypatch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError(errno.EROFS, "Read-only file system")))
    with pytest.warns(ResultWarning, match="it stays"):
        assert results.find(results.key({"number": 0}, MODULES)) is None


# F1 and F3: kills and two processes

WORKER = """
import sys, time
import numpy as np, xarray as xr
from marslab import results
sys.path.insert(0, {tests!r})
from test_results_faults import compute
print("ready", flush=True)
for number in range(6):
    compute(number)
print("done", flush=True)
"""


def start(store):
    environment = os.environ | {"MARSLAB_STORE": str(store)}
    code = WORKER.format(tests=str(Path(__file__).parent))
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)


def kill_and_continue(store, times, seed):
    """Kill -9 a run of six experiments `times` times at random moments, then let it finish; return the stray files seen."""
    chosen, strays = random.Random(seed), []
    for _ in range(times):
        process = start(store)
        process.stdout.readline()
        time.sleep(chosen.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left = list(store.glob(".*.tmp"))
        strays.append(len(left))
        for path in store.glob("*.nc"):
            files.read(path)
    process = start(store)
    assert process.communicate()[0].endswith("done\n") and process.returncode == 0
    return strays


def check_killed(store, times):
    strays = kill_and_continue(store, times, seed=1)
    assert all(after - before <= 1 for before, after in itertools.pairwise([0, *strays]))  # the next save sweeps
    for number in range(6):
        assert_is(compute(number, forbidden), number)
    results.save("f" * 64, sample(), name="last")
    assert {path.suffix for path in store.iterdir()} == {".nc"} and len(list(store.iterdir())) == 7


def test_killed_while_writing(store):
    check_killed(store, 4)


@pytest.mark.slow
def test_killed_while_writing_often(store):
    check_killed(store, 40)


def test_every_moment_of_a_write_can_be_the_last(file, store):
    """Kill -9 exactly before each system call of a write: what is found is the old file or the new one, whole."""
    for number, call in enumerate(("open", "write", "fsync", "replace"), 1):
        code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_results_faults import results, sample
results.save("e" * 64, sample(), name="warm")
real = os.{call}
def last(*arguments, **options):
    if "{call}" != "open" or "e0-" in str(arguments[0]):
        if "{call}" == "write":
            real(arguments[0], arguments[1][:1000])
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **options)
os.{call} = last
results.save({results.key({"number": 0}, MODULES)!r}, sample(), name="e0")
"""
        done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"MARSLAB_STORE": str(store)})
        assert done.returncode == -signal.SIGKILL
        assert_is(compute(function=forbidden))
        assert len(list(store.glob(".*.tmp"))) == (0 if call == "open" else 1)
        compute(number)
        assert not list(store.glob(".*.tmp"))


def check_two_processes(folder, times):
    for number in range(times):
        store = folder / f"store{number}"
        processes = [start(store) for _ in range(2)]
        outputs = [process.communicate()[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0] and outputs == ["ready\ndone\n"] * 2
        assert {path.suffix for path in store.iterdir()} == {".nc"} and len(list(store.iterdir())) == 6
    return store


def test_two_processes_make_the_same_results(tmp_path, monkeypatch):
    monkeypatch.setenv("MARSLAB_STORE", str(check_two_processes(tmp_path, 3)))
    for number in range(6):
        assert_is(compute(number, forbidden), number)


@pytest.mark.slow
def test_two_processes_make_the_same_results_often(tmp_path):
    check_two_processes(tmp_path, 20)


def test_a_reader_meets_no_half_file_while_another_writes(file, store):
    process = subprocess.Popen(
        [sys.executable, "-c", f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_results_faults import results, sample
print("ready", flush=True)
while True:
    results.save({results.key({"number": 0}, MODULES)!r}, sample(), name="e0")
"""],
        env=os.environ | {"MARSLAB_STORE": str(store)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        process.stdout.readline()
        end = time.monotonic() + 1
        while time.monotonic() < end:
            assert_is(compute(function=forbidden))
    finally:
        process.kill()
        process.communicate()


# stray temporary files


def stray(store, pid, started="1"):
    path = store / f".e0-0123456789abcdef.nc.{pid}-{started}.0a1b2c3d.tmp"
    path.write_bytes(b"half")
    return path


def test_strays_of_dead_processes_are_swept(file, store):
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    mine = stray(store, os.getpid(), files._started(os.getpid()))
    dead, reused = stray(store, done.pid), stray(store, os.getppid(), "7")
    living = stray(store, os.getppid(), files._started(os.getppid()))
    other = store / ".unrelated.tmp"
    other.write_text("kept")
    compute(1)
    assert not dead.exists() and not mine.exists() and living.exists() and other.exists()
    assert not reused.exists() or files._started(os.getppid()) == "0"


def test_a_temporary_file_swept_by_a_stranger_is_written_again(store, monkeypatch):
    real, calls = os.replace, []

    def swept(temporary, path):
        calls.append(temporary)
        if len(calls) < 3:
            os.unlink(temporary)
        return real(temporary, path)

    monkeypatch.setattr(os, "replace", swept)
    compute()
    assert len(calls) == 3
    assert_is(compute(function=forbidden))


# F20: odd paths

ODD = {
    "blank": "a b",
    "umlaut": "größe",
    "cjk": "実験 结果",
    "apostrophe": "it's",
    "hash": "a#b",
    "percent": "50%20",
    "long": "x" * 200,
    "brackets": "[a]*?{b}",
    "quotes": '"q"',
    "dollar": "$HOME",
    "newline": "a\nb",
    "backslash": "a\\b",
}


@pytest.mark.parametrize("name", ODD)
def test_a_store_with_an_odd_name(tmp_path, monkeypatch, name):
    place = tmp_path / ODD[name] / "store"
    monkeypatch.setenv("MARSLAB_STORE", str(place))
    assert_is(compute())
    assert_is(compute(function=forbidden))
    (entry,) = results.list_entries()
    assert entry.path.parent == place and entry.problem == ""
    published = results.publish(compute(function=forbidden), tmp_path / ODD[name] / "p.nc")
    assert results.published(published, entry.key)[1] == ""
    with xr.open_dataset(entry.path, engine="h5netcdf") as opened:
        assert_is(opened)


KEY = "from marslab import results, paths; print(results.key({'a': 1}, ['marslab.pieces', paths.EXPERIMENTS / 'e.py']))"


def test_a_checkout_anywhere_and_through_a_link_gives_the_same_keys(tmp_path):
    keys = set()
    for name in ("plain", ODD["cjk"], ODD["percent"] + ODD["apostrophe"] + ODD["hash"]):
        checkout = tmp_path / name
        (checkout / "experiments").mkdir(parents=True)
        (checkout / "experiments" / "e.py").write_text("steps = 3")
        shutil.copy(paths.ROOT / "pyproject.toml", checkout)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(paths.PACKAGE, checkout / "marslab", ignore=ignored)
        (tmp_path / f"link {name}").symlink_to(checkout)
        for place in (checkout, tmp_path / f"link {name}"):
            options = {"cwd": place, "env": os.environ | {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}}
            keys.add(subprocess.run([sys.executable, "-c", KEY], capture_output=True, check=True, **options).stdout)
    assert len(keys) == 1 and len(keys.pop().strip()) == 64


# F23: the clock


@pytest.mark.parametrize("year", [1980, 2100])
def test_a_wrong_clock_recomputes_nothing(file, monkeypatch, year):
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, zone=None):
            return cls(year, 1, 1, tzinfo=zone)

    monkeypatch.setattr(origin.datetime, "datetime", Clock)
    monkeypatch.setattr(time, "time", lambda: datetime.datetime(year, 1, 1).timestamp())
    assert_is(compute(function=forbidden))
    assert compute(1).attrs["created"] == f"{year}-01-01T00:00:00+00:00"
    for moment in (0, 2**31, 2**33):
        os.utime(file, (moment, moment))
        assert_is(compute(function=forbidden))


def test_a_clock_that_runs_backwards(store, monkeypatch):
    ticks = iter(range(1000, 0, -1))
    monkeypatch.setattr(time, "time", lambda: next(ticks))
    assert compute().attrs["duration"] >= 0
    backwards = iter(range(1000, 0, -1))
    monkeypatch.setattr(time, "monotonic", lambda: next(backwards))
    assert compute(1).attrs["duration"] == 0
