r"""Files of tokens that say what they are, so that a wrong, foreign, truncated or changed one is refused before training.

8 bytes   b"marslab\x02"
8 bytes   length of the header, little-endian
32 bytes  sha256 of the header
header    JSON: format, dtype, vocabulary, tokenizer, tokenizer_hash, corpus, part, documents, tokens, checksum
zeros     up to byte 4096
tokens    little-endian; ``checksum`` is their sha256
"""

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from marslab.errors import UsageError
from marslab.results import files

__all__ = ["Header", "Writer", "dtype_for", "read", "read_header", "writing"]

MAGIC, START, FORMAT = b"marslab\x02", 4096, 1
DTYPES = {"uint8": "<u1", "uint16": "<u2", "uint32": "<u4"}
PIECE = 1 << 24  # bytes that are hashed at a time
REMAKE = "make it anew with 'python -m marslab gpt2 prepare'"


@dataclass(frozen=True)
class Header:
    """What a token file holds: ids below ``vocabulary``, made by a tokenizer with a hash, of one part of a corpus."""

    dtype: str
    vocabulary: int
    tokenizer: str
    tokenizer_hash: str
    corpus: str
    part: str
    documents: int
    tokens: int
    checksum: str
    format: int = FORMAT


def dtype_for(vocabulary: int) -> str:
    """The narrowest type that holds all ids below ``vocabulary``."""
    return next(name for name in DTYPES if vocabulary <= np.iinfo(name).max + 1)


class Writer:
    """Appends documents, each followed by the separator, to a file that ``writing`` opened."""

    def __init__(self, file, path: Path, tokenizer, corpus: str, part: str):
        self.file, self.path, self.tokenizer, self.corpus, self.part = file, path, tokenizer, corpus, part
        self.dtype, self.sha256 = dtype_for(tokenizer.vocabulary), hashlib.sha256()
        self.tokens, self.documents = 0, 0

    def append(self, ids) -> None:
        """One document.

        Raises:
            UsageError: an id lies outside the vocabulary; nothing is written of it.
        """
        ids = np.asarray(ids)
        if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < self.tokenizer.vocabulary:
            worst = max(int(ids.max()), int(ids.min()), key=abs)
            raise UsageError(
                f"{self.path}: token {worst} lies outside the vocabulary of {self.tokenizer.vocabulary} of the tokenizer "
                f"{self.tokenizer.name}; count added tokens in its vocabulary."
            )
        blob = np.append(ids, self.tokenizer.separator).astype(DTYPES[self.dtype]).tobytes()
        self.file.write(blob)
        self.sha256.update(blob)
        self.tokens += ids.size + 1
        self.documents += 1

    def finish(self) -> None:
        """Write the header in front."""
        t = self.tokenizer
        what = (self.dtype, t.vocabulary, t.name, t.hash, self.corpus, self.part, self.documents, self.tokens)
        text = json.dumps(asdict(Header(*what, self.sha256.hexdigest())), sort_keys=True).encode()
        head = MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + text
        self.file.seek(0)
        self.file.write(head.ljust(START, b"\0"))


@contextlib.contextmanager
def writing(path: Path, tokenizer, corpus: str, part: str):
    """Yield a Writer; the file stands under ``path`` when the block ends, or not at all."""
    files.check_writable(path.parent, "name another folder with --data")
    files.sweep(path.parent)
    with files.open_new(path, "name another folder with --data") as file:
        file.write(bytes(START))
        writer = Writer(file, path, tokenizer, corpus, part)
        yield writer
        writer.finish()


def read_header(path: Path) -> Header:
    """The header, checked by itself and against the length of the file.

    Raises:
        UsageError: the file is missing, foreign, truncated or of a later format; file, field and remedy are named.
    """
    try:
        with open(path, "rb") as file:
            head, size = file.read(START), path.stat().st_size
    except OSError as problem:
        raise UsageError(f"there is no token file {path} ({problem.strerror}): {REMAKE}.") from problem
    if head[:8] != MAGIC:
        raise UsageError(f"{path} is no token file of marslab (its first bytes are {head[:8]!r}): {REMAKE}.")
    length = int.from_bytes(head[8:16], "little")
    text = head[48 : 48 + length]
    if hashlib.sha256(text).digest() != head[16:48]:
        raise UsageError(f"{path}: the header is damaged or truncated: {REMAKE}.")
    return fitting(path, json.loads(text), size)


def fitting(path: Path, found: dict, size: int) -> Header:
    """The header as an object, if its format and type are known and the file is as long as it says."""
    if found.get("format") != FORMAT or set(found) != {field.name for field in fields(Header)}:
        raise UsageError(f"{path}: format {found.get('format')!r} is not the format {FORMAT} that is read here: {REMAKE}.")
    if found["dtype"] not in DTYPES:
        raise UsageError(f"{path}: dtype {found['dtype']!r} is none of {', '.join(DTYPES)}: {REMAKE}.")
    wanted = START + found["tokens"] * np.dtype(DTYPES[found["dtype"]]).itemsize
    if size != wanted:
        state = "truncated" if size < wanted else "too long"
        raise UsageError(f"{path} is {state}: tokens = {found['tokens']} need {wanted} bytes, it has {size}: {REMAKE}.")
    return Header(**found)


def read(path: Path, *, vocabulary: int | None = None, tokenizer=None, part: str | None = None) -> tuple[Header, np.ndarray]:
    """Header and tokens (mapped, shape (tokens,)), after every byte was checked.

    vocabulary: the model's; a file with a larger one is refused. tokenizer: anything with ``name`` and ``hash`` that the
    file must have been made by. part: "train" or "validation".

    Raises:
        UsageError: as ``read_header``, or the content does not fit its checksum or what is asked for.
    """
    header = read_header(path)
    if vocabulary is not None and header.vocabulary > vocabulary:
        raise UsageError(
            f"{path}: vocabulary {header.vocabulary} exceeds the model's {vocabulary}; "
            "prepare the corpus with another tokenizer, or choose a size with a larger vocabulary."
        )
    if tokenizer is not None and header.tokenizer_hash != tokenizer.hash:
        raise UsageError(f"{path}: tokenizer {header.tokenizer!r} is not the {tokenizer.name!r} asked for: {REMAKE}.")
    if part is not None and header.part != part:
        raise UsageError(f"{path}: part {header.part!r} stands where {part!r} is needed; do not exchange the files.")
    tokens = np.memmap(path, dtype=DTYPES[header.dtype], mode="r", offset=START, shape=(header.tokens,))
    check_content(path, header, tokens)
    return header, tokens


def check_content(path: Path, header: Header, tokens: np.ndarray) -> None:
    """Refuse tokens that are not those that were written, or that exceed the vocabulary."""
    sha256, largest, step = hashlib.sha256(), 0, PIECE // tokens.itemsize
    for begin in range(0, len(tokens), step):
        piece = tokens[begin : begin + step]
        sha256.update(piece)
        largest = max(largest, int(piece.max()))
    if sha256.hexdigest() != header.checksum:
        raise UsageError(f"{path}: the tokens do not fit their checksum, so the file was damaged: {REMAKE}.")
    if largest >= header.vocabulary:
        raise UsageError(f"{path}: token {largest} lies outside its vocabulary of {header.vocabulary}: {REMAKE}.")
