"""The loss of a trained or exported model on the fixed validation set of a prepared corpus."""

import math
from pathlib import Path

import torch

from marslab.errors import UsageError
from marslab.gpt2 import checkpoint, parallel
from marslab.gpt2.data import Corpus
from marslab.gpt2.exported import load_exported
from marslab.gpt2.model import GPT
from marslab.gpt2.settings import Settings, read_settings
from marslab.gpt2.step import DTYPES, mean_loss

__all__ = ["evaluate", "load_model", "measure"]


def load_model(source: Path) -> tuple[GPT, Settings | None]:
    """A model from a run's folder (its newest intact checkpoint), a checkpoint or an exported folder; its run's settings.

    Raises:
        UsageError: there is none of these.
    """
    source = Path(source)
    if (source / "config.json").exists():
        return load_exported(source), None
    content = checkpoint.load(source) if source.is_file() else checkpoint.newest(source)
    if content is None:
        raise UsageError(f"{source} holds no checkpoint and no exported model; train there first, or name another folder.")
    settings = read_settings(content["settings"])
    model = GPT(settings.shape).to(DTYPES[settings.precision])
    model.load_state_dict(content["model"])
    return model, settings


def evaluate(source: Path, data: Path, **options) -> dict[str, float]:
    """The ``measure`` of a run, a checkpoint or an exported model on the corpus prepared in ``data``.

    Raises:
        UsageError: there is no model, or the corpus does not fit it.
    """
    return measure(*load_model(source), data, **options)


def measure(
    model: GPT, settings: Settings | None, data: Path, *, sequences: int = 10**9, batch: int = 16, device: str | None = None
) -> dict[str, float]:
    """Loss in nats a token, perplexity and bits a token over at most ``sequences`` windows, with their number of tokens.

    The windows are as long as the run's sequences, or the context of a model without a run.
    """
    length, how, precision = model.shape.context, None, "fp32"
    if settings:
        length, how, precision = settings.context, settings.tokenizer, settings.precision
    with parallel.joined(device) as team, torch.no_grad():
        corpus = Corpus(data, model.shape.vocabulary, length, how)
        loss = mean_loss(model.to(team.device), corpus, team, sequences, batch, precision)
        tokens = len(corpus.validation(sequences)) * length
    return {"loss": loss, "perplexity": math.exp(min(loss, 700)), "bits_per_token": loss / math.log(2), "tokens": tokens}
