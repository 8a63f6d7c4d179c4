"""The page of related work, figures/related.html: one self-contained file beside the ledger, filtered without a script."""

import re
from collections.abc import Iterable

from marslab import choose, paths
from marslab.page import INDEX, RELATED, REMEDY, STYLE, text
from marslab.related import COUNTED, SOURCES, STATES, Paper, families, load, tally
from marslab.results.files import sweep, write

__all__ = ["build", "write_page"]

MORE = """
:root { --out: #5d6778; }
article > .badge { justify-self: start; margin-top: .1rem; } .rule .badge, .filters .rule i { background: var(--holds); }
.claim .badge, .filters .claim i { background: #0b5cad; } .out .badge, .filters .out i { background: var(--out); }
.not .badge { background: none; color: var(--soft); box-shadow: inset 0 0 0 1px var(--soft); }
.filters .not i { box-shadow: inset 0 0 0 1px var(--soft); }
.filters { position: sticky; top: 0; z-index: 1; }
article { display: grid; grid-template-columns: 7.2rem minmax(0, 1fr) minmax(0, 19rem); gap: .3rem 1.2rem;
  padding: .8rem .2rem; border-top: 1px solid var(--line); scroll-margin-top: 4rem; align-items: start; }
section article:last-child { border-bottom: 1px solid var(--line); } article:target { background: var(--faint); }
h3 { font-size: 1.02rem; margin: 0; } article p { margin: .1rem 0 0; max-width: 46rem; overflow-wrap: anywhere; }
.what { color: var(--soft); } .what, .here { font-size: .9rem; } .here { margin-top: .15rem; }
.here code { background: var(--faint); padding: .1rem .35rem; border-radius: .3rem; white-space: nowrap; }
.where { display: block; color: var(--soft); font-size: .84rem; }
.quoted, .quoted:last-of-type { border: 0; margin-top: .3rem; font-size: .84rem; color: var(--soft); overflow-wrap: anywhere; }
.quoted summary { display: block; padding: 0; text-decoration: underline dotted; }
footer { color: var(--soft); font-size: .88rem; margin-top: 2.5rem; max-width: 46rem; }
@media (max-width: 44rem) { article { grid-template-columns: minmax(0, 1fr); }
  .filters { position: static; } }
@media print { article { break-inside: avoid; } }
"""
CHOICES = {state: state.split()[0] for state in STATES}  # state -> its class
HIDDEN = ":is(article:not(.{kind}), section:not(:has(.{kind})))"


def write_page(papers: list[Paper] | None = None):
    """Write figures/related.html, whole or not at all; returns its path."""
    path = paths.FIGURES / RELATED
    blob = build(load() if papers is None else papers).encode()
    sweep(path.parent)
    write(path, blob, REMEDY)
    return path


def build(papers: list[Paper]) -> str:
    """The page as one string."""
    inputs, labels = choose.filters("state", ((CHOICES[s], count, COUNTED[s]) for s, count in tally(papers).items()))
    style = STYLE + choose.STYLE + MORE + choose.hiding("state", CHOICES.values(), HIDDEN)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>marslab: what stands beside MARS</title>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<style>{style}</style></head><body>",
        f"<p><a href='{INDEX}'>← The ledger</a></p><h1>What stands beside MARS</h1>",
        "<p class='lead'>Methods and papers around MARS, and where each of them stands here: as a rule that can be run, as a "
        "claim that is measured, or out of scope with the reason.</p>",
        inputs,
        labels,
        "<main>",
        *(section(heading, members) for heading, members in families(papers).items()),
        "</main>",
        footer(),
        "</body></html>",
    ]
    return "\n".join(parts)


def section(heading: str, papers: Iterable[Paper]) -> str:
    """One family."""
    return f"<section><h2>{text(heading)}</h2>{''.join(map(article, papers))}</section>"


def article(paper: Paper) -> str:
    """One paper: its state, what it is, and what there is of it here."""
    badge = f"<span class='badge'>{text(paper.state)}</span>"
    return (
        f"<article class='{CHOICES[paper.state]}' id='{anchor(paper.name)}'>{badge}"
        f"<div><h3>{text(paper.name)}</h3>{citation(paper)}</div><div class='here'>{here(paper)}{quoted(paper)}</div></article>"
    )


def anchor(name: str) -> str:
    """An id made of the name."""
    return "paper-" + re.sub(r"[^\w+]+", "-", name.casefold()).strip("-")


def citation(paper: Paper) -> str:
    """Title with its link, number, how both are known, and what it is."""
    if not paper.title:
        return ""
    return (
        f"<p><a href='{text(paper.link)}'>{text(paper.title)}</a> <span class='where'>{text(paper.where)} · "
        f"{text(paper.source)}</span></p><p class='what'>{text(paper.what)}</p>"
    )


def here(paper: Paper) -> str:
    """The names of its rules or claims, or the reason why there are none."""
    if paper.state == "claim":
        return " ".join(f"<a href='{INDEX}#{text(name)}'><code>{text(name)}</code></a>" for name in paper.names)
    return " ".join(f"<code>{text(name)}</code>" for name in paper.names) or text(paper.reason)


def quoted(paper: Paper) -> str:
    """Links to the ledger's claims whose source names the paper's number."""
    from marslab.claims import CLAIMS

    found = [name for name, claim in CLAIMS.items() if paper.arxiv and paper.arxiv in claim.source and name not in paper.names]
    if not found:
        return ""
    links = "<br>".join(f"<a href='{INDEX}#{text(name)}'>{text(name)}</a>" for name in found)
    words = f"source of {len(found)} claim{'s' * (len(found) > 1)} of the ledger"
    return f"<details class='quoted'><summary>{words}</summary>{links}</details>"


def footer() -> str:
    """How titles and numbers are known, and how to ask from the terminal."""
    known = "; ".join(f"<b>{text(source)}</b>: {text(words)}" for source, words in SOURCES.items())
    return (
        f"<footer>Title and number were {known}. What could not be identified is listed and not described. In the terminal: "
        "<code>python -m marslab list --related</code>; <code>python -m marslab list rules</code> says what each rule is. The "
        "list is the file <code>marslab/related.yml</code>.</footer>"
    )
