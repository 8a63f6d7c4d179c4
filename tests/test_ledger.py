"""The ledger: families of verdicts, rows of store and repository, the terminal's table, and claims that cannot run."""

import dataclasses
import itertools
import math
import sys

import numpy as np
import pytest
from scipy import stats

from marslab import claims, experiment, ledger, paths, results
from marslab.__main__ import main
from marslab.claims.base import Claim, Finding, row_of
from marslab.errors import UsageError
from marslab.ledger import WIDTH
from marslab.verdicts import CANNOT_TELL, FAILS, HOLDS, Measurement

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")

REAL = dict(claims.CLAIMS)


def claim(name, estimate, error=None, seeds=16, margin=1.0, side="within", predicted=0.0, **more):
    """A claim that measures this number with this standard error (None: exactly)."""
    kind = "exact" if error is None else "Monte Carlo"

    def measure(data):
        if isinstance(estimate, Exception):
            raise estimate
        given = {} if error is None else dict(standard_error=error, seeds=seeds)
        return Finding(Measurement(estimate, kind=kind, **given), 1000, 2000, f"note of {name}")

    fields = dict(name=name, statement=f"Statement of {name}.", source=f"source of {name}", kind=kind, unit="unit")
    fields |= dict(predict=lambda: predicted, measure=measure, margin=margin, side=side)
    return Claim(**(fields | more))


@pytest.fixture
def stated(monkeypatch, tmp_path):
    """Put these claims in the place of the real ones, and the committed rows into an empty folder."""
    monkeypatch.setattr(paths, "CLAIMS", tmp_path / "claims")

    def state(*made):
        monkeypatch.setattr(claims, "CLAIMS", {each.name: each for each in made})
        return [each.row() for each in made]

    return state


def shown():
    return {entry.claim.name: {mode: v.verdict for mode, v in entry.verdicts.items()} for entry in ledger.entries()}


# families


def weak(number):
    """Claims that hold at p = 0.004 each."""
    return [claim(f"weak{i}", 1.0, 1.0 / stats.t(15).isf(0.004), margin=2.0) for i in range(number)]


def test_verdicts_are_corrected_over_the_stochastic_rows_of_a_mode(stated):
    """p = 0.004 alone shows something; as one of four such rows it does not, whatever exact rows stand beside it."""
    exact = [claim("sure", 0.5), claim("wrong", 3.0)]
    stated(*weak(1), *exact)
    assert shown() == {"weak0": {"quick": HOLDS}, "sure": {"quick": HOLDS}, "wrong": {"quick": FAILS}}
    stated(*weak(4), *exact)
    assert {name: each["quick"] for name, each in shown().items()} == {
        **dict.fromkeys(["weak0", "weak1", "weak2", "weak3"], CANNOT_TELL), "sure": HOLDS, "wrong": FAILS,
    }  # fmt: skip


def test_holm_takes_the_modes_apart(stated):
    four = weak(4)
    stated(*four)
    alone = {e.claim.name: e.verdicts["quick"].p for e in ledger.entries()}
    for each in four[:2]:
        each.row("full")
    found = {e.claim.name: e.verdicts for e in ledger.entries()}
    assert {name: v["quick"].p for name, v in found.items()} == alone  # the full rows join no quick family
    assert found["weak0"]["full"].p == pytest.approx(alone["weak0"] / 2)  # two rows in place of four
    assert set(found["weak3"]) == {"quick"}


def test_the_family_is_all_claims_whichever_are_shown(stated, capsys):
    stated(*weak(4))
    for names in (["weak1", "weak2"], ["weak1"], []):
        main(["claims", *names, "--jobs", "1"])
        assert "CANNOT TELL" in capsys.readouterr().out
    stated(*weak(2))
    main(["claims", "weak0", "weak1", "--jobs", "1"])
    assert "2 HOLDS, 0 FAILS, 0 CANNOT TELL" in capsys.readouterr().out


