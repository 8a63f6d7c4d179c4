"""One step of training: the gradient of a whole batch from micro-batches, clipped, and the optimizer's step."""

import contextlib

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_, get_total_norm

from marslab.gpt2 import parallel
from marslab.gpt2.data import Corpus
from marslab.gpt2.methods import make_optimizer
from marslab.gpt2.model import GPT
from marslab.gpt2.schedule import factor
from marslab.gpt2.settings import Settings

__all__ = ["Trainer", "mean_loss"]

DTYPES = {"fp32": torch.float32, "bf16": torch.float32, "fp64": torch.float64}  # of the weights


class Trainer:
    """A model with its optimizer, between two steps.

    Step t of all processes together takes the micro-batches 0, 1, ... of the batch (seed, t); process r of n takes every n-th
    from r on. The mask of dropout is a function of (seed, t, micro-batch), so any number of processes draws the same ones,
    and the exact mode draws the same ones at both points. The gradient is the mean over the whole batch, clipped by its
    global norm; in the exact mode each of the two is clipped for itself, as in the released script.
    """

    def __init__(self, settings: Settings, corpus: Corpus, team: parallel.Team):
        parallel.check_split(settings.micro_batches, team)
        self.settings, self.corpus, self.team, self.step = settings, corpus, team, 0
        model = GPT(settings.shape, settings.seed).to(team.device, DTYPES[settings.precision])
        self.called, self.model = parallel.shared(model, settings.parallel, team)
        self.optimizer = make_optimizer(settings, self.model)
        self.peaks = [group["lr"] for group in self.optimizer.param_groups]
        if settings.compiled:
            self.called = torch.compile(self.called)
        self.loss = self.norm = None

    def advance(self) -> None:
        """One step; ``loss`` (of this process's part) and ``norm`` (before the clip) are those at the point it starts from."""
        self.model.train()
        self.step += 1
        for group, peak in zip(self.optimizer.param_groups, self.peaks, strict=True):
            group["lr"] = peak * factor(self.settings, self.step - 1)
        parts = self._parts()
        self.loss = self.optimizer.step(lambda: self._gradient(parts))

    def _parts(self) -> list:
        """(index, inputs, targets) of this process's micro-batches of the step."""
        s, found = self.settings, []
        for k in range(self.team.rank, s.micro_batches, self.team.size):
            rows = slice(k * s.micro_batch, (k + 1) * s.micro_batch)
            x, y = self.corpus.batch(s.seed, self.step, s.batch, rows)
            found.append((k, x.to(self.team.device), y.to(self.team.device)))
        return found

    def _gradient(self, parts: list) -> torch.Tensor:
        """Clear the gradients, add those of the parts, clip; the mean loss of this process's parts."""
        self.optimizer.zero_grad()
        mean = torch.zeros((), device=self.team.device, dtype=torch.float64 if self.team.device.type == "cpu" else None)
        for place, (k, x, y) in enumerate(parts, start=1):
            with (
                parallel.waiting(self.called, place < len(parts)),
                self._masks(k),
                autocast(self.settings.precision, self.team.device),
            ):
                loss = self.called(x, y) / len(parts)
                loss.backward()
            mean += loss.detach()
        self.norm = clip(list(self.model.parameters()), self.settings.clip)
        return mean

    @contextlib.contextmanager
    def _masks(self, k: int):
        """Inside, dropout draws the masks of micro-batch k of this step; no random state outside changes."""
        if not self.settings.dropout:
            yield
            return
        devices = [self.team.device] if self.team.device.type == "cuda" else []
        with torch.random.fork_rng(devices):
            torch.manual_seed(mask_seed(self.settings.seed, self.step, k))
            yield

    def state(self) -> dict:
        """Everything that the next step depends on; every process takes part and gets whole tensors."""
        return {
            "step": self.step,
            "settings": self.settings.as_dict(),
            "corpus": self.corpus.fingerprint(),
            "model": parallel.gathered(self.model.state_dict()),
            "optimizer": parallel.gathered(self.optimizer.state_dict()),
        }

    @torch.no_grad()
    def load(self, state: dict) -> None:
        """Go on from such a state, whatever number of processes it comes from."""
        for name, p in self.model.state_dict().items():
            p.copy_(parallel.spread(state["model"][name], p))
        found, params = state["optimizer"], [p for group in self.optimizer.param_groups for p in group["params"]]
        own = {i: parallel.spread(entry, params[i]) for i, entry in found["state"].items()}
        self.optimizer.load_state_dict({**found, "state": own})
        self.step = state["step"]


def mask_seed(seed: int, step: int, k: int) -> int:
    """The seed of the masks of a micro-batch."""
    return int(np.random.SeedSequence([seed, step, k, 1]).generate_state(1)[0])


def autocast(precision: str, device: torch.device):
    """The context of a forward pass."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


def clip(params: list, radius: float) -> torch.Tensor:
    """Clip the gradients to a global norm (0: do not); the norm before."""
    norm = clip_grad_norm_(params, radius) if radius else get_total_norm([p.grad for p in params])
    return norm.full_tensor() if hasattr(norm, "full_tensor") else norm


@torch.no_grad()
def mean_loss(model, corpus: Corpus, team: parallel.Team, sequences: int, batch: int, precision: str) -> float:
    """The loss in nats a token over at most ``sequences`` validation windows, ``batch`` at a time.

    Up to rounding it is the same for any number of processes.
    """
    begins = corpus.validation(sequences)
    chunks = [begins[k : k + batch] for k in range(0, len(begins), batch)]
    model.eval()
    summed = 0.0
    for k in range(0, len(chunks), team.size):  # sharded models need every process in every round
        mine = chunks[k + team.rank] if k + team.rank < len(chunks) else None
        x, y = corpus.validation_batch(chunks[0] if mine is None else mine)
        with autocast(precision, team.device):
            loss = model(x.to(team.device), y.to(team.device))
        summed += 0.0 if mine is None else loss.item() * len(mine)
    parallel.forget_whole_weights(model)
    return parallel.total([summed], team)[0] / len(begins)
