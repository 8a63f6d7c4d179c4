"""The loop: go on from the newest checkpoint, train, evaluate, log, and stop where the loss is no number."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from marslab.errors import UsageError
from marslab.gpt2 import checkpoint, parallel
from marslab.gpt2.data import Corpus
from marslab.gpt2.log import Log, Meter, peak_flops
from marslab.gpt2.model import flops_per_token
from marslab.gpt2.schedule import learning_rate
from marslab.gpt2.settings import Settings
from marslab.gpt2.step import Trainer, mean_loss
from marslab.results import files

__all__ = ["Outcome", "train"]

FREE = ("parallel", "compiled", "checkpoint_every")  # settings that a run may change when it goes on


@dataclass(frozen=True)
class Outcome:
    """How a run ended: "finished" or "diverged", after which step, with its last training and validation losses in nats."""

    state: str
    step: int
    loss: float
    validation_loss: float
    folder: Path


def train(settings: Settings, folder: Path, data: Path, *, say: Callable | None = None, device: str | None = None) -> Outcome:
    """Train in ``folder`` (log.jsonl, run.json, checkpoints) on the corpus prepared in ``data``; same call: go on.

    The folder's files are a function of the settings and the corpus, times left out, however often the run is interrupted (bit
    for bit on a CPU with the same number of threads). say: called with each logged record. Under torchrun all processes call
    this; the first one writes. A loss that is inf or NaN ends the run: the last line is marked ``diverged``, checkpoints
    stay, and calling again reports it.

    Raises:
        UsageError: the corpus does not fit, the folder holds a run with other settings, or another process is training there.
        StoreError: the folder cannot be written.
    """
    with parallel.joined(device) as team:
        corpus = Corpus(data, settings.shape.vocabulary, settings.context, settings.tokenizer)
        log = begin(settings, Path(folder), corpus) if team.leads else None
        try:
            return Loop(Trainer(settings, corpus, team), Path(folder), log, say).run()
        finally:
            if log:
                log.close()


def begin(settings: Settings, folder: Path, corpus: Corpus) -> Log:
    """Make the folder, or check that the run in it is this one; its log."""
    files.check_writable(folder, checkpoint.REMEDY)
    log, path = Log(folder / "log.jsonl"), folder / "run.json"
    files.sweep(folder)
    wanted = {"settings": settings.as_dict(), "corpus": corpus.fingerprint(), "torch": torch.__version__}
    if not path.exists():
        files.write(path, json.dumps(wanted, indent=1).encode(), checkpoint.REMEDY)
        return log
    there = json.loads(path.read_text())
    for kind in ("settings", "corpus"):
        for name, value in wanted[kind].items():
            if name not in FREE and there[kind].get(name) != value:
                log.close()
                raise UsageError(
                    f"{path} holds a run with {name} = {there[kind].get(name)!r}, not {value!r}; name another folder."
                )
    return log


class Loop:
    """A run from its newest checkpoint to its end."""

    def __init__(self, trainer: Trainer, folder: Path, log: Log | None, say: Callable | None):
        self.trainer, self.folder, self.log, self.say = trainer, folder, log, say
        self.settings, self.team = trainer.settings, trainer.team
        self.last = {"loss": math.nan, "validation_loss": math.nan}

    def run(self) -> Outcome:
        """Train to the end; the outcome."""
        if not self.resume():
            return self.outcome("diverged")
        while self.trainer.step < self.settings.steps:
            began = time.perf_counter()
            self.trainer.advance()
            loss = self.mean_loss() if self.due("log_every", "eval_every", "checkpoint_every") else None
            self.meter.count(time.perf_counter() - began)
            if loss is not None and not self.record(loss):
                return self.outcome("diverged")
            if self.due("checkpoint_every"):
                self.save()
        return self.outcome("finished")

    def due(self, *names: str) -> bool:
        """Whether this step is one of those at which one of the settings asks for something; the last one always is."""
        step = self.trainer.step
        return step == self.settings.steps or any(step % getattr(self.settings, name) == 0 for name in names)

    def resume(self) -> bool:
        """Load the newest checkpoint, cut the log behind it; False if the run has diverged before."""
        found, kept = None, []
        if self.team.leads:
            found = checkpoint.newest(self.folder)
            kept = self.log.keep(self.settings.steps)
            if not (kept and kept[-1].get("diverged")):
                kept = self.log.keep(found["step"] if found else 0)
        kept, step = self.team.agree((kept, found["step"] if found else 0))
        if step:
            self.trainer.load(found or checkpoint.load(checkpoint.path_of(self.folder, step)))
        for record in kept:
            self.last.update({name: record[name] for name in self.last if record.get(name) is not None})
        self.meter = self.new_meter(kept[-1]["seconds"] if kept else 0.0)
        return not (kept and kept[-1].get("diverged"))

    def new_meter(self, elapsed: float) -> Meter:
        """A meter that starts at the seconds of the log."""
        s = self.settings
        flops = flops_per_token(s.shape) * s.tokens_per_step * s.gradients_per_step
        peak = peak_flops(self.team.device, s.precision) * self.team.size if self.team.leads else 0.0
        return Meter(s.steps, s.tokens_per_step, flops, peak, elapsed)

    def mean_loss(self) -> float:
        """The loss of the whole batch; waits for the device."""
        return parallel.total([float(self.trainer.loss)], self.team)[0] / self.team.size

    def record(self, loss: float) -> bool:
        """Log this step, evaluated where it is due; False if the loss is no number."""
        trainer, step = self.trainer, self.trainer.step
        known = {"step": step, "tokens": step * self.settings.tokens_per_step, "lr": learning_rate(self.settings, step - 1)}
        if not math.isfinite(loss):
            self.write({**known, "loss": None, "norm": None, "diverged": True})
            self.last["loss"] = math.inf
            return False
        known |= {"loss": loss, "norm": float(trainer.norm)}
        if self.due("eval_every"):
            known["validation_loss"] = self.validation_loss()
        self.last.update({name: known[name] for name in self.last if name in known})
        self.write(known)
        return True

    def validation_loss(self) -> float:
        """The loss over the fixed validation set."""
        s = self.settings
        return mean_loss(self.trainer.called, self.trainer.corpus, self.team, s.eval_sequences, s.micro_batch, s.precision)

    def write(self, record: dict) -> None:
        """One line of the log with its times."""
        if self.team.leads:
            record = record | self.meter.read(self.trainer.step)
            self.log.write(record)
            if self.say:
                self.say(record)

    def save(self) -> None:
        """A checkpoint; the log's lines up to here are on the disk before it is."""
        state = self.trainer.state()
        if self.team.leads:
            self.log.sync()
            checkpoint.save(self.folder, state)

    def outcome(self, state: str) -> Outcome:
        """How it ended."""
        return Outcome(state, self.trainer.step, self.last["loss"], self.last["validation_loss"], self.folder)