@pytest.mark.parametrize(
    "estimate, error, side, expected",
    [
        (0.0, 0.01, "within", HOLDS), (0.5, 0.01, "within", FAILS), (0.09, 0.05, "within", CANNOT_TELL),
        (-0.5, 0.01, "below", HOLDS), (-0.05, 0.01, "below", FAILS), (-0.2, 0.1, "below", CANNOT_TELL),
        (0.5, 0.01, "above", HOLDS), (0.05, 0.01, "above", FAILS), (math.inf, math.inf, "below", CANNOT_TELL),
    ],
)  # fmt: skip
def test_the_three_verdicts(stated, estimate, error, side, expected):
    stated(claim("one", estimate, error, side=side, margin=0.1))
    assert shown()["one"]["quick"] == expected


# rows of store and repository


def publish(made, mode="quick"):
    made.row(mode)
    return results.publish(results.load(made.key(mode)), ledger.published_path(made, mode))


def test_a_committed_row_is_found_by_its_name_and_the_store_goes_before_it(stated):
    one = claim("one", 0.5)
    stated(one)
    assert publish(one) == paths.CLAIMS / "published" / "one-quick.nc"
    publish(one, "full")
    assert ledger.stored(one, "quick")[1] == "measured here"
    results.remove(one.key("quick"))
    row, origin = ledger.stored(one, "quick")
    assert row.measured == 0.5 and origin.startswith("published with the repository, rerun with 'python -m marslab claims ")
    (entry,) = ledger.entries()
    assert set(entry.verdicts) == {"quick", "full"} and entry.origins["full"] == "measured here"


def test_a_committed_row_of_another_key_is_shown_with_a_note(stated):
    one = claim("one", 0.5)
    stated(one)
    publish(one)
    results.remove(one.key("quick"))
    wider = dataclasses.replace(one, margin=2.0)
    claims.CLAIMS["one"] = wider
    assert wider.key("quick") != one.key("quick")
    row, origin = ledger.stored(wider, "quick")
    assert row.margin == 1.0 and origin.endswith(", made by other code")
    assert any("made by other code" in line for line in ledger.explain(ledger.entries()[0]))


@pytest.mark.parametrize("damage", ["truncated", "version"])
def test_a_committed_row_that_cannot_be_used_is_named_and_the_others_stay(stated, damage, monkeypatch):
    one, two = claim("one", 0.5), claim("two", 0.5)
    stated(one, two)
    path = publish(one)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        stored = results.load(one.key())
        stored.attrs["row"] = stored.attrs["row"].replace('"margin"', '"tolerance"')
        results.publish(stored, path)
    results.remove(one.key())
    found = ledger.entries()
    assert [set(entry.rows) for entry in found] == [set(), {"quick"}]
    assert found[0].origins["quick"].endswith("measure the claim anew" if damage == "version" else f"git checkout -- {path})")
    (line,) = [line for line in ledger.lines(found) if line.startswith("one, quick: ")]
    assert found[0].origins["quick"] in line
    assert path.exists()  # git has the intact one; nothing is moved


def test_without_any_row_a_claim_is_not_in_the_table_and_is_explained_as_not_measured(stated):
    stated()
    claims.CLAIMS["one"] = claim("one", 0.5)
    (entry,) = ledger.entries()
    assert entry.rows == entry.verdicts == {} and ledger.unreadable([entry]) == []
    assert ledger.explain(entry)[-1] == "not measured yet: run 'marslab claims one'"
    assert ledger.lines([entry])[-1] == "0 HOLDS, 0 FAILS, 0 CANNOT TELL"


@pytest.mark.parametrize("name", REAL)
def test_every_committed_row_is_of_today(name):
    """A row made by other code is remade, or a note beside it (NAME-MODE.md) names today's key and says why it may stay."""
    for mode in experiment.MODES:
        path, key = ledger.published_path(REAL[name], mode), REAL[name].key(mode)
        if path.is_file():
            note, excuse = results.published(path, key)[1], path.with_suffix(".md")
            assert not note or (excuse.is_file() and key[:12] in excuse.read_text("utf-8")), f"{path.name}: {note}"


