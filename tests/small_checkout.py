"""A copy of the checkout with six experiments, two claims and one figure that take seconds: for faults of whole runs."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
NAMES = ("one", "two", "three", "four", "five", "six")
EXPERIMENT = '''
    """Experiment {name}."""
    from marslab.experiment import Experiment, simulate
    from marslab.noise import additive
    from marslab.problems import quadratic

    experiment = Experiment(
        title="{name}", question="How does {name} fall?",
        runs={{"run": simulate("mars", problem=quadratic(spectrum=(1.0, {curvature})), noise=additive(sigma=1.0),
                               lr=0.1, steps={steps}, seeds=8, record=20, keep=("grad_norm",))}},
    )
    '''
CLAIM = '''
    """The gradient norm of experiment one ends below ten.

    Derived by looking at <tags> & T^(-1/4).
    """
    from marslab.claims.base import Claim, Finding
    from marslab.verdicts import Measurement

    def measure(data):
        """Mean over seeds at the end."""
        return Finding(Measurement.of(data["one"]["run"].grad_norm.values[:, -1]), steps={steps}, evaluations={steps})

    small = Claim(name="small", statement="One ends below ten.", source="this test", kind="Monte Carlo", unit="norm",
                  margin=10.0, predict=lambda: 0.0, measure=measure, experiments=("one",))
    '''
FIGURE = '''
    import matplotlib.pyplot as plt

    def make(data):
        """Gradient norm of experiment one."""
        figure, ax = plt.subplots(figsize=(3, 2))
        ax.loglog(data["run"].step, data["run"].grad_norm.mean("seed"))
        ax.set(xlabel="step t", ylabel="gradient norm")
        return figure
    '''
KEPT = ("__init__", "base", "_curves", "_symbols", "_digits", "stated_schedule")  # of the real claims


def write(path: Path, text: str, **values) -> None:
    path.write_text(textwrap.dedent(text.format(**values) if values else text).lstrip(), encoding="utf-8")


def make(folder: Path, steps: int = 1_000) -> Path:
    """Make the copy in ``folder`` (its name may be odd) and return it."""
    ignore = shutil.ignore_patterns("__pycache__", "published")
    shutil.copytree(HOME / "marslab", folder / "marslab", ignore=ignore)
    shutil.copy(HOME / "pyproject.toml", folder)
    for path in (folder / "marslab" / "claims").glob("*.py"):
        if path.stem not in KEPT:
            path.unlink()
    for room in ("experiments", "figures"):
        (folder / room).mkdir()
    for number, name in enumerate(NAMES, 1):
        write(folder / "experiments" / f"{name}.py", EXPERIMENT, name=name, curvature=number / 7, steps=steps)
    write(folder / "marslab" / "claims" / "small.py", CLAIM, steps=steps)
    write(folder / "figures" / "one.py", FIGURE)
    return folder


def environment(folder: Path, store: Path | None = None, **more: str) -> dict[str, str]:
    """The surroundings of a command in the copy: its own package, its own store, one thread."""
    kept = {name: value for name, value in os.environ.items() if name not in ("MARSLAB_STORE", "PYTHONPATH")}
    own = {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "", "MPLBACKEND": "agg"}
    return kept | own | ({"MARSLAB_STORE": str(store)} if store is not None else {}) | more


def start(folder: Path, *arguments: str, store: Path | None = None, **more: str) -> subprocess.Popen:
    """Start a command of the copy in a process group of its own; it hears Ctrl-C also where the tests do not."""
    return subprocess.Popen(
        [sys.executable, "-m", "marslab", *arguments],
        cwd=folder,
        env=environment(folder, store, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run(folder: Path, *arguments: str, store: Path | None = None, timeout: float = 120, **more: str):
    """Run a command of the copy to its end: (exit status, stdout, stderr)."""
    process = start(folder, *arguments, store=store, **more)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, err
