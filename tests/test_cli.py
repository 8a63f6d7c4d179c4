"""The command line: every command's exit status, one sentence for a user's error, and nothing changed by a refused call."""

import shutil
import subprocess
import sys

import pytest
from small_checkout import EXPERIMENT, FIGURE, write

from marslab import __main__ as cli
from marslab import claims, draw, experiment, listing, paths, related, results
from marslab.claims.base import Claim, Finding
from marslab.noise import LAWS
from marslab.optimizers import RULES
from marslab.problems import PROBLEMS
from marslab.verdicts import Measurement

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def command(capsys):
    """Run a command in this process: (exit status, stdout, stderr)."""

    def run(*arguments):
        capsys.readouterr()
        try:
            status = cli.main(list(arguments))
        except SystemExit as end:
            status = end.code
        return status, *capsys.readouterr()

    return run


def sentence(err):
    """The one line that a user's error is; progress bars aside."""
    lines = [line for line in err.splitlines() if line.startswith("marslab: ")]
    assert len(lines) == 1 and "Traceback" not in err
    return lines[0]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two small experiments, a figure and a claim in the place of the declared ones."""
    for room in ("experiments", "figures", "claims"):
        (tmp_path / room).mkdir()
        monkeypatch.setattr(paths, room.upper(), tmp_path / room)
    for number, name in enumerate(("one", "two"), 1):
        write(tmp_path / "experiments" / f"{name}.py", EXPERIMENT, name=name, curvature=number / 7, steps=40)
    write(tmp_path / "figures" / "one.py", FIGURE)

    def measure(data):
        return Finding(Measurement.of(data["one"]["run"].grad_norm.values[:, -1]), 40, 40, "note")

    made = Claim(
        "small", "One ends below ten.", "this test", "Monte Carlo", "norm", lambda: 0.0, measure, 10.0, experiments=("one",)
    )
    monkeypatch.setattr(claims, "CLAIMS", {"small": made})
    return tmp_path


@pytest.fixture
def idle(monkeypatch):
    """Nothing may be computed."""
    monkeypatch.setattr(experiment.Experiment, "_run", lambda *_: pytest.fail("an experiment was computed"))
    monkeypatch.setattr(Claim, "_measured", lambda *_: pytest.fail("a claim was measured"))


def tree(folder):
    """Everything in a folder, with its bytes."""
    return {path: path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


# what there is


def test_the_list_shows_every_kind_and_every_thing(command):
    status, out, err = command("list")
    assert status == 0 and err == ""
    known = {
        "rules": RULES, "problems": PROBLEMS, "noise": LAWS, "claims": claims.CLAIMS,
        "experiments": experiment.names(), "figures": draw.names(),
    }  # fmt: skip
    assert list(listing.KINDS) == list(known)
    for kind, names in known.items():
        assert f"{kind} ({len(names)})" in out.splitlines()
        lines = dict(line.split(maxsplit=1) for line in command("list", kind)[1].splitlines()[1:])
        assert list(lines) == list(names) and all(words.strip() for words in lines.values()), kind
    assert "[approximate, exact]" in out and claims.CLAIMS["sgd_rate"].statement in out
    assert command("list", "claims", "noise")[1].count("\n\n") == 1


def test_the_doctor_tells_versions_store_and_space(command, tmp_path):
    status, out, err = command("doctor")
    assert status == 0 and err == ""
    for words in (
        "marslab ",
        "torch 2.",
        f"store: {tmp_path / 'store'} (0 results",
        "damaged: none",
        "free space there: ",
        "C++ compiler: ",
    ):
        assert words in out
    (tmp_path / "store").mkdir()
    damaged = tmp_path / "store" / f"odd-{'0' * 16}.nc"
    damaged.write_bytes(b"odd")
    assert f"1 results, 0.0 MB, damaged: ['{damaged.name}']" in command("doctor")[1]
    assert damaged.is_file()  # looking sets nothing aside


def test_the_doctor_looks_at_a_store_that_cannot_be(command, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MARSLAB_STORE", str(tmp_path / "file" / "store"))
    assert command("doctor")[0] == 0


# commands that work


def test_run_computes_what_is_missing_and_says_where_results_come_from(command, small, monkeypatch):
    status, out, _ = command("run", "one", "--jobs", "1")
    key = experiment.load("one").identity().key
    assert status == 0 and out == f"one: computed here, key {key[:12]}\n"
    assert [entry.name for entry in results.list_entries()] == ["one-quick"]
    ran, real = [], experiment.Experiment._run
    monkeypatch.setattr(experiment.Experiment, "_run", lambda self, *a: (ran.append(self.name), real(self, *a))[1])
    status, out, _ = command("run", "--jobs", "1")
    assert status == 0 and ran == ["two"] and [line.split(":")[0] for line in out.splitlines()] == ["one", "two"]


def test_run_publishes_and_the_published_is_found_by_name(command, small, monkeypatch):
    status, out, _ = command("run", "--publish", "--jobs", "1")
    assert status == 0 and out.count("published: ") == 2
    assert sorted(p.name for p in (small / "experiments" / "published").iterdir()) == ["one.nc", "two.nc"]
    monkeypatch.setenv("MARSLAB_STORE", str(small / "other"))
    assert experiment.load("one").find()[1].startswith("published with the repository, key ")
    status, out, _ = command("figure")
    assert status == 0 and "drawn; published with the repository" in out and not (small / "other").exists()


def test_a_result_too_large_to_be_committed_is_refused_in_one_sentence(command, small):
    write(small / "experiments" / "two.py", EXPERIMENT.replace("record=20", "record=4000").replace("seeds=8", "seeds=64"),
          name="two", curvature=1.0, steps=2000)  # fmt: skip
    status, _, err = command("run", "two", "--publish", "--jobs", "1")
    assert status == 2 and "200000 are allowed: record fewer steps, seeds or variables" in sentence(err)
    assert not list((small / "experiments").rglob("*.nc"))


def test_figures_are_drawn_and_left_alone_when_nothing_changed(command, small):
    assert command("run", "one", "--jobs", "1")[0] == 0
    status, out, _ = command("figure", "one")
    assert status == 0 and out.startswith(f"{small / 'figures' / 'one.png'} (drawn; computed here, key ")
    assert command("figure")[1].startswith(f"{small / 'figures' / 'one.png'} (unchanged; ")


def test_one_claim_is_explained_and_several_are_listed(command, small):
    status, out, _ = command("claims", "small", "--jobs", "1")
    assert status == 0 and out.startswith("small: One ends below ten.\nsource: this test\n") and "quick: HOLDS" in out
    status, out, _ = command("claims", "--jobs", "1")
    assert status == 0 and out.startswith("verdict ") and out.endswith("1 HOLDS, 0 FAILS, 0 CANNOT TELL\n")


def test_reproduce_does_it_all_once(command, small, request):
    status, out, err = command("reproduce", "--jobs", "1")
    assert status == 0 and "experiments: 100%" in err and "claims: 100%" in err and "figures: 100%" in err
    lines = out.splitlines()
    assert lines[0].startswith("verdict ") and lines[-2] == "1 HOLDS, 0 FAILS, 0 CANNOT TELL"
    assert lines[-1] == f"page: {small / 'figures' / 'index.html'}"
    page = (small / "figures" / "index.html").read_text("utf-8")
    assert "One ends below ten." in page and "id='figure-one'" in page
    assert "href='related.html'" in page and "href='index.html'" in (small / "figures" / "related.html").read_text("utf-8")
    before = tree(small)
    request.getfixturevalue("idle")
    status, again, err = command("reproduce", "--jobs", "1")
    assert status == 0 and again == out and "experiments" not in err and "claims" not in err
    assert tree(small) == before


def test_the_full_mode_is_kept_apart_from_the_quick_one(command, small):
    assert command("reproduce", "--jobs", "1")[0] == 0
    status, out, _ = command("reproduce", "--full", "--jobs", "1")
    assert status == 0 and out.count("HOLDS        small") == 2 and "2 HOLDS, 0 FAILS, 0 CANNOT TELL" in out
    assert (small / "figures" / "one-full.png").is_file() and (small / "figures" / "one.png").is_file()
    assert [entry.name for entry in results.list_entries()].count("claim-small-full") == 1


def test_bench_runs_the_script_and_passes_its_status_on(command, monkeypatch):
    called = []
    monkeypatch.setattr(cli.subprocess, "call", lambda arguments: called.append(arguments) or 3)
    assert command("bench")[0] == 3
    assert called == [[sys.executable, str(paths.ROOT / "bench" / "run.py")]]


# a user's errors


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "rate_exat"], "unknown experiment 'rate_exat': did you mean 'rate_exact'?"),
        (["run", "rate_exact", "zzz"], "unknown experiment 'zzz': choose among digits, exact_vs_approx, "),
        (["figure", "gama"], "unknown figure 'gama': did you mean 'gamma'?"),
        (["claims", "sgd_rates"], "unknown claim 'sgd_rates': did you mean 'sgd_rate'?"),
        (["list", "rule"], "unknown kind 'rule': did you mean 'rules'?"),
        (["run", "--jobs", "0"], "jobs = 0 must be at least 1."),
        (["claims", "--jobs", "-3"], "jobs = -3 must be at least 1."),
        (["reproduce", "--jobs", "0"], "jobs = 0 must be at least 1."),
    ],
)
def test_a_wrong_name_or_number_is_one_sentence_and_changes_nothing(command, idle, tmp_path, arguments, words):
    status, out, err = command(*arguments)
    assert status == 2 and out == "" and sentence(err).startswith(f"marslab: {words}")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "Expected one of"), (["reprodce"], "reprodce"), (["run", "--jobs", "two"], "two"), (["run", "--ful"], "--full"),
        (["run", "--job", "1"], "--jobs"), (["claims", "--jobs"], "--jobs"),
    ],
)  # fmt: skip
def test_a_command_line_that_cannot_be_read_is_refused_with_help(command, idle, arguments, words):
    status, out, err = command(*arguments)
    assert status == 2 and words in out + err and "Traceback" not in out + err


@pytest.mark.parametrize("name", ["", "reproduce", "run", "figure", "claims", "list", "doctor", "bench"])
def test_every_command_has_help(command, idle, name):
    status, out, _ = command(*([name] if name else []), "--help")
    assert status == 0 and "usage: marslab" in out
    assert name or all(f"{each} " in out for each in cli.COMMANDS)


@pytest.mark.parametrize("arguments", [["run"], ["reproduce"], ["claims"], ["run", "rate_sgd", "--publish"]])
def test_an_unwritable_store_is_refused_before_computing_and_nothing_is_written(
    command, idle, monkeypatch, tmp_path, arguments
):
    (tmp_path / "file").write_text("kept")
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    for place in (tmp_path / "file", tmp_path / "file" / "below" / "it"):
        monkeypatch.setenv("MARSLAB_STORE", str(place))
        status, out, err = command(*arguments)
        assert status == 2 and out == ""
        assert str(place) in sentence(err) and "set MARSLAB_STORE to a folder that you can write to" in sentence(err)
    assert tree(tmp_path) == {tmp_path / "file": b"kept"}


def test_an_unwritable_figures_folder_is_refused_before_computing(command, idle, small, monkeypatch):
    monkeypatch.setattr(paths, "FIGURES", small / "figures" / "one.py")
    status, _, err = command("reproduce")
    assert status == 2 and "there is no folder" in sentence(err)
    monkeypatch.setattr(paths, "FIGURES", small / "figures")
    real = results.files.check_writable

    def refuse(folder, remedy="set MARSLAB_STORE"):
        if folder == small / "figures":
            raise results.StoreError(f"cannot write results into {folder} (Read-only file system): {remedy}")
        real(folder, remedy)

    monkeypatch.setattr(results.files, "check_writable", refuse)
    status, _, err = command("reproduce")
    assert status == 2 and "make the checkout's figures folder writable" in sentence(err)


def test_an_unsound_list_of_papers_is_refused_before_computing(command, idle, small, monkeypatch):
    (small / "related.yml").write_text("- {name: One, rule: mars, claim: small}\n")
    monkeypatch.setattr(related.load, "__defaults__", (small / "related.yml",))
    status, out, err = command("reproduce")
    assert status == 2 and out == "" and "entry 'One': it has 2 states (rule, claim)" in sentence(err)
    assert not list((small / "figures").glob("*.html"))


@pytest.mark.parametrize("damage", ["foreign", "truncated"])
def test_a_damaged_result_is_named_set_aside_and_computed_anew(command, small, damage):
    assert command("run", "--jobs", "1")[0] == 0
    (path,) = (small / "store").glob("one-*.nc")
    whole = path.read_bytes()
    path.write_bytes(b"\x89HDF\r\n foreign" if damage == "foreign" else whole[:-50])
    before = experiment.load("two").compute()["run"].grad_norm
    with pytest.warns(results.ResultWarning, match=f"{path.name} is set aside"):
        status, out, _ = command("run", "--jobs", "1")
    assert status == 0 and "one: computed here" in out
    assert sorted(p.name for p in path.parent.glob(f"{path.name}*")) == [path.name, f"{path.name}.corrupt"]
    assert len(path.read_bytes()) == len(whole)
    assert experiment.load("two").compute()["run"].grad_norm.equals(before)


# problems of single parts


def test_a_failing_experiment_costs_only_what_hangs_on_it(command, small):
    write(small / "experiments" / "one.py", EXPERIMENT.replace("lr=0.1", "lr=0.1, gama=1"), name="one", curvature=1.0, steps=40)
    status, out, _ = command("reproduce", "--jobs", "1")
    assert status == 1
    assert "experiment one could not be made: UsageError: mars has no hyper-parameter 'gama': did you mean 'gamma'?" in out
    assert "claim small could not be made: its experiment one could not be run" in out
    assert "figure one could not be made: one has no quick result yet: run 'python -m marslab run one'" in out
    assert out.splitlines()[-1].startswith("page: ") and "not measured" in (small / "figures" / "index.html").read_text("utf-8")
    assert [entry.name for entry in results.list_entries()] == ["two-quick"]


def test_a_failing_figure_is_named_and_the_others_are_drawn(command, small):
    write(small / "figures" / "odd.py", FIGURE.replace('data["run"]', 'data["ran"]'))
    status, out, _ = command("reproduce", "--jobs", "1")
    assert status == 1 and "figure odd could not be made: " in out and (small / "figures" / "one.png").is_file()
    write(small / "figures" / "two.py", FIGURE.replace('data["run"]', 'data["ran"]'))
    status, out, _ = command("figure", "one", "two")
    assert status == 1 and "figure two could not be made: KeyError('ran')" in out and "one.png (unchanged" in out


def test_figures_without_results_are_named_with_the_command(command, small):
    status, out, _ = command("figure", "--full")
    assert (
        status == 1
        and "figure one could not be made: one has no full result yet: run 'python -m marslab run one --full'" in out
    )
    assert not list((small / "figures").glob("*.png"))


def test_a_full_disk_while_results_are_written_is_one_line_a_result(command, small, monkeypatch):
    import errno
    import os

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(results.files, "_write_all", full)
        status, out, _ = command("run", "--jobs", "1")
    assert (
        status == 1
        and out.count("free some space") == 2
        and "experiment two could not be made: StoreError: cannot write" in out
    )
    assert list((small / "store").iterdir()) == []
    assert command("run", "--jobs", "1")[0] == 0


def test_the_terminal_without_signs_is_no_error(command, monkeypatch):
    """The command line itself (arguments None) lets a terminal replace what it cannot show, and answers Ctrl-C."""
    import io

    installed = []
    monkeypatch.setattr(cli.interrupt, "install", lambda: installed.append("install"))
    monkeypatch.setattr(cli.interrupt, "ignore", lambda: installed.append("ignore"))
    monkeypatch.setattr(sys, "argv", ["marslab", "list", "claims"])
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert cli.main() == 0 and installed == ["install", "ignore"]
    shown.flush()
    assert b"claims (" in shown.buffer.getvalue() and b"?" in shown.buffer.getvalue()


# F7: what cannot be written can still be read


@pytest.fixture
def read_only():
    """Mount folders read-only for a while; skips where that is not allowed."""
    mounted = []

    def freeze(folder):
        for options in (["--bind", str(folder), str(folder)], ["-o", "remount,ro,bind", str(folder)]):
            done = shutil.which("mount") and subprocess.run(["mount", *options], capture_output=True, text=True)
            if not done or done.returncode:
                pytest.skip(f"mounting is not allowed here: {done.stderr.strip() if done else 'no mount'}")
            if options[0] == "--bind":
                mounted.append(folder)

    yield freeze
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_store_is_read_and_never_computed_for(command, small, read_only, request):
    assert command("reproduce", "--jobs", "1")[0] == 0
    before = tree(small / "store")
    (small / "figures" / "one.png").unlink()
    read_only(small / "store")
    request.getfixturevalue("idle")
    for arguments in (["figure"], ["claims"], ["claims", "small"], ["run"], ["reproduce"]):
        assert command(*arguments, *([] if arguments == ["figure"] else ["--jobs", "1"]))[0] == 0, arguments
    assert (small / "figures" / "one.png").is_file()
    write(small / "experiments" / "three.py", EXPERIMENT, name="three", curvature=1.0, steps=40)
    status, out, err = command("run", "--jobs", "1")
    assert status == 2 and out == "" and "Read-only file system" in err
    assert f"cannot write results into {small / 'store'}" in sentence(err) and "MARSLAB_STORE" in sentence(err)
    assert tree(small / "store") == before


def test_a_read_only_checkout_is_read_and_refused_before_computing(command, small, read_only, request):
    assert command("reproduce", "--jobs", "1")[0] == 0
    read_only(small / "figures")
    assert command("figure")[0] == 0 and command("claims", "--jobs", "1")[0] == 0  # nothing to draw
    results.remove(experiment.load("one").identity().key)
    request.getfixturevalue("idle")
    status, out, err = command("reproduce", "--jobs", "1")
    assert status == 2 and out == "" and "make the checkout's figures folder writable" in sentence(err)
