"""Prepared corpora, and batches that are a function of (seed, step) alone.

Step t of seed s takes ``sequences`` windows of the training tokens, at places drawn from the stream (s, t). Whoever asks for
rows of the batch gets rows of the same batch: any number of processes, and any resume, see the same tokens.
"""

import contextlib
from pathlib import Path

import numpy as np
import torch

from marslab.errors import UsageError
from marslab.gpt2 import tokens as token_files
from marslab.gpt2.corpora import PARTS, documents, label
from marslab.gpt2.tokenizer import TOKENIZERS
from marslab.gpt2.tokenizer import tokenizer as tokenizer_named

__all__ = ["Corpus", "places", "prepare"]


def prepare(corpus: str, tokens: str, folder: Path, cache: Path | None = None) -> dict[str, token_files.Header]:
    """Write ``train.tokens`` and ``validation.tokens`` of a corpus into ``folder``; {part: header}.

    corpus: a name or the path of a text; tokens: the tokenizer's name; cache: where a tokenizer keeps its files.

    Raises:
        UsageError: the corpus is unknown, cannot be had, or leaves a part empty; nothing is left in the folder.
    """
    how, name, found = tokenizer_named(tokens, cache or folder), label(corpus), documents(corpus)
    with contextlib.ExitStack() as stack:
        into = {part: stack.enter_context(token_files.writing(path_of(folder, part), how, name, part)) for part in PARTS}
        for part, text in found:
            if text:
                into[part].append(how.encode(text))
        empty = next((part for part, writer in into.items() if not writer.documents), None)
        if empty:
            raise UsageError(f"the corpus {corpus!r} leaves no document for its part {empty!r}; give more text.")
    return {part: token_files.read_header(path_of(folder, part)) for part in PARTS}


def path_of(folder: Path, part: str) -> Path:
    """Where a part of a prepared corpus lies."""
    return Path(folder) / f"{part}.tokens"


def places(seed: int, step: int, sequences: int, room: int) -> np.ndarray:
    """Where the windows of a step begin: integers in [0, room), shape (sequences,); a smaller batch is a part of the larger."""
    generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, step])))
    return generator.integers(room, size=sequences)


class Corpus:
    """A prepared corpus, checked: training windows by (seed, step), and a fixed validation set.

    vocabulary: the model's; length: tokens of a sequence; tokenizer: the name of the one that made the files (None: any).

    Raises:
        UsageError: a file is missing, damaged or does not fit, or is shorter than one sequence.
    """

    def __init__(self, folder: Path, vocabulary: int, length: int, tokenizer: str | None = None):
        self.length, self.headers, self.parts = length, {}, {}
        for part in PARTS:
            path, how = path_of(folder, part), TOKENIZERS[tokenizer] if tokenizer else None
            self.headers[part], self.parts[part] = token_files.read(path, vocabulary=vocabulary, tokenizer=how, part=part)
            if len(self.parts[part]) <= length:
                found = len(self.parts[part])
                raise UsageError(f"{path}: tokens = {found} do not fill one sequence of {length + 1}; prepare a larger corpus.")
        train, held = (self.headers[part] for part in PARTS)
        if train.tokenizer_hash != held.tokenizer_hash or train.corpus != held.corpus:
            raise UsageError(f"{folder}: the two parts come from different corpora or tokenizers; prepare them together.")

    def fingerprint(self) -> dict[str, str]:
        """What tells this corpus from another: the checksums of its parts and the tokenizer's hash."""
        sums = {part: self.headers[part].checksum for part in PARTS}
        return {**sums, "tokenizer_hash": self.headers[PARTS[0]].tokenizer_hash}

    def batch(self, seed: int, step: int, sequences: int, rows: slice = slice(None)) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets of the given rows of a step's batch of ``sequences``, shape (rows, length), int64."""
        tokens = self.parts["train"]
        begins = places(seed, step, sequences, len(tokens) - self.length)[rows]
        return self._windows(tokens, begins)

    def validation(self, sequences: int) -> np.ndarray:
        """Where the validation windows begin: at most ``sequences``, evenly spread, the same in every run."""
        room = (len(self.parts["validation"]) - 1) // self.length
        count = min(sequences, room)
        return np.arange(count) * room // count * self.length

    def validation_batch(self, begins) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets of validation windows, shape (windows, length), int64."""
        return self._windows(self.parts["validation"], begins)

    def _windows(self, tokens, begins):
        cut = np.stack([tokens[begin : begin + self.length + 1] for begin in begins]).astype(np.int64)
        whole = torch.from_numpy(cut)
        return whole[:, :-1].contiguous(), whole[:, 1:].contiguous()
