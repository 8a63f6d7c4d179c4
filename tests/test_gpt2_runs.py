"""Runs that end badly or go on: divergence, damaged checkpoints, full disks, other settings, two at once."""

import errno
import json
import math
import os

import pytest
import torch
from gpt2_cases import digest, prepared, small, untimed

from marslab.errors import StoreError, UsageError
from marslab.gpt2 import checkpoint
from marslab.gpt2.log import Log, Meter, read_log
from marslab.gpt2.loop import train
from marslab.gpt2.model import GPT
from marslab.gpt2.parallel import Team, check_split
from marslab.results.files import ResultWarning

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("words"))


def test_a_diverged_run_is_marked_kept_and_reported(words, tmp_path, monkeypatch):
    forward, calls = GPT.forward, []

    def spoiled(self, tokens, targets=None):
        calls.append(1)
        return forward(self, tokens, targets) * (math.inf if self.training and len(calls) > 15 else 1)

    s, run = small("adamw", checkpoint_every=2), tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(GPT, "forward", spoiled)
        found = train(s, run, words)
    assert (found.state, found.loss) == ("diverged", math.inf) and found.step < s.steps
    log = read_log(run / "log.jsonl")
    assert log[-1]["diverged"] and log[-1]["loss"] is None and log[-1]["step"] == found.step
    assert "NaN" not in (run / "log.jsonl").read_text() and checkpoint.steps_in(run)
    before = (run / "log.jsonl").read_bytes()
    again = train(s, run, words)
    assert again.state == "diverged" and (run / "log.jsonl").read_bytes() == before


def test_a_finished_run_is_not_run_again(words, tmp_path):
    first = train(small(), tmp_path / "run", words)
    before = digest(tmp_path / "run")
    again = train(small(), tmp_path / "run", words)
    assert digest(tmp_path / "run") == before and (again.state, again.loss) == (first.state, first.loss)


def test_logs_and_checkpoints_hold_what_they_should(words, tmp_path):
    said = []
    train(small(exact=True), tmp_path / "run", words, say=said.append)
    log = read_log(tmp_path / "run" / "log.jsonl")
    assert said == log and [one["step"] for one in log] == [1, 2, 3, 4, 5, 6]
    assert [one["step"] for one in log if "validation_loss" in one] == [3, 6]
    assert log[-1]["tokens"] == 6 * 6 * 16 and log[-1]["remaining"] == 0
    assert all(one["tokens_per_second"] > 0 and 0 < one["utilisation"] < 1 for one in log)
    assert checkpoint.steps_in(tmp_path / "run") == [6, 4]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"] == small(exact=True).as_dict()


