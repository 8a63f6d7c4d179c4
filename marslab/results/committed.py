"""Results that are committed: found by their path, and compared with what today's code would be called."""

from __future__ import annotations

import json
from pathlib import Path

from marslab.canonical import canonical_text
from marslab.errors import StoreError, UsageError
from marslab.fingerprint import changed
from marslab.results.container import Damaged, Data, check_labels, decode, encode, seal
from marslab.results.files import read, write
from marslab.results.origin import PROVENANCE, torch_version

__all__ = ["provenance_of", "publish", "published"]

REMEDY = "choose a folder that you can write to"


def publish(data: Data, path: str | Path, limit: int | None = None) -> Path:
    """Write a result that came out of the store to `path`, sealed as in the store; return the path.

    limit: the most bytes that the file may have (None: any number).

    Raises:
        UsageError: the data does not come from the store, or the file would be larger than `limit`.
        StoreError: it cannot be written.
    """
    attributes = provenance_of(data)
    if not {"schema", "key"} <= attributes.keys():
        raise UsageError("only a result that came out of the store can be published: take it from results.compute or load")
    blob = seal(encode(data, attributes))
    if limit is not None and len(blob) > limit:
        raise UsageError(
            f"{path} would have {len(blob)} bytes, and {limit} are allowed: record fewer steps, seeds or variables"
        )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, blob, REMEDY)
    return path


def published(
    path: str | Path, current_key: str | None = None, *, table: dict[str, str] | None = None, configuration: object = None
) -> tuple[Data, str]:
    """Return (data, note) of a published result; the note is empty if its key is `current_key` (or that is None).

    table, configuration: today's (of `identify`), so that the note can name what differs.

    Raises:
        StoreError: there is no such file, or it is damaged; it is left where it is, since git has the intact one.
    """
    try:
        attributes, data = decode(read(Path(path)))
    except FileNotFoundError:
        raise StoreError(f"there is no published result {path}: make it, or take it from git") from None
    except Damaged as problem:
        raise StoreError(f"{path} is not intact: {problem}; take it from git again (git checkout -- {path})") from problem
    if current_key is None or attributes["key"] == current_key:
        return data, ""
    return data, _note(attributes, table, configuration)


def _note(attributes: dict, table: dict[str, str] | None, configuration: object) -> str:
    """Say in a few words why the key of a published result is not today's."""
    reasons = []
    modules = [] if table is None else changed(json.loads(attributes.get("fingerprint", "{}")), table)
    if modules:
        reasons.append(f"made by other code ({'module' if len(modules) == 1 else 'modules'} {', '.join(modules)} changed)")
    if configuration is not None and attributes.get("configuration") != canonical_text(configuration):
        reasons.append("made with another configuration")
    torch = ".".join(json.loads(attributes.get("versions", "{}")).get("torch", "unknown").split("+")[0].split(".")[:2])
    if torch != torch_version():
        reasons.append(f"made with torch {torch}, not {torch_version()}")
    return "; ".join(reasons) or "made by other code"


def provenance_of(data: Data) -> dict[str, object]:
    """Return the attributes that the store gave to `data`, or an empty dictionary if it did not come from there."""
    first = data if not isinstance(data, dict) else next(iter(check_labels(data).values()))
    attributes = {name: first.attrs[name] for name in PROVENANCE if name in first.attrs}
    return attributes if {"schema", "key"} <= attributes.keys() else {}
