"""The command ``marslab gpt2``: every part's exit status, and one sentence for a user's error."""

import subprocess
import sys

import pytest
from gpt2_cases import WORDS, prepared

from marslab import __main__ as cli
from marslab.errors import UsageError
from marslab.gpt2.log import Log
from marslab.gpt2.plot import plot, unit
from marslab.plots import provenance_of

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")
QUICK = ("--set", "steps=4", "batch=4", "micro_batch=2", "eval_every=2", "eval_sequences=4", "warmup=1")


@pytest.fixture
def command(capsys):
    """Run a command in this process: (exit status, stdout, stderr)."""

    def run(*arguments):
        capsys.readouterr()
        try:
            status = cli.main(["gpt2", *map(str, arguments)])
        except SystemExit as end:
            status = end.code
        return status, *capsys.readouterr()

    return run


def test_from_a_text_to_an_exported_model(command, tmp_path):
    (tmp_path / "own.txt").write_text("\n".join(" ".join(WORDS) for _ in range(300)))
    status, out, _ = command("prepare", tmp_path / "own.txt")
    assert status == 0 and "own-bytes/train.tokens" in out and "of 1 documents" in out
    run = tmp_path / "a run"
    status, out, _ = command("train", "--size", "micro", "--exact", "--folder", run, *QUICK, f"corpus={tmp_path / 'own.txt'}")
    assert status == 0 and "4/4  loss" in out and "validation" in out and "tokens/s" in out
    assert out.splitlines()[-1].startswith("finished at step 4") and out.splitlines()[-1].endswith("a run")
    assert command("evaluate", run)[1].startswith("loss ")
    assert command("export", run, tmp_path / "exported")[0] == 0
    assert command("evaluate", tmp_path / "exported", "--corpus", tmp_path / "own.txt")[0] == 0
    status, out, _ = command("plot", run, "--to", tmp_path / "losses")
    assert status == 0 and (tmp_path / "losses.pdf").exists()
    assert provenance_of(tmp_path / "losses.png") == {"runs": ["a run"], "steps": {"a run": 4}}


def test_runs_lie_in_the_store_and_go_on(command, tmp_path):
    folder = prepared(tmp_path)
    for _ in range(2):
        status, out, _ = command("train", "--size", "micro", "--optimizer", "adamw", "--data", folder, *QUICK)
        assert status == 0 and "gpt2/runs/micro-adamw-stdlib-5000" in out
    assert "1/4" not in out  # it was finished


@pytest.mark.parametrize(
    "arguments, match",
    [
        (["train", "--set", "gama=1"], "unknown setting 'gama': did you mean 'gamma'?"),
        (["train", "--set", "size=tiny"], "size and optimizer are options"),
        (["train", "--set", "lr"], "--set 'lr' is no new name=value pair"),
        (["train", "--size", "tinny"], "did you mean 'tiny'?"),
        (["train", "--optimizer", "adamw", "--exact"], "exact = True is for the MARS methods"),
        (["train"], "there is no token file"),
        (["prepare", "nothing"], "unknown corpus 'nothing', and no file has this name"),
        (["prepare", "--tokenizer", "words"], "unknown tokenizer 'words'"),
        (["evaluate", "nowhere"], "nowhere holds no checkpoint and no exported model"),
        (["export", "nowhere", "there"], "nowhere holds no checkpoint and no exported model"),
        (["plot", "nowhere"], "there is no log nowhere/log.jsonl"),
        (["plot"], "no run is named"),
    ],
)
def test_an_error_is_one_sentence(command, tmp_path, monkeypatch, arguments, match):
    monkeypatch.chdir(tmp_path)
    status, _, err = command(*arguments)
    assert status == 2 and err.startswith("marslab: ") and match in err and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_diverged_run_has_a_status_and_a_mark_in_the_plot(command, tmp_path):
    for name, last in (
        ("fine", {"loss": 3.0, "norm": 1.0, "validation_loss": 3.1}),
        ("lost", {"loss": None, "diverged": True}),
    ):
        (tmp_path / name).mkdir()
        log = Log(tmp_path / name / "log.jsonl")
        log.write({"step": 1, "tokens": 10, "loss": 4.0, "seconds": 1.0})
        log.write({"step": 2, "tokens": 20, "seconds": 2.0, **last})
        log.close()
    assert (unit("tokens", 1), unit("tokens", 3e6), unit("seconds", 130)) == (
        (1, "tokens"),
        (1e6, "million tokens"),
        (60, "minutes"),
    )
    assert len(plot([tmp_path / "fine", tmp_path / "lost"], tmp_path / "both")) == 2
    with pytest.raises(UsageError, match="two runs are named 'fine'"):
        plot([tmp_path / "fine", tmp_path / "fine" / "log.jsonl"], tmp_path / "both")


def test_help_is_quick_and_other_commands_do_not_import_models():
    code = "import sys; from marslab.__main__ import main\ntry: main(['gpt2', 'train', '--help'])\nexcept SystemExit: pass\n"
    check = "assert not {'torch', 'scipy', 'matplotlib'} & set(sys.modules), 'a heavy import'"
    done = subprocess.run([sys.executable, "-c", code + check], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
