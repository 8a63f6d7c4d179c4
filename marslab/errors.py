"""The errors a user can meet, each one sentence that names the value and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["StoreError", "UsageError", "closest", "unknown"]


MOST_NAMES = 12  # in one sentence


class UsageError(ValueError):
    """A call that cannot be carried out as written; the message is one sentence for the terminal."""


class StoreError(OSError):
    """A place that cannot be read or written; the message names it and the setting that moves it."""


def closest(name: object, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the nearest of `known`, or the list of them when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    rest = f" and {len(names) - MOST_NAMES} more ('python -m marslab list' shows all)" if len(names) > MOST_NAMES else ""
    return f"choose among {', '.join(names[:MOST_NAMES]) or 'none'}{rest}"


def unknown(kind: str, name: object, known: Iterable[str]) -> UsageError:
    """Return (not raise) the error for a name that is not among `known`; `kind` is the noun, as in 'data set'."""
    return UsageError(f"unknown {kind} {name!r}: {closest(name, known)}")
