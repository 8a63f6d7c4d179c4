"""Where a result comes from: versions, commit, machine and time, without host names or paths."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess

from marslab.paths import ROOT

__all__ = ["PROVENANCE", "provenance", "torch_version", "version"]

# the attributes that the store gives to every dataset
PROVENANCE = (
    "schema",
    "key",
    "name",
    "configuration",
    "fingerprint",
    "versions",
    "commit",
    "dirty",
    "platform",
    "created",
    "duration",
)


def provenance() -> dict[str, str]:
    """Return versions (JSON), commit, dirty ('yes', 'no' or 'unknown'), platform and created (UTC, ISO)."""
    versions = {"python": platform.python_version()} | {n: version(n) for n in ("torch", "numpy", "xarray", "marslab")}
    commit, dirty = _commit()
    return {
        "versions": json.dumps(versions),
        "commit": commit,
        "dirty": dirty,
        "platform": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def version(package: str) -> str:
    """Return the version of an installed package without importing it; 'unknown' where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def torch_version() -> str:
    """Return torch's major.minor: its patch releases do not change a result's key."""
    return ".".join(version("torch").split("+")[0].split(".")[:2])


def _commit() -> tuple[str, str]:
    """Return (commit, 'yes' or 'no' for changes since), 'unknown' where there is no git or no checkout of our own."""
    top = _git("rev-parse", "--show-toplevel")
    if top is None or os.path.realpath(top) != str(ROOT):
        return "unknown", "unknown"
    changes = _git("status", "--porcelain")
    dirty = "unknown" if changes is None else "yes" if changes else "no"
    return _git("rev-parse", "HEAD") or "unknown", dirty


def _git(*arguments: str) -> str | None:
    # inside a git hook GIT_DIR would name another repository; the optional lock would disturb a commit under way
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, timeout=10, env=environment, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout).rstrip("\n")
