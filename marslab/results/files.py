"""Files that are either whole or not there: writing, reading, setting aside and sweeping in one folder.

A file is written under a temporary name that tells its process, synced, moved into place, and its folder synced. There are
no locks: two processes that make the same result each move a whole file into place, and the later one stays.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

from marslab.errors import StoreError
from marslab.results.container import SEAL_BYTES, Damaged, check_tail, unseal

__all__ = ["ResultWarning", "check_writable", "open_new", "read", "set_aside", "sweep", "write"]

REMEDY = "set MARSLAB_STORE to a folder that you can write to"
TEMPORARY = re.compile(r"\..*\.(\d+)-(\d+)\.([0-9a-f]+)\.tmp", re.DOTALL)
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_mine: set[str] = set()  # the temporary names that this process is writing now


class ResultWarning(UserWarning):
    """A stored file was damaged and has been set aside."""


def check_writable(folder: Path, remedy: str = REMEDY) -> None:
    """Make `folder` if need be and try to write in it.

    Raises:
        StoreError: it cannot be made or written; the message names it and the remedy.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _temporary(folder / "probe") as path:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as problem:
        raise StoreError(f"cannot write results into {folder} ({_reason(problem)}): {remedy}") from problem


def write(path: Path, blob: bytes, remedy: str = REMEDY) -> None:
    """Put `blob` under `path`, whole or not at all, and on the disk before this returns.

    Raises:
        StoreError: it could not be written; nothing new is left in the folder, what stood there before stays.
    """
    try:
        # a process in another container, which cannot see this one, may sweep the temporary file: write it again
        for _ in range(3):
            with contextlib.suppress(FileNotFoundError):
                return _write_once(path, blob)
        _write_once(path, blob)
    except OSError as problem:
        raise StoreError(_failure(path, len(blob), problem, remedy)) from problem


@contextlib.contextmanager
def open_new(path: Path, remedy: str = REMEDY):
    """Yield a file, open for reading and writing, that stands under `path` when the block ends, whole or not at all.

    Raises:
        StoreError: it could not be written; what stood there before stays.
    """
    try:
        with _temporary(path) as temporary:
            with open(temporary, "x+b") as file:
                yield file
                file.flush()
                _sync(file.fileno())
            os.replace(temporary, path)
        _sync_folder(path.parent)
    except StoreError:
        raise
    except OSError as problem:
        raise StoreError(_failure(path, None, problem, remedy)) from problem


def _write_once(path: Path, blob: bytes) -> None:
    with _temporary(path) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            _write_all(descriptor, blob)
            _sync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    _sync_folder(path.parent)


@contextlib.contextmanager
def _temporary(path: Path):
    """Yield a temporary name beside `path`, which no longer exists afterwards whatever happens but kill -9."""
    pid = os.getpid()
    temporary = path.with_name(f".{path.name}.{pid}-{_started(pid)}.{secrets.token_hex(4)}.tmp")
    _mine.add(temporary.name)
    try:
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
        _mine.discard(temporary.name)


def _write_all(descriptor: int, blob: bytes) -> None:
    rest = memoryview(blob)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync(descriptor: int) -> None:
    full = getattr(fcntl, "F_FULLFSYNC", None)  # on macOS fsync leaves the data in the drive's cache
    if full is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, full)
            return
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems refuse to sync a folder; the file itself is whole already
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _failure(path: Path, needed: int | None, problem: OSError, remedy: str) -> str:
    if problem.errno not in FULL:
        return f"cannot write {path} ({_reason(problem)}): {remedy}"
    try:
        free = f"{shutil.disk_usage(path.parent).free} bytes are free"
    except OSError:
        free = "the free space is unknown"
    wants = f"it needs {needed} bytes and " if needed is not None else ""
    return f"cannot write {path}: {wants}{free} ({_reason(problem)}); free some space, or {remedy}"


def _reason(problem: OSError) -> str:
    return problem.strerror or type(problem).__name__


def read(path: Path) -> bytes:
    """Return the payload of a sealed file.

    Raises:
        FileNotFoundError: nothing stands under that name.
        Damaged: what stands there is no intact result: a folder, a dangling link, a truncated or changed file.
    """
    if not os.path.lexists(path):
        raise FileNotFoundError(path)
    try:
        # without O_NONBLOCK a named pipe would wait for its writer forever
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            return unseal(_read_regular(file))
    except IsADirectoryError:
        raise Damaged("it is a folder") from None
    except FileNotFoundError:
        if os.path.lexists(path):
            raise Damaged("it is a link to nothing") from None
        raise
    except OSError as problem:
        raise Damaged(f"it cannot be read: {_reason(problem)}") from problem


def _read_regular(file) -> bytes:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise Damaged("it is a folder" if stat.S_ISDIR(status.st_mode) else "it is not a regular file")
    # the tail first: a huge foreign file is refused without reading it
    file.seek(max(0, status.st_size - SEAL_BYTES))
    check_tail(file.read(SEAL_BYTES), status.st_size)
    file.seek(0)
    return file.read()


def set_aside(path: Path, reason: str, judge: Callable[[Path], object]) -> None:
    """Rename what stands under `path` to `path`.corrupt (numbered when taken) and warn with the reason, one line.

    judge: reads the renamed file and raises Damaged if it is no intact result. If it is one, another process has
        replaced the damaged file in the meantime, and it goes back.
    """
    target = path.with_name(path.name + ".corrupt")
    number = 1
    while os.path.lexists(target):
        number += 1
        target = path.with_name(f"{path.name}.corrupt.{number}")
    try:
        os.rename(path, target)
    except FileNotFoundError:
        return  # another process was quicker
    except OSError as problem:
        warnings.warn(f"{path} is ignored: {reason}; it stays ({_reason(problem)})", ResultWarning, stacklevel=4)
        return
    if _put_back_if_intact(target, path, judge):
        return
    warnings.warn(f"{path} is set aside as {target.name} and made anew: {reason}", ResultWarning, stacklevel=4)


def _put_back_if_intact(target: Path, path: Path, judge: Callable[[Path], object]) -> bool:
    try:
        judge(target)
    except (Damaged, OSError):
        return False
    os.replace(target, path)
    return True


def sweep(folder: Path) -> None:
    """Remove the temporary files in `folder` whose process is gone."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            match = TEMPORARY.fullmatch(entry.name)
            if match and not _is_writing(entry.name, int(match[1]), match[2]):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _is_writing(name: str, pid: int, started: str) -> bool:
    if pid == os.getpid():
        return name in _mine
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return _started(pid) == started  # else the number was given to another process since


def _started(pid: int) -> str:
    """Return when a process started, in clock ticks since boot; '0' where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return "0"