def test_every_committed_row_belongs_to_a_claim():
    expected = {f"{name}-{mode}.nc" for name in REAL for mode in experiment.MODES}
    assert {path.name for path in (paths.CLAIMS / "published").glob("*.nc")} <= expected


def test_looking_measures_nothing(stated, tmp_path):
    stated()
    claims.CLAIMS["one"] = claim("one", RuntimeError("measured"))
    assert not ledger.entries()[0].rows and not (tmp_path / "store").exists()


# the terminal


EXTREMES = [0.0, -1.2345e-05, 1e300, math.inf, -0.33333333, 123456.789, 1_999_999.0]


def test_lines_fit_the_terminal_whatever_the_numbers(stated):
    longest = max(REAL, key=len)
    for value, margin, side in itertools.product(EXTREMES, (1.2345e-05, 0.01, 1e5), ("within", "below", "above")):
        error = 1.2345e-05 * max(abs(value), 1) if math.isfinite(value) else math.inf
        predicted = value if math.isfinite(value) else 0.0
        row = row_of(claim(longest, value, error, predicted=predicted, margin=margin, side=side)._measured("quick"))
        for verdict in (HOLDS, FAILS, CANNOT_TELL):
            assert len(ledger.line(row, verdict)) <= WIDTH, ledger.line(row, verdict)


def test_a_line_says_verdict_name_prediction_measured_interval_and_mode(stated):
    rows = stated(claim("one", 0.25, 0.01, margin=0.5), claim("two", 0.25, 0.01, margin=0.5, side="below"), claim("three", 3.0))
    head, rule, one, two, three, again, counts = ledger.lines(ledger.entries())
    assert head.split() == ["verdict", "claim", "predicted", "measured", "mode"] and set(rule + again) == {"-"}
    assert one.split() == ["HOLDS", "one", "0", "±", "0.5", "0.25", *ledger.interval(rows[0]).split(), "quick"]
    assert ledger.interval(rows[0]) == f"[{rows[0].low:.4g}, {rows[0].high:.4g}]" and rows[0].low < 0.25 < rows[0].high
    assert two.split()[:4] == ["FAILS", "two", "≤", "-0.5"]
    assert three.split() == ["FAILS", "three", "0", "±", "1", "3", "quick"]  # exact rows have no interval
    assert counts == "1 HOLDS, 2 FAILS, 0 CANNOT TELL"
    (above,) = stated(claim("up", 0.25, 0.01, margin=0.5, side="above", predicted=1.0))
    assert ledger.prediction(above) == "≥ 1.5"


def test_a_claim_is_explained_in_full(stated):
    one = claim("one", 0.25, 0.01, margin=0.5)
    stated(one)
    one.row("full")
    text = "\n".join(ledger.explain(ledger.entries()[0]))
    for words in ("one: Statement of one.", "source: source of one", one.derivation, "note of one"):
        assert words in text
    for words in ("quick: HOLDS (measured here)", "full: HOLDS", "predicted 0 ± 0.5 unit"):
        assert words in text
    assert "16 seeds, 1,000 steps, 2,000 gradient evaluations a seed" in text


@pytest.mark.parametrize("name", REAL)
def test_every_real_claim_explains_itself(name):
    (entry,) = ledger.entries([name])
    text = ledger.explain(entry)
    assert text[0] == f"{name}: {REAL[name].statement}" and text[1] == f"source: {REAL[name].source}"
    assert REAL[name].derivation in text


def test_an_unknown_claim_is_refused_with_the_closest():
    with pytest.raises(UsageError, match=r"unknown claim 'storm_identty': did you mean 'storm_identity'\?"):
        ledger.chosen(["storm_identty"])
    assert list(ledger.chosen()) == list(REAL) and list(ledger.chosen(["sgd_rate"])) == ["sgd_rate"]


# exit statuses


def command(capsys, *arguments):
    status = main([*arguments, "--jobs", "1"])
    return status, capsys.readouterr().out


