"""The store: every result under the hash of what made it, sealed, found again or computed, never half-written.

    key(configuration, modules)                      what a result is called
    compute(name, configuration, modules, function)  the stored result, or function()'s, stored
    load(key), find(key), save(key, data, name=...), remove(key), list_entries()
    publish(data, path), published(path, key)        committed results, found by name

A result is an `xarray.Dataset`, or a dictionary of them where several runs with different dimensions belong together.
The files are netCDF: any netCDF tool opens them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from marslab.canonical import canonical_text
from marslab.errors import StoreError, UsageError
from marslab.fingerprint import fingerprint
from marslab.paths import store
from marslab.results import files
from marslab.results.committed import provenance_of, publish, published
from marslab.results.container import SCHEMA, Damaged, Data, check_labels, decode, encode, seal
from marslab.results.files import ResultWarning
from marslab.results.origin import PROVENANCE, provenance, torch_version

__all__ = [
    "Damaged",
    "Entry",
    "Identity",
    "ResultWarning",
    "StoreError",
    "check_writable",
    "compute",
    "encode",
    "find",
    "identify",
    "key",
    "list_entries",
    "load",
    "publish",
    "published",
    "remove",
    "save",
    "seal",
]

FILE = re.compile(r"(?P<name>\w[\w.-]*)-(?P<key>[0-9a-f]{16})\.nc", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Identity:
    """What a result is made of: its key, its configuration as JSON text, and the digests of its code by module."""

    key: str
    configuration: str
    table: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One file of the store; `problem` says what is wrong with it, and is empty for an intact one."""

    name: str
    key: str
    path: Path
    bytes: int
    created: str = ""
    duration: float | None = None
    problem: str = ""


def identify(configuration: dict, modules: Iterable[object]) -> Identity:
    """Return the identity of the result that `configuration` gives with today's code (see `fingerprint`).

    Raises:
        UsageError: the configuration holds something without a stable text, or a source cannot be read.
    """
    text = canonical_text(configuration)
    digest, table = fingerprint(modules)
    parts = {"schema": SCHEMA, "torch": torch_version(), "configuration": text, "code": digest}
    return Identity(hashlib.sha256(canonical_text(parts).encode()).hexdigest(), text, table)


def key(configuration: dict, modules: Iterable[object]) -> str:
    """Return the key alone: 64 hexadecimal digits."""
    return identify(configuration, modules).key


def compute(name: str, configuration: dict, modules: Iterable[object], function: Callable[[], Data]) -> Data:
    """Return the stored result of this configuration and code, or that of `function()`, which is then stored.

    Raises:
        UsageError: a bad name, configuration or source, or a result that cannot be stored exactly.
        StoreError: the store cannot be written; it is refused before `function` is called.
    """
    check_name(name)
    identity = identify(configuration, modules)
    found = find(identity.key)
    if found is not None:
        return found
    check_writable()
    start = time.monotonic()
    data = function()
    duration = max(0.0, time.monotonic() - start)
    return save(identity.key, data, name=name, identity=identity, duration=duration)


def find(key: str) -> Data | None:
    """Return the stored result with this key, or None; a damaged file is set aside with a ResultWarning."""
    for path in _paths(key):
        try:
            return _open(path, key)[1]
        except FileNotFoundError:
            continue
        except Damaged as problem:
            files.set_aside(path, str(problem), lambda moved: _open(moved, key))
    return None


def load(key: str) -> Data:
    """Return the stored result with this key.

    Raises:
        StoreError: there is none (a damaged one is set aside first).
    """
    found = find(key)
    if found is None:
        raise StoreError(f"the store {store()} has no intact result with the key {key}: run its experiment")
    return found


def save(key: str, data: Data, *, name: str, identity: Identity | None = None, duration: float | None = None) -> Data:
    """Store `data` under `key`, replacing what stands there, and return it as it will be read back.

    identity, duration: recorded in the attributes; the duration is in seconds.

    Raises:
        UsageError: a bad name, or data that cannot be stored exactly.
        StoreError: it cannot be written; nothing new is left.
    """
    path = store() / file_name(check_name(name), key)
    attributes: dict[str, object] = {"schema": SCHEMA, "key": key, "name": name, **provenance()}
    if identity is not None:
        attributes |= {"configuration": identity.configuration, "fingerprint": json.dumps(identity.table)}
    if duration is not None:
        attributes["duration"] = float(duration)
    payload = encode(_without_provenance(data), attributes)
    check_writable()
    files.sweep(path.parent)
    if path.is_dir() and not path.is_symlink():
        files.set_aside(path, "it is a folder", lambda moved: _open(moved, key))
    files.write(path, seal(payload))
    return decode(payload)[1]


def remove(key: str) -> bool:
    """Remove the stored result with this key; return whether there was one."""
    paths = _paths(key)
    for path in paths:
        path.unlink(missing_ok=True)
    return bool(paths)


def list_entries() -> list[Entry]:
    """Return the store's results, sorted by name; damaged ones are listed with their problem and left in place."""
    return [_entry(path) for path in sorted(_files().values())]


def check_writable() -> None:
    """Raise a StoreError that names the remedy unless the store can be written; makes its folder."""
    files.check_writable(store())


def check_name(name: str) -> str:
    """Return `name` if it can begin a file's name."""
    if isinstance(name, str) and len(name) <= 100 and re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        return name
    raise UsageError(f"{name!r} cannot name a result: use up to 100 letters, digits, '_', '-' and '.'")


def file_name(name: str, key: str) -> str:
    """Return the name of a result's file in the store."""
    return f"{name}-{_short(key)}.nc"


def _short(key: str) -> str:
    if isinstance(key, str) and re.fullmatch(r"[0-9a-f]{16,64}", key):
        return key[:16]
    raise UsageError(f"{key!r} is no key: give the 64 hexadecimal digits of results.key")


def _files() -> dict[str, Path]:
    try:
        return {name: store() / name for name in sorted(os.listdir(store())) if FILE.fullmatch(name)}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        raise StoreError(f"cannot read the store {store()} ({problem.strerror}): {files.REMEDY}") from problem


def _paths(key: str) -> list[Path]:
    short = _short(key)
    return [path for name, path in _files().items() if FILE.fullmatch(name)["key"] == short]


def _open(path: Path, key: str) -> tuple[dict, Data]:
    """Read, verify and decode a stored file, whose key must begin with `key`."""
    attributes, data = decode(files.read(path))
    if not attributes["key"].startswith(key):
        raise Damaged("it belongs to another key")
    return attributes, data


def _entry(path: Path) -> Entry:
    match = FILE.fullmatch(path.name)
    size = path.lstat().st_size
    try:
        attributes = _open(path, match["key"])[0]
    except (Damaged, FileNotFoundError) as problem:
        return Entry(match["name"], match["key"], path, size, problem=str(problem))
    return Entry(match["name"], attributes["key"], path, size, attributes.get("created", ""), attributes.get("duration"))


def _without_provenance(data: Data) -> Data:
    """Return `data` without an earlier store's attributes; a run's own of the same name stay as run_NAME."""
    if not hasattr(data, "attrs"):
        return {label: _without_provenance(dataset) for label, dataset in check_labels(data).items()}
    old = provenance_of(data)
    kept = {name: value for name, value in data.attrs.items() if name not in old}
    copy = data.copy(deep=False)
    copy.attrs = {f"run_{name}" if name in PROVENANCE else name: value for name, value in kept.items()}
    return copy
