"""Filters of a page that work without a script: radio buttons, of which a style sheet hides what is not chosen."""

import html
from collections.abc import Iterable

__all__ = ["STYLE", "Choice", "filters", "hiding"]

Choice = tuple[str, int, str]  # class of what is chosen, how many there are, words beside the number

STYLE = """
main { display: block; } input[type=radio] { position: absolute; opacity: 0; pointer-events: none; }
.filters { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 .5rem; padding: .6rem 0; background: var(--paper); }
.filters label { border: 1px solid var(--line); border-radius: .6rem; padding: .3rem .75rem; cursor: pointer; }
.filters label:hover { background: var(--faint); } .filters b { font-variant-numeric: tabular-nums; }
.filters i { display: inline-block; width: .65rem; height: .65rem; border-radius: .2rem; margin-right: .45rem; }
@media print { .filters { display: none; } }
"""
LOOKS = {
    "checked": "border-color: var(--ink); background: var(--faint);",
    "focus-visible": "outline: 2px solid var(--link);",
}


def filters(group: str, choices: Iterable[Choice]) -> tuple[str, str]:
    """The buttons, which must stand before the page's ``main``, and their labels: all, then each choice."""
    choices = list(choices)
    everything = [("all", sum(count for _, count, _ in choices), "in all"), *choices]
    inputs = "".join(
        f"<input type='radio' name='{group}' id='{group}-{kind}'{' checked' if kind == 'all' else ''}>"
        for kind, _, _ in everything
    )
    labels = "".join(
        f"<label class='{kind}' for='{group}-{kind}'>{'' if kind == 'all' else '<i></i>'}<b>{count}</b> "
        f"{html.escape(words)}</label>"
        for kind, count, words in everything
    )
    return inputs, f"<div class='filters'>{labels}</div>"


def hiding(group: str, kinds: Iterable[str], items: str) -> str:
    """The style sheet of a group: ``items`` is a selector of what is hidden inside ``main`` unless it has the class chosen."""
    kinds = list(kinds)
    hidden = [f"#{group}-{kind}:checked ~ main {items.format(kind=kind)} {{ display: none; }}" for kind in kinds]
    for state, look in LOOKS.items():
        marked = ", ".join(f"#{group}-{kind}:{state} ~ .filters [for={group}-{kind}]" for kind in ("all", *kinds))
        hidden.append(f"{marked} {{ {look} }}")
    return "\n".join(hidden)