def test_a_published_statement_that_fails_is_a_result(stated, capsys):
    stated(claim("wrong", 3.0), claim("unsure", 0.9, 1.0, seeds=4))
    status, out = command(capsys, "claims")
    assert status == 0 and "FAILS" in out and "CANNOT TELL" in out and out.endswith("0 HOLDS, 1 FAILS, 1 CANNOT TELL\n")


@pytest.mark.parametrize("problem", [ValueError("no such thing"), KeyError("grad_norm"), ZeroDivisionError("by zero")])
def test_a_claim_that_cannot_run_is_named_with_status_one_and_the_others_are_there(stated, capsys, problem):
    stated()
    for made in (claim("good", 0.5), claim("bad", problem), claim("also_good", 0.5)):
        claims.CLAIMS[made.name] = made
    status, out = command(capsys, "claims")
    assert status == 1
    assert f"claim bad could not be made: {type(problem).__name__}: {problem}" in out
    assert [line.split()[1] for line in out.splitlines() if line.startswith("HOLDS")] == ["good", "also_good"]
    assert command(capsys, "claims", "good")[0] == 0
    assert command(capsys, "claims", "bad")[0] == 1


def test_a_measurement_that_is_not_a_number_is_an_error_and_no_verdict(stated, capsys):
    stated()
    claims.CLAIMS["bad"] = claim("bad", math.nan)
    status, out = command(capsys, "claims")
    assert status == 1 and "claim bad could not be made: UsageError: " in out and "0 HOLDS, 0 FAILS, 0 CANNOT TELL" in out


def test_an_experiment_that_cannot_run_takes_its_claims_with_it_and_is_tried_once(stated, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "EXPERIMENTS", tmp_path)
    declared = """
from marslab.experiment import Experiment, simulate
from marslab.noise import additive
from marslab.problems import quadratic
experiment = Experiment("t", "q?", {"run": simulate("mars", problem=quadratic((1.0,)), noise=additive(1.0), gama=1, steps=2)})
"""
    (tmp_path / "broken.py").write_text(declared)
    tried, real = [], experiment.Experiment._run
    monkeypatch.setattr(experiment.Experiment, "_run", lambda self, *a: (tried.append(self.name), real(self, *a))[1])
    stated()
    for made in (
        claim("good", 0.5),
        claim("above", 0.5, experiments=("broken",)),
        claim("besides", 0.5, experiments=("broken",)),
    ):
        claims.CLAIMS[made.name] = made
    status, out = command(capsys, "claims")
    assert status == 1 and tried == ["broken"]
    assert "experiment broken could not be made: UsageError: mars has no hyper-parameter 'gama': did you mean 'gamma'?" in out
    for name in ("above", "besides"):
        assert f"claim {name} could not be made: its experiment broken could not be run" in out
    assert "1 HOLDS, 0 FAILS, 0 CANNOT TELL" in out


def test_claims_are_published_beside_their_files(stated, capsys):
    stated(claim("one", 0.5))
    claims.CLAIMS["bad"] = claim("bad", ValueError("no"))
    status, out = command(capsys, "claims", "--publish")
    assert status == 1 and [p.name for p in (paths.CLAIMS / "published").iterdir()] == ["one-quick.nc"]
    assert f"published: {paths.CLAIMS / 'published' / 'one-quick.nc'}" in out


def test_rows_of_seeds_and_numpy_numbers_are_stored_as_plain_numbers(stated):
    def measure(data):
        return Finding(Measurement.of(np.arange(5.0)), np.int64(7), np.int64(9))

    (row,) = stated(claim("numbers", 0.0, 1.0, measure=measure, margin=10.0))
    assert (row.steps, row.evaluations, row.seeds) == (7, 9, 5) and type(row.steps) is int


def test_this_file_stands_for_the_claims_in_it():
    assert claim("one", 0.5).module is sys.modules[__name__] and claim("one", 0.5).derivation == __doc__.strip()
