"""Methods against each other: rates tuned on some seeds, paired differences over others, and what could have been seen.

Seeds of 100 and more are tuning seeds, those below are reporting seeds (as in marslab.tuning). Reported runs share their seeds,
hence weights and batches, so differences are paired.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from marslab import verdicts
from marslab.errors import UsageError
from marslab.gpt2.log import read_log
from marslab.gpt2.settings import Settings
from marslab.gpt2.tuning import Method, Plan, Runs, Tuned, adapted, tune
from marslab.results import files
from marslab.tuning import FIRST_TUNING_SEED

__all__ = ["compare", "lines", "trigram_entropy"]


def compare(methods: list[Method], plan: Plan, root: Path, data: Path, *, say: Callable | None = None) -> dict:
    """Tune, run the reporting seeds, judge; the table, which is also written to ``root/compare.json``.

    Raises:
        UsageError: two methods share a name, the baseline is none of them, or methods differ in their tokens a step.
    """
    names = [one.name for one in methods]
    if len(set(names)) < len(names) or plan.baseline not in names or len(names) < 2:
        raise UsageError(
            f"compare takes at least two different methods, one of them the baseline {plan.baseline!r}, not {names}."
        )
    if len({one.settings.tokens_per_step for one in methods}) > 1:
        raise UsageError("the methods differ in batch or context, so equal steps are not equal tokens; give all the same.")
    if not 1 <= plan.seeds <= FIRST_TUNING_SEED or plan.rates < 1 or plan.tuning_seeds < 1:
        raise UsageError(f"a plan needs 1 to {FIRST_TUNING_SEED} seeds, a rate and a tuning seed, not {plan}.")
    runs, rows = Runs(root, data, say), {}
    for one in methods:
        rows[one.name] = reported(one, tune(one, plan, runs), plan, runs)
    table = {"plan": asdict(plan), "methods": rows, "differences": differences(rows, plan)}
    targets(methods, plan, rows, runs)
    files.write(Path(root) / "compare.json", json.dumps(plain(table), indent=1).encode(), "name another folder with --folder")
    return table


def reported(one: Method, tuned: Tuned, plan: Plan, runs: Runs) -> dict:
    """A method's row: its rate, its budget and its loss on every reporting seed."""
    s = reporting(one, tuned.lr, plan)
    losses = [runs.loss(one.name, each) for each in s]
    return {
        "lr": tuned.lr,
        "on_edge": tuned.on_edge,
        "scores": tuned.scores,
        "tuning_tokens": len(tuned.scores) * plan.tuning_seeds * plan.tuning_steps * s[0].tokens_per_step,
        "tokens": plan.steps * s[0].tokens_per_step,
        "gradients": plan.steps * s[0].gradients_per_step,
        "losses": losses,
        "mean": float(np.mean(losses)),
        "diverged": sum(math.isinf(loss) for loss in losses),
    }


def differences(rows: dict, plan: Plan) -> dict:
    """Every other method minus the baseline: paired mean, 99 % interval, smallest detectable effect, and a verdict.

    The claim is that the two differ by at least the margin, in either direction: HOLDS (then "lower" or "higher"), FAILS (shown
    to differ by less) or CANNOT TELL, after Holm's correction over all directions. Below five seeds the tails are t's alone.
    """
    base, resamples = rows[plan.baseline]["losses"], 10_000 if plan.seeds >= 5 else 0
    judged = []
    for name in [name for name in rows if name != plan.baseline]:
        measured = verdicts.Measurement.between(rows[name]["losses"], base, kind="empirical", resamples=resamples)
        judged += [verdicts.judge(measured, margin=plan.margin, side=side, name=name) for side in ("below", "above")]
    found = verdicts.decide(judged)
    return {row.name: verdict_on(row, *found[k : k + 2]) for k, row in enumerate(judged) if k % 2 == 0}


