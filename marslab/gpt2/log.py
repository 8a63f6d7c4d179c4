"""The log of a run: one JSON object a line, and the meter behind its times."""

import fcntl
import json
import os
import time
from pathlib import Path

import torch

from marslab.errors import StoreError, UsageError

__all__ = ["TIMES", "Log", "Meter", "peak_flops", "read_log"]

TIMES = ("seconds", "tokens_per_second", "utilisation", "remaining")  # fields that two equal runs do not share
# dense peaks of GPUs in FLOP/s for bf16, as their makers state them; the first name that occurs in the device's counts
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "A10": 125e12, "V100": 125e12, "T4": 65e12}


class Log:
    """Append-only; held by one process at a time. ``keep(step)`` cuts off what comes after a step."""

    def __init__(self, path: Path):
        try:
            self.file = open(path, "a+b")  # noqa: SIM115  closed by close()
        except OSError as problem:
            raise StoreError(f"cannot write {path} ({problem.strerror}): name another folder with --folder") from problem
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            self.file.close()
            raise UsageError(f"another process is training in {path.parent}; wait for it, or name another folder.") from problem
        self.path = path

    def keep(self, step: int) -> list[dict]:
        """Keep the whole lines up to a step, cut off the rest; returns what is kept."""
        kept, length = [], 0
        self.file.seek(0)
        for line in self.file:
            record = parsed(line)
            if record is None or record["step"] > step:
                break
            kept.append(record)
            length += len(line)
        self.file.truncate(length)
        return kept

    def write(self, record: dict) -> None:
        """One line, in one piece."""
        self.file.seek(0, os.SEEK_END)
        self.file.write(json.dumps(record).encode() + b"\n")
        self.file.flush()

    def sync(self) -> None:
        """The lines are on the disk when this returns."""
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()


def parsed(line: bytes) -> dict | None:
    """A line's object; None if it is torn."""
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("step"), int) else None


def read_log(path: Path) -> list[dict]:
    """The lines of a log; a torn last one is left out.

    Raises:
        UsageError: there is no log, or nothing in it.
    """
    try:
        lines = Path(path).read_bytes().splitlines(keepends=True)
    except OSError as problem:
        raise UsageError(f"there is no log {path} ({problem.strerror}): train a run first.") from problem
    found = [record for record in map(parsed, lines) if record is not None]
    if not found:
        raise UsageError(f"{path} holds no line of a log: train a run first.")
    return found


def peak_flops(device: torch.device, precision: str) -> float:
    """FLOP/s that the device could do: its maker's figure for a GPU (a quarter for fp32), measured on a CPU; 0 if unknown."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        peak = next((value for part, value in PEAKS.items() if part in name), 0.0)
        return peak if precision == "bf16" else peak / 4
    matrix, times = torch.ones(512, 512, dtype=torch.float64 if precision == "fp64" else torch.float32), []
    for _ in range(6):
        began = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - began)
    return 2 * 512**3 / min(times)


class Meter:
    """Tokens a second, model-FLOP utilisation and remaining time.

    utilisation: FLOPs of the model (``flops_per_token``, once for each gradient of a step) over what all devices could do;
    recomputed or wasted work does not count. Times of evaluations and checkpoints count in ``seconds`` and ``remaining`` alone.
    """

    def __init__(self, steps: int, tokens_per_step: int, flops_per_step: float, peak: float, elapsed: float):
        self.steps, self.tokens, self.flops, self.peak = steps, tokens_per_step, flops_per_step, peak
        self.elapsed, self.began, self.busy, self.done, self.total = elapsed, time.perf_counter(), 0.0, 0, 0

    def count(self, seconds: float) -> None:
        """A step took so long."""
        self.busy, self.done, self.total = self.busy + seconds, self.done + 1, self.total + 1

    def read(self, step: int) -> dict[str, float]:
        """The TIMES at a step, over the steps since the last reading."""
        here, each = time.perf_counter() - self.began, self.busy / max(self.done, 1)
        rate = 1 / each if each else 0.0
        self.busy, self.done = 0.0, 0
        return {
            "seconds": round(self.elapsed + here, 3),
            "tokens_per_second": round(rate * self.tokens, 1),
            "utilisation": round(rate * self.flops / self.peak, 4) if self.peak else 0.0,
            "remaining": round((self.steps - step) * here / max(self.total, 1), 1),
        }
