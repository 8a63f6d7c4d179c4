"""Train language models: ``python -m marslab gpt2 prepare | train | evaluate | compare | export | plot``."""

import os
import sys
from pathlib import Path
from typing import Annotated

import tyro

from marslab.errors import UsageError
from marslab.paths import store

__all__ = ["COMMANDS", "main"]

Arg = tyro.conf.arg
Word = tyro.conf.Positional[str]
Data = Annotated[str, Arg(help="folder of the prepared corpus (default: in the store, by corpus and tokenizer)")]
Tokenizer = Annotated[str, Arg(help="bytes, or gpt2 (needs tiktoken; what small and larger models take)")]
Set = Annotated[tuple[str, ...], Arg(help="settings by name, as lr=1e-3 steps=200 exact=true")]


def say(line: str) -> None:
    """One line for the user."""
    print(line, flush=True)


def data_folder(data: str, corpus: str, tokenizer: str) -> Path:
    """Where a prepared corpus lies."""
    from marslab.gpt2.corpora import label

    return Path(data) if data else store() / "gpt2" / "data" / f"{label(corpus)}-{tokenizer}"


def prepare(corpus: Word = "stdlib", tokenizer: Tokenizer = "bytes", data: Data = "") -> int:
    """Write the token files of a corpus: stdlib, shakespeare, openwebtext, fineweb_edu, or the path of a text."""
    from marslab.gpt2.data import prepare as write

    folder = data_folder(data, corpus, tokenizer)
    for part, header in write(corpus, tokenizer, folder, store() / "gpt2" / "tokenizer").items():
        say(f"{folder / part}.tokens: {header.tokens:,} tokens of {header.documents:,} documents")
    return 0


def train(
    size: Annotated[str, Arg(help="micro, tiny, mini, small, medium, large or xl")] = "tiny",
    optimizer: Annotated[
        str, Arg(help="as adamw, muon or mars_adamw (an unknown one is answered with the list)")
    ] = "mars_adamw",
    exact: Annotated[bool, Arg(help="two gradients a step on the same sample (the MARS methods)")] = False,
    folder: Annotated[str, Arg(help="folder of the run (default: in the store, by size, optimizer and seed)")] = "",
    data: Data = "",
    set: Set = (),
    dry: Annotated[int, Arg(help="start nothing; show what the run would take on so many processes")] = 0,
) -> int:
    """Train a preset; the same command goes on where an earlier one stopped. Several processes: under torchrun."""
    from marslab.gpt2.loop import train as loop
    from marslab.gpt2.settings import preset

    settings = preset(size, optimizer, **{"exact": exact, **overrides(set)})
    if dry:
        return show_budget(settings, dry)
    name = f"{size}-{optimizer}{'-exact' if settings.exact else ''}-{settings.corpus}-{settings.seed}".replace(os.sep, "_")
    where = Path(folder) if folder else store() / "gpt2" / "runs" / name
    corpus = data_folder(data, settings.corpus, settings.tokenizer)
    outcome = loop(settings, where, corpus, say=lambda record: say(line(record, settings.steps)))
    if int(os.environ.get("RANK", "0")) == 0:
        say(f"{outcome.state} at step {outcome.step}, validation loss {outcome.validation_loss:.4f}: {where}")
    return left(0 if outcome.state == "finished" else 1)


def show_budget(settings, processes: int) -> int:
    """Show what a run would take."""
    from marslab.gpt2.budget import lines

    say("\n".join(lines(settings, processes)))
    return 0


def overrides(given: tuple[str, ...]) -> dict[str, str]:
    """{name: word} of name=word pairs."""
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or name in ("size", "optimizer") or name in found:
            raise UsageError(f"--set {pair!r} is no new name=value pair of a setting; size and optimizer are options.")
        found[name] = value
    return found


def line(record: dict, steps: int) -> str:
    """A line of progress."""
    loss = "diverged" if record.get("diverged") else f"loss {record['loss']:.4f}"
    held = f", validation {record['validation_loss']:.4f}" if "validation_loss" in record else ""
    speed = f"{record['tokens_per_second']:,.0f} tokens/s, {record['utilisation']:.1%} of the peak"
    return f"{record['step']}/{steps}  {loss}{held}  {speed}, {record['remaining'] / 60:.1f} min left"


