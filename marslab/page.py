"""The page: ledger, figures and declarations in one self-contained HTML file that works without a network."""

import base64
from collections.abc import Iterable

from marslab import choose, experiment, ledger, paths
from marslab.draw import Drawn
from marslab.ledger import Entry
from marslab.results.files import sweep, write
from marslab.rule import Rule
from marslab.typeset import paragraphs, text, typeset

__all__ = ["build", "write_page"]

INDEX, RELATED = "index.html", "related.html"  # beside each other in figures/, linked both ways
REMEDY = "make the checkout's figures folder writable"
STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5d6778; --line: #e4e7ec; --paper: #fff; --faint: #f5f7fa;
  --link: #0b5cad; --holds: #12735a; --fails: #a8321f; --unsure: #6b5d14; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #a3adbd; --line: #323a47; --paper: #14181f;
  --faint: #1d232c; --link: #7db8f5; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif; color: var(--ink); margin: 0 auto; max-width: 68rem;
  padding: 1.5rem 1rem 4rem; background: var(--paper); }
a { color: var(--link); text-underline-offset: .15em; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { margin: 2.5rem 0 .8rem; font-size: 1.25rem; }
p.lead { color: var(--soft); margin: 0 0 1.2rem; max-width: 46rem; }
.counts { display: flex; gap: .6rem; flex-wrap: wrap; margin: 0 0 1.2rem; padding: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-radius: .6rem; padding: .35rem .8rem; }
.badge { display: inline-block; font-weight: 700; font-size: .74rem; letter-spacing: .03em; padding: .12rem .5rem;
  border-radius: .4rem; color: #fff; white-space: nowrap; }
details { border-top: 1px solid var(--line); } details:last-of-type { border-bottom: 1px solid var(--line); }
summary { display: grid; grid-template-columns: 7.2rem 1fr 13rem; gap: .4rem 1rem; padding: .7rem .2rem; cursor: pointer;
  list-style: none; align-items: start; }
summary::-webkit-details-marker { display: none; } summary:hover { background: var(--faint); }
summary .source { color: var(--soft); font-size: .84rem; display: block; }
summary .numbers { font-variant-numeric: tabular-nums; font-size: .88rem; text-align: right; }
.inside { padding: .2rem .2rem 1.4rem 8.4rem; overflow-x: auto; }
.inside p { margin: .5rem 0; max-width: 46rem; white-space: pre-line; } .inside p.formula { padding-left: 1.6rem; }
.inside td, .inside th { overflow-wrap: anywhere; } details:target > summary { background: var(--faint); }
sup, sub { font-size: .74em; line-height: 0; }
table { border-collapse: collapse; font-size: .88rem; margin: .6rem 0; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0;
  vertical-align: top; border-bottom: 1px solid var(--line); } th { color: var(--soft); font-weight: 600; }
figure { margin: 1rem 0 2rem; } figure img { max-width: 100%; height: auto; background: #fff; }
figcaption { color: var(--soft); font-size: .88rem;
  max-width: 46rem; } code, pre { font: .8rem/1.45 ui-monospace, Menlo, Consolas, monospace; } pre { white-space: pre-wrap;
  overflow-wrap: anywhere; background: var(--faint); padding: .6rem .8rem; border-radius: .4rem; }
@media (max-width: 44rem) { summary { grid-template-columns: 1fr; } summary .numbers { text-align: left; }
  .inside { padding-left: .2rem; } }
@media print { details { break-inside: avoid; } summary:hover { background: none; } body { max-width: none; } }
"""

MORE = """
.badge.HOLDS, .filters .HOLDS i { background: var(--holds); } .badge.FAILS, .filters .FAILS i { background: var(--fails); }
.badge.CANNOT, .filters .CANNOT i { background: var(--unsure); } .filters + input + .filters { margin-bottom: 1.2rem; }
.filters .open i, .filters :is(.symbolic, .exact, .Monte, .empirical) i { box-shadow: inset 0 0 0 1px var(--soft); }
"""
VERDICTS = {"HOLDS": "hold", "FAILS": "fail", "CANNOT": "cannot be told", "open": "not measured"}  # class -> words
KINDS = {"symbolic": "symbolic", "exact": "exact", "Monte": "Monte Carlo", "empirical": "empirical"}
HIDING = "\n".join(choose.hiding(g, names, "> details:not(.{kind})") for g, names in (("verdict", VERDICTS), ("kind", KINDS)))


def badge(verdict: str) -> str:
    """A coloured verdict."""
    return f'<span class="badge {verdict.split()[0]}">{text(verdict)}</span>'


def write_page(entries: list[Entry], drawn: list[Drawn], mode: str = "quick"):
    """Write figures/index.html, whole or not at all; returns its path."""
    path = paths.FIGURES / INDEX
    sweep(path.parent)
    write(path, build(entries, drawn, mode).encode(), REMEDY)
    return path


def build(entries: list[Entry], drawn: Iterable[Drawn], mode: str = "quick") -> str:
    """The page as one string."""
    figures = {each.name: each for each in drawn}
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>marslab: the ledger</title>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<style>{STYLE}{choose.STYLE}{MORE}{HIDING}</style></head><body>",
        "<h1>What holds about MARS, measured here</h1>",
        "<p class='lead'>Each line is a statement, by its source, with what it predicts written down before the measurement. "
        "<b>FAILS</b> says that the statement as its source makes it does not hold here; open the line for the derivation or "
        "counterexample, and for what does hold. Verdicts are given at 99 % after Holm's correction over the rows that have "
        "chance in them (Monte Carlo, empirical); symbolic and exact rows have none. <i>quick</i> rows are what "
        "<code>make reproduce</code> measures in minutes, <i>full</i> rows come from "
        "<code>python -m marslab claims --full</code>; "
        "<code>python -m marslab claims NAME</code> explains one in the terminal.</p>",
        f"<p><a href='{RELATED}'>What stands beside MARS, and where each method and paper is found here</a></p>",
        counts(entries),
        *(f"<p>{text(line)}</p>" for line in ledger.unreadable(entries)),
        *(part for pair in zip(*filters(entries), strict=True) for part in pair),
        "<main>",
        *(claim(entry, figures) for entry in entries),
        "</main>",
        "<h2>Figures</h2>",
        *(gallery(each, mode) for each in figures.values()),
        "</body></html>",
    ]
    return "\n".join(parts)


def counts(entries: list[Entry]) -> str:
    """How many of each verdict, by mode."""
    items = []
    for mode in ("quick", "full"):
        found = [entry.verdicts[mode].verdict for entry in entries if mode in entry.verdicts]
        if found:
            each = " ".join(f"{found.count(v)} {badge(v)}" for v in ("HOLDS", "FAILS", "CANNOT TELL"))
            items.append(f"<li>{mode}: {each}</li>")
    return f"<ul class='counts'>{''.join(items)}</ul>"


def verdict_class(entry: Entry) -> str:
    """The class of a claim's best verdict, "open" where it is not measured."""
    best = next((entry.verdicts[m].verdict for m in ("full", "quick") if m in entry.verdicts), "open")
    return best.split()[0]


def filters(entries: list[Entry]) -> tuple[list, list]:
    """Buttons of the groups, then their labels: by verdict and by kind."""
    verdicts, kinds = [verdict_class(entry) for entry in entries], [entry.claim.kind.split()[0] for entry in entries]
    groups = (("verdict", VERDICTS, verdicts), ("kind", KINDS, kinds))
    made = [choose.filters(g, ((c, found.count(c), words) for c, words in names.items())) for g, names, found in groups]
    return [inputs for inputs, _ in made], [labels for _, labels in made]


def claim(entry: Entry, figures: dict[str, Drawn]) -> str:
    """One line of the ledger and what opens below it."""
    classes = text(f"{verdict_class(entry)} {entry.claim.kind.split()[0]}")
    return (
        f"<details class='{classes}' id='{text(entry.claim.name)}'><summary>{heading(entry)}</summary><div class='inside'>"
        f"{paragraphs(entry.claim.derivation)}{table(entry)}{picture(entry, figures)}</div></details>"
    )


def heading(entry: Entry) -> str:
    """Verdict, statement with source, predicted and measured."""
    source = f"{text(entry.claim.source)} · <code>{text(entry.claim.name)}</code>"
    statement = f"{typeset(entry.claim.statement)}<span class='source'>{source}</span>"
    best = next((m for m in ("full", "quick") if m in entry.rows), None)
    if best is None:
        return f"<span>not measured</span><span>{statement}</span><span></span>"
    row = entry.rows[best]
    badges = "<br>".join(f"{badge(v.verdict)} <small>{m}</small>" for m, v in entry.verdicts.items())
    measured = f"measured {ledger.number(row.measured)} {ledger.interval(row)}"
    numbers = f"predicted {ledger.prediction(row)}<br>{measured}<br><small>{text(row.unit)}</small>"
    return f"<span>{badges}</span><span>{statement}</span><span class='numbers'>{numbers}</span>"


def table(entry: Entry) -> str:
    """All numbers of a row, quick and full side by side."""
    fields = {
        "verdict": lambda row, verdict: badge(verdict.verdict),
        "reason": lambda row, verdict: text(verdict.reason),
        "predicted": lambda row, verdict: text(f"{ledger.prediction(row)} ({row.unit})"),
        "measured": lambda row, verdict: text(f"{ledger.number(row.measured)} {ledger.interval(row)}"),
        "smallest detectable effect": lambda row, verdict: text(ledger.number(row.detectable)),
        "seen beside it": lambda row, verdict: text(row.note),
        "effort": lambda row, verdict: text(ledger.effort(row)),
        "prediction's file": lambda row, verdict: f"<code>{text(f'marslab/claims/{row.name}.py {row.prediction_hash}')}</code>",
        "configuration": lambda row, verdict: text(configuration(entry, row.mode)),
        "data": lambda row, verdict: (
            "<br>".join(f"<code>{text(n)} {text(k[:16])}</code>" for n, k in row.keys.items()) or "none"
        ),
    }
    modes = list(entry.rows)
    head = "".join(f"<th>{text(mode)}, {text(entry.origins[mode])}</th>" for mode in modes)
    body = "".join(
        f"<tr><th>{name}</th>{''.join(f'<td>{show(entry.rows[m], entry.verdicts[m])}</td>' for m in modes)}</tr>"
        for name, show in fields.items()
    )
    return f"<table><tr><th></th>{head}</tr>{body}</table>"


def configuration(entry: Entry, mode: str) -> str:
    """The claim's settings in one mode, in words; those of its experiments stand beside their figures."""
    settings = entry.claim.configured(mode)
    return "; ".join(f"{name} = {shown(value)}" for name, value in settings.items()) or "none of its own"


def shown(value) -> str:
    """A rule or a function by its name, anything else as Python writes it."""
    return value.name if isinstance(value, Rule) else getattr(value, "__name__", None) or repr(value)


def picture(entry: Entry, figures: dict[str, Drawn]) -> str:
    """A link to the claim's figure further down."""
    name = entry.claim.figure or next(iter(entry.claim.experiments), "")
    return f"<p><a href='#figure-{text(name)}'>See the figure {text(name)}.</a></p>" if name in figures else ""


def gallery(drawn: Drawn, mode: str) -> str:
    """A figure with its question and its declaration."""
    data = base64.b64encode(drawn.path.read_bytes()).decode()
    declared = [(name, experiment.load(name)) for name in drawn.origins]
    questions = " ".join(typeset(e.question) for _, e in declared)
    origins = "; ".join(f"{text(name)}: {text(origin)}" for name, origin in drawn.origins.items())
    sources = "".join(
        f"<details><summary style='display:block'>experiments/{text(name)}.py</summary><pre>"
        f"{text((paths.EXPERIMENTS / f'{name}.py').read_text(encoding='utf-8'))}</pre></details>"
        for name, _ in declared
    )
    return (
        f"<figure id='figure-{text(drawn.name)}'><h3>{text(drawn.name)}</h3><p>{questions}</p>"
        f"<img alt='{text(drawn.caption)}' width='{drawn.width}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{typeset(drawn.caption)}<br><small>{mode}; {origins}</small></figcaption>{sources}</figure>"
    )