def test_the_meter_counts_steps_and_not_what_lies_between(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("marslab.gpt2.log.time.perf_counter", lambda: clock[0])
    meter = Meter(steps=10, tokens_per_step=100, flops_per_step=50.0, peak=1000.0, elapsed=7.0)
    meter.count(0.5)
    meter.count(0.5)
    clock[0] = 4.0  # the rest was an evaluation
    assert meter.read(2) == {"seconds": 11.0, "tokens_per_second": 200.0, "utilisation": 0.1, "remaining": 16.0}


def test_a_full_disk_keeps_the_earlier_checkpoints(words, tmp_path, monkeypatch):  # case F5
    original = checkpoint.Sealing.write

    def full(self, blob):
        if self.length > 50_000 and checkpoint.steps_in(tmp_path / "run"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(self, blob)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Sealing, "write", full)
        with pytest.raises(StoreError, match=r"cannot write .*step-000000006.pt.*free some space"):
            train(small(), tmp_path / "run", words)
    assert checkpoint.steps_in(tmp_path / "run") == [4] and not list((tmp_path / "run").glob(".*"))
    train(small(), tmp_path / "run", words)
    train(small(), tmp_path / "whole", words)
    assert digest(tmp_path / "run") == digest(tmp_path / "whole")


@pytest.mark.parametrize("damage", ["torn", "flipped", "empty", "folder"])
def test_the_newest_good_checkpoint_is_found(words, tmp_path, damage):
    train(small(), tmp_path / "whole", words)
    train(small(), tmp_path / "run", words)
    path = checkpoint.path_of(tmp_path / "run", 6)
    blob = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        spoiled = bytearray(blob)
        spoiled[len(blob) // 2] ^= 1
        path.write_bytes({"torn": blob[: len(blob) // 3], "flipped": bytes(spoiled), "empty": b""}[damage])
    with pytest.warns(ResultWarning, match=r"step-000000006.pt is set aside as step-000000006.pt.corrupt"):
        train(small(), tmp_path / "run", words)
    assert digest(tmp_path / "run") == digest(tmp_path / "whole")


class Trap:
    """Creates a file when it is unpickled."""

    def __reduce__(self):
        return (open, ("trap", "w"))


@pytest.mark.parametrize("content", [Trap(), {"format": 1, "step": 1}, {"step": Trap()}, [1, 2]])
def test_a_sealed_file_that_is_no_checkpoint_runs_nothing(tmp_path, monkeypatch, content):  # case F26
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "step-000000001.pt"
    with open(path, "wb") as file:
        sealed = checkpoint.Sealing(file)
        torch.save(content, sealed)
        sealed.finish()
    with pytest.raises(UsageError, match=r"step-000000001.pt is no intact checkpoint: it (holds more than|is no checkpoint)"):
        checkpoint.load(path)
    assert not (tmp_path / "trap").exists()


def test_foreign_checkpoints_are_refused(tmp_path):
    torch.save({"model": {}}, tmp_path / "foreign.pt")
    for path in (tmp_path / "foreign.pt", tmp_path / "missing.pt"):
        with pytest.raises(UsageError, match="no intact checkpoint"):
            checkpoint.load(path)


def test_a_run_with_other_settings_is_not_mixed(words, tmp_path):
    train(small(), tmp_path / "run", words)
    before = (tmp_path / "run" / "log.jsonl").read_bytes()
    with pytest.raises(UsageError, match=r"holds a run with lr = 0.006, not 0.1; name another folder"):
        train(small(lr=0.1), tmp_path / "run", words)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "own.txt").write_text("other words\n" * 500)
    from marslab.gpt2.data import prepare

    prepare(str(tmp_path / "other" / "own.txt"), "bytes", tmp_path / "other" / "data")
    with pytest.raises(UsageError, match="holds a run with train = "):
        train(small(), tmp_path / "run", tmp_path / "other" / "data")
    assert (tmp_path / "run" / "log.jsonl").read_bytes() == before
    assert train(small(parallel="fsdp2"), tmp_path / "run", words).state == "finished"


def test_a_corpus_of_another_tokenizer_is_refused_before_training(words, tmp_path):
    with pytest.raises(UsageError, match="tokenizer 'bytes' is not the 'gpt2' asked for"):
        train(small(tokenizer="gpt2"), tmp_path / "run", words)
    assert not (tmp_path / "run").exists()
    assert small(tokenizer="gpt2").shape.vocabulary == 50304


def test_one_folder_takes_one_process(words, tmp_path):
    (tmp_path / "run").mkdir()
    held = Log(tmp_path / "run" / "log.jsonl")
    with pytest.raises(UsageError, match="another process is training in"):
        train(small(), tmp_path / "run", words)
    held.close()
    assert train(small(), tmp_path / "run", words).state == "finished"


def test_a_folder_that_cannot_be_written_is_refused_before_training(words, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--folder"):
        train(small(), tmp_path / "file" / "run", words)


def test_processes_that_do_not_divide_the_batch_are_refused():
    with pytest.raises(UsageError, match="3 micro-batches a step cannot be shared by 2 processes"):
        check_split(3, Team(0, 2, torch.device("cpu")))


def test_equal_runs_write_equal_logs(words, tmp_path):
    for name in "ab":
        train(small(dropout=0.1), tmp_path / name, words)
    assert untimed(tmp_path / "a") == untimed(tmp_path / "b") and digest(tmp_path / "a") == digest(tmp_path / "b")
