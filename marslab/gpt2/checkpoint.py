"""Checkpoints: one sealed file a step, whole or not there, loaded without running code; the last two are kept.

The file is torch's, followed by the seal of marslab's results (its length and the sha256 of every byte), so that a torn or
changed one is noticed before torch parses it.
"""

import hashlib
import pickle
import re
import zipfile
from pathlib import Path

import torch

from marslab.errors import StoreError, UsageError
from marslab.results import files
from marslab.results.container import MAGIC, SEAL_BYTES, Damaged, check_tail

__all__ = ["KEPT", "load", "newest", "save", "steps_in"]

KEPT, FORMAT, PIECE = 2, 1, 1 << 22
NAME = re.compile(r"step-(\d{9})\.pt")
REMEDY = "name a folder that you can write to with --folder"
KEYS = {"format", "step", "settings", "corpus", "model", "optimizer"}


class Sealing:
    """A file to write through, which hashes what passes."""

    def __init__(self, file):
        self.file, self.sha256, self.length = file, hashlib.sha256(), 0

    def write(self, blob) -> int:
        """Append bytes."""
        blob = memoryview(blob).cast("B")
        self.sha256.update(blob)
        self.length += len(blob)
        return self.file.write(blob)

    def flush(self) -> None:
        """As a file's."""
        self.file.flush()

    def finish(self) -> None:
        """Append the seal."""
        payload = self.length
        self.write(MAGIC + payload.to_bytes(8, "little"))
        self.file.write(self.sha256.digest())


def path_of(folder: Path, step: int) -> Path:
    """Where the checkpoint after a step lies."""
    return Path(folder) / f"step-{step:09}.pt"


def steps_in(folder: Path) -> list[int]:
    """The steps that have a checkpoint, the newest first."""
    found = (NAME.fullmatch(path.name) for path in Path(folder).glob("step-*.pt"))
    return sorted((int(match[1]) for match in found if match), reverse=True)


def save(folder: Path, content: dict) -> Path:
    """Write a checkpoint (keys: KEYS without format), then remove all but the last two.

    Raises:
        StoreError: it could not be written; earlier ones stay.
    """
    path = path_of(folder, content["step"])
    with files.open_new(path, REMEDY) as file:
        sealed = Sealing(file)
        try:
            torch.save({"format": FORMAT, **content}, sealed)
        except RuntimeError as problem:  # torch's writer says so when a disk is full
            raise StoreError(f"cannot write {path} ({problem}): free some space, or {REMEDY}") from problem
        sealed.finish()
    for step in steps_in(folder)[KEPT:]:
        path_of(folder, step).unlink(missing_ok=True)
    return path


def check(path: Path) -> None:
    """Raise Damaged unless every byte is as it was written."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - SEAL_BYTES))
            check_tail(file.read(), size)
            file.seek(0)
            if digest(file, size - 32) != file.read(32):
                raise Damaged("its checksum does not fit its content")
    except OSError as problem:
        raise Damaged(f"it cannot be read: {problem.strerror}") from problem


def digest(file, length: int) -> bytes:
    """The sha256 of the next bytes."""
    sha256 = hashlib.sha256()
    while length:
        piece = file.read(min(PIECE, length))
        if not piece:
            raise Damaged("it is truncated")
        sha256.update(piece)
        length -= len(piece)
    return sha256.digest()


def load(path: Path) -> dict:
    """A checkpoint, its tensors on the CPU.

    Raises:
        UsageError: it is missing, damaged, holds anything but tensors and plain values, or is no checkpoint of a run.
    """
    try:
        check(path)
        return parsed(path)
    except Damaged as problem:
        raise UsageError(f"{path} is no intact checkpoint: {problem}; name another, or train anew.") from problem


def parsed(path: Path) -> dict:
    """The content of a file whose seal is whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > path.stat().st_size:
                raise Damaged("it claims more data than it has")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile, ValueError) as problem:
        reason = (str(problem).strip().splitlines() or ["unreadable"])[0]
        raise Damaged(f"it holds more than tensors and plain values, or is no archive of torch ({reason[:80]})") from problem
    if not isinstance(content, dict) or set(content) != KEYS or content["format"] != FORMAT:
        raise Damaged("it is no checkpoint of a run of this version")
    return content


def newest(folder: Path) -> dict | None:
    """The content of the newest intact checkpoint, or None; damaged ones are set aside with a warning."""
    for step in steps_in(folder):
        path = path_of(folder, step)
        try:
            check(path)
            return parsed(path)
        except Damaged as problem:
            files.set_aside(path, str(problem), check)
    return None