def left(status: int) -> int:
    """End a process of torchrun at once: while it tidies up after gloo, it may abort."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        sys.stdout.flush()
        os._exit(status)
    return status


def evaluate(
    source: Word,
    corpus: Annotated[str, Arg(help="whose validation set (default: the run's own corpus, else stdlib)")] = "",
    data: Data = "",
    tokenizer: Annotated[str, Arg(help="what it was cut by (default: as the run, else bytes)")] = "",
) -> int:
    """Loss, perplexity and bits a token of a run, a checkpoint or an exported model over a whole validation set."""
    from marslab.gpt2.evaluation import load_model, measure

    model, settings = load_model(Path(source))
    own = (settings.corpus, settings.tokenizer) if settings else ("stdlib", "bytes")
    found = measure(model, settings, data_folder(data, corpus or own[0], tokenizer or own[1]))
    say(", ".join(f"{name} {value:,}" if name == "tokens" else f"{name} {value:.4f}" for name, value in found.items()))
    return 0


def export(source: Word, folder: Word) -> int:
    """Write a run or a checkpoint as transformers' GPT2LMHeadModel.from_pretrained reads it."""
    from marslab.gpt2.evaluation import load_model
    from marslab.gpt2.exported import export as write

    write(load_model(Path(source))[0], Path(folder))
    say(f"exported: {folder}")
    return 0


def plot(runs: tyro.conf.Positional[tuple[str, ...]], to: Annotated[str, Arg(help="figure, .pdf and .png")] = "losses") -> int:
    """Draw the losses of some runs against tokens and time."""
    from marslab.gpt2.plot import plot as draw

    for path in draw([Path(run) for run in runs], Path(to)):
        say(f"{path}")
    return 0


def compare(
    methods: tyro.conf.Positional[tuple[str, ...]] = ("adamw", "mars_adamw", "mars_adamw:exact"),
    size: Annotated[str, Arg(help="of all methods")] = "micro",
    rates: Annotated[int, Arg(help="learning rates a method, a factor 2 apart")] = 5,
    most: Annotated[int, Arg(help="rates at most, where the best lies on the edge")] = 7,
    tuning_seeds: Annotated[int, Arg(help="seeds 100, 101, ... of the tuning")] = 2,
    tuning_steps: Annotated[int, Arg(help="steps of a tuning run")] = 250,
    seeds: Annotated[int, Arg(help="seeds 0, 1, ... of the report")] = 8,
    steps: Annotated[int, Arg(help="steps of a reported run")] = 500,
    margin: Annotated[float, Arg(help="smallest difference that counts, in nats a token")] = 0.0,
    folder: Annotated[str, Arg(help="folder of the comparison (default: in the store)")] = "",
    data: Data = "",
    set: Set = (),
) -> int:
    """Compare methods (the first is the baseline): each as optimizer, optimizer:exact, or optimizer@lr for a fixed rate."""
    from marslab.gpt2.comparison import compare as judge
    from marslab.gpt2.comparison import lines
    from marslab.gpt2.tuning import Plan, method

    chosen = [method(word, size, **overrides(set)) for word in methods]
    plan = Plan(next(iter(methods), ""), rates, most, tuning_seeds, tuning_steps, seeds, steps, margin)
    shared = (chosen[0].settings.corpus, chosen[0].settings.tokenizer) if chosen else ("", "")
    where = Path(folder) if folder else store() / "gpt2" / "compare" / size
    table = judge(chosen, plan, where, data_folder(data, *shared), say=say)
    say("\n".join(lines(table)))
    say(f"table: {where / 'compare.json'}")
    return 0


COMMANDS = {
    "prepare": prepare,
    "train": train,
    "evaluate": evaluate,
    "compare": compare,
    "export": export,
    "plot": plot,
}


def main(arguments: list[str]) -> int:
    """Run a part of ``marslab gpt2``."""
    return tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="marslab gpt2", args=arguments, description=__doc__)
