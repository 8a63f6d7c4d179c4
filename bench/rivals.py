"""The rivals' environment, `.bench-venv`: made on first use from the pins, so that no rival enters the project's own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".bench-venv"
RIVALS = ["pytorch-optimizer==4.1.0"]  # without its dependencies: they are not needed for one optimizer
NEEDS = ["torch", "numpy"]  # in the versions of constraints.txt, as the project has them


def commands(python):
    """What makes the environment, in order."""
    pip = [python, "-m", "pip", "install", "-q", "-q"]
    return [
        [sys.executable, "-m", "venv", "--clear", ENVIRONMENT],
        [*pip, "-c", ROOT / "constraints.txt", *NEEDS],
        [*pip, "--no-deps", *RIVALS],
    ]


def environment():
    """The rivals' Python; None, with the reason said, where the environment cannot be made.

    `complete` is written last and names what was installed: an interrupted install and a changed pin are noticed.
    """
    python, stamp = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "complete"
    wanted = "\n".join([sys.version, (ROOT / "constraints.txt").read_text("utf-8"), *RIVALS])
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return python
    print(f"Making {ENVIRONMENT.name} for the rivals (once, up to 1 GB) ...", flush=True)
    for command in commands(python):
        if subprocess.run([str(part) for part in command], cwd=ROOT).returncode:
            print("The rivals' environment could not be made (the message is above): the rest runs without them.", flush=True)
            return None
    stamp.write_text(wanted, "utf-8")
    return python
