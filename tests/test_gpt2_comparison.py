"""Comparison: an equal budget, tuning seeds apart from reporting seeds, the edge, and controls that must come out."""

import json
import math

import numpy as np
import pytest
from gpt2_cases import prepared, small

from marslab.errors import UsageError
from marslab.gpt2.comparison import compare, differences, first_at, lines, trigram_entropy
from marslab.gpt2.tuning import Method, Plan, Runs, adapted, method, tune

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")
QUICK = dict(batch=4, micro_batch=4, context=16, eval_every=5, eval_sequences=16, warmup=0, schedule="constant")


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("words"))


class Pretended(Runs):
    """Losses from a formula instead of training; remembers what was asked for."""

    def __init__(self, loss):
        self.formula, self.asked = loss, []

    def loss(self, name, settings):
        self.asked.append((name, settings.lr, settings.seed, settings.steps))
        return self.formula(settings.lr, settings.seed)


def bowl(best):
    return lambda lr, seed: 1 + abs(math.log2(lr / best)) + 0.01 * (seed % 7)


def test_the_grid_grows_where_the_best_lies_on_its_edge():
    one, plan = Method("adamw", small("adamw", lr=1.0)), Plan("adamw", rates=5, most=7)
    runs = Pretended(bowl(1.1))
    found = tune(one, plan, runs)
    assert (found.lr, found.on_edge, list(found.scores)) == (1.0, False, [0.25, 0.5, 1, 2, 4])
    assert {seed for _, _, seed, _ in runs.asked} == {100, 101} and {steps for *_, steps in runs.asked} == {250}
    assert (lambda f: (f.lr, f.on_edge, len(f.scores)))(tune(one, plan, Pretended(bowl(8)))) == (8.0, False, 7)
    assert (lambda f: (f.lr, f.on_edge, len(f.scores)))(tune(one, plan, Pretended(bowl(1e-3)))) == (0.0625, True, 7)


def test_a_rate_that_diverges_is_never_chosen():
    one, plan = Method("adamw", small("adamw", lr=1.0)), Plan("adamw")
    found = tune(one, plan, Pretended(lambda lr, seed: math.inf if lr > 0.6 and seed == 101 else 1 / lr))
    assert found.lr == 0.5 and found.scores[1.0] == math.inf
    lost = tune(one, plan, Pretended(lambda lr, seed: math.inf))
    assert lost.on_edge and len(lost.scores) == 5


def test_settings_keep_their_ratios():
    s = small("mars_adamw", lr=0.01, lr_1d=0.004, min_lr=0.001, steps=100, warmup=10)
    a = adapted(s, 50, 7, 0.02)
    assert (a.lr, a.lr_1d, a.min_lr, a.steps, a.warmup, a.seed) == (0.02, 0.008, 0.002, 50, 5, 7)


def test_words_for_methods():
    exact = method("mars_adamw:exact", "micro")
    assert exact.settings.exact and exact.tuned and not method("mars_adamw", "micro").settings.exact
    fixed = method("adamw@3e-4", "micro", steps="7")
    assert (fixed.settings.lr, fixed.settings.steps, fixed.tuned) == (3e-4, 7, False)
    with pytest.raises(UsageError, match="write mars_adamw:exact or"):
        method("mars_adamw:exactly", "micro")


def rows(**losses):
    return {name: {"losses": list(values)} for name, values in losses.items()}


def test_verdicts_on_known_differences():
    noise = np.random.default_rng(0).normal(0, 0.01, (4, 8))
    base = 3 + 0.2 * noise[0]
    table = differences(
        rows(a=base, worse=base + 0.1 + noise[1], same=base + noise[2], better=base - 0.1 + noise[3]), Plan("a")
    )
    assert [(row["verdict"], row["direction"]) for row in table.values()] == [
        ("HOLDS", "higher"),
        ("CANNOT TELL", None),
        ("HOLDS", "lower"),
    ]
    low, high = table["same"]["interval"]
    assert low < 0 < high and 0.005 < table["same"]["detectable"] < 0.05
    assert differences(rows(a=base, same=base + noise[2]), Plan("a", margin=0.1))["same"]["verdict"] == "FAILS"
    lost = differences(rows(a=base, lost=[*base[:7], math.inf]), Plan("a"))["lost"]
    assert lost["verdict"] == "CANNOT TELL" and lost["estimate"] == math.inf


def test_tokens_to_a_target():
    log = [{"tokens": 1, "seconds": 0.1, "loss": 1.0}]
    log += [{"tokens": 10 * k, "seconds": float(k), "validation_loss": 5.0 - k} for k in (1, 2, 3)]
    assert first_at(log, 3.0) == (20, 2.0) and first_at(log, 1.0) == (math.inf, math.inf)


def test_trigram_entropy_of_known_texts():
    assert trigram_entropy(np.tile([1, 2, 3, 2], 500), 4) == pytest.approx(0, abs=1e-12)
    uniform = np.random.default_rng(0).integers(4, size=200_000)
    assert trigram_entropy(uniform, 4) == pytest.approx(math.log(4), abs=1e-3)
    assert trigram_entropy(np.tile([0, 1, 0, 2], 500), 3) < 1e-9  # two tokens before tell which comes


def test_the_controls_come_out(words, tmp_path):
    """AdamW at a tenth of its rate is told from AdamW; AdamW under another name, with other seeds, is not."""
    plan = Plan("adamw", rates=3, most=3, tuning_seeds=1, tuning_steps=10, seeds=5, steps=20)
    said = []
    methods = [method("adamw", "micro", **QUICK), method("adamw@3e-4", "micro", **QUICK)]
    table = compare(methods, plan, tmp_path / "all", words, say=said.append)
    assert (
        table["differences"]["adamw@3e-4"]["verdict"] == "HOLDS" and table["differences"]["adamw@3e-4"]["direction"] == "higher"
    )
    own = table["methods"]["adamw"]
    assert own["tuning_tokens"] == len(own["scores"]) * 10 * 64 and own["tokens"] == 20 * 64 and len(said) == 3 + 5 + 5
    assert own["tokens_to_target"] <= 20 * 64
    assert json.loads((tmp_path / "all" / "compare.json").read_text())["methods"]["adamw"]["losses"] == own["losses"]
    text = "\n".join(lines(table))
    assert "smallest effect that could be seen" in text and "HOLDS (higher)" in text
    assert ("ON THE EDGE" in text) == own["on_edge"]
    before = sorted((tmp_path / "all").rglob("log.jsonl"))
    again = compare(methods, plan, tmp_path / "all", words)
    assert again["methods"] == table["methods"] and sorted((tmp_path / "all").rglob("log.jsonl")) == before
    other = rows(adamw=own["losses"], others=own["losses"][1:] + own["losses"][:1])
    assert differences(other, plan)["others"]["verdict"] == "CANNOT TELL"


def test_what_is_refused(words, tmp_path):
    one, other = method("adamw", "micro", **QUICK), method("lion", "micro", **{**QUICK, "batch": 8})
    with pytest.raises(UsageError, match="compare takes at least two different methods, one of them the baseline 'adamw'"):
        compare([one, one], Plan("adamw"), tmp_path, words)
    with pytest.raises(UsageError, match="the baseline 'muon'"):
        compare([one, other], Plan("muon"), tmp_path, words)
    with pytest.raises(UsageError, match="differ in batch or context"):
        compare([one, other], Plan("adamw"), tmp_path, words)
    with pytest.raises(UsageError, match="1 to 100 seeds"):
        compare([one, method("lion", "micro", **QUICK)], Plan("adamw", seeds=101), tmp_path, words)
    assert not list(tmp_path.iterdir())