def verdict_on(row, below, above) -> dict:
    """One pair's entry from the verdicts on both directions."""
    known = {"estimate": row.measurement.estimate, "interval": [row.low, row.high], "detectable": row.detectable}
    for side, word in ((below, "lower"), (above, "higher")):
        if side.verdict == verdicts.HOLDS:
            return {**known, "verdict": verdicts.HOLDS, "direction": word, "p": side.p}
    fails = below.verdict == above.verdict == verdicts.FAILS
    return {**known, "verdict": verdicts.FAILS if fails else verdicts.CANNOT_TELL, "direction": None, "p": None}


def targets(methods: list[Method], plan: Plan, rows: dict, runs: Runs) -> None:
    """Add the median tokens and seconds until the validation loss is at most the target (inf: never)."""
    target = rows[plan.baseline]["mean"] if plan.target is None else plan.target
    for one in methods:
        row = rows[one.name]
        logs = [read_log(runs.folder(one.name, s) / "log.jsonl") for s in reporting(one, row["lr"], plan)]
        reached = [first_at(log, target) for log in logs]
        row["target"] = target
        row["tokens_to_target"], row["seconds_to_target"] = (float(np.median(column)) for column in zip(*reached, strict=True))


def reporting(one: Method, lr: float, plan: Plan) -> list[Settings]:
    """The settings of a method's reported runs."""
    return [adapted(one.settings, plan.steps, seed, lr) for seed in range(plan.seeds)]


def first_at(log: list[dict], target: float) -> tuple[float, float]:
    """Tokens and seconds of the first evaluation at or below the target."""
    there = [one for one in log if one.get("validation_loss") is not None and one["validation_loss"] <= target]
    return (there[0]["tokens"], there[0]["seconds"]) if there else (math.inf, math.inf)


def plain(value):
    """A nest that JSON can hold: infinities as words, keys as words."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def lines(table: dict) -> list[str]:
    """The table for a terminal."""
    plan, found = table["plan"], []
    for name, row in table["methods"].items():
        tuned = f"lr {row['lr']:.4g} of {len(row['scores'])}" if row["scores"] else f"lr {row['lr']:.4g}, not tuned"
        edge = ", ON THE EDGE of its grid" if row["on_edge"] else ""
        lost = f", {row['diverged']} of {plan['seeds']} diverged" if row["diverged"] else ""
        cost = f"{row['tokens']:,} tokens, {row['gradients']:,} gradients, {row['tuning_tokens']:,} tokens of tuning"
        goal = f"target {row['target']:.4f} after {row['tokens_to_target']:,.0f} tokens, {row['seconds_to_target']:.1f} s"
        found.append(f"{name}: {row['mean']:.4f} nats a token ({tuned}{edge}{lost}; {cost}; {goal})")
    for name, row in table["differences"].items():
        low, high = row["interval"]
        by = f" by {plan['margin']:g} at least" if plan["margin"] else ""
        word = f" ({row['direction']})" if row["direction"] else ""
        found.append(
            f"{name} minus {plan['baseline']}: {row['estimate']:+.4f} [{low:+.4f}, {high:+.4f}] over {plan['seeds']} seeds, "
            f"smallest effect that could be seen {row['detectable']:.4f}: "
            f"they differ{by}: {row['verdict']}{word}"
        )
    return found


def trigram_entropy(tokens: np.ndarray, vocabulary: int) -> float:
    """Entropy of a token given the two before it, in nats: H(three) - H(two), from the counts in ``tokens``.

    What a perfect model of three consecutive tokens would lose on this very text; for byte-level corpora (vocabulary^3 counts).
    """
    ids = np.asarray(tokens, dtype=np.int64)
    pairs = ids[:-1] * vocabulary + ids[1:]
    triples = pairs[:-1] * vocabulary + ids[2:]
    return entropy(triples, vocabulary**3) - entropy(pairs[:-1], vocabulary**2)


def entropy(keys: np.ndarray, count: int) -> float:
    """Entropy in nats of keys below ``count``."""
    counts = np.bincount(keys, minlength=count)
    shares = counts[counts > 0] / len(keys)
    return float(-(shares * np.log(shares)).sum())
