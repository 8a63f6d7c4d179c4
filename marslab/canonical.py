"""One text for one meaning: values as JSON that is the same on every machine, for keys and fingerprints."""

from __future__ import annotations

import dataclasses
import json
import math

from marslab.errors import UsageError

__all__ = ["canonical", "canonical_text"]


def canonical_text(value: object, where: str = "configuration") -> str:
    """Return `value` as one line of ASCII JSON with sorted keys; floats are written by repr, so bits count.

    where: what an error message calls the value.

    Raises:
        UsageError: a part of `value` has no stable text (see `canonical`).
    """
    return json.dumps(canonical(value, where), sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: object, where: str = "configuration") -> object:
    """Return `value` made of dicts, lists, strings, numbers and None only.

    Tuples, arrays and tensors become lists; inf and nan the strings 'inf', '-inf', 'nan'; a dataclass its class's name
    with its fields; an object with a `configuration` (attribute or method) that, with its name where it has one.

    Raises:
        UsageError: a function or object without `configuration`, a dict key that is no string; the message says where.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    if isinstance(value, dict):
        return {_key(key, where): canonical(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [canonical(item, f"{where}[{i}]") for i, item in enumerate(value)]
    return _from_object(value, where)


def _from_object(value: object, where: str) -> object:
    if hasattr(value, "configuration") and not isinstance(value, type):
        given = value.configuration
        return canonical(given() if callable(given) else given, where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.compare}
        return {"class": type(value).__name__, **canonical(fields, f"{where}.{type(value).__name__}")}
    if hasattr(value, "tolist"):
        return canonical(value.tolist(), where)
    raise UsageError(
        f"{where} holds {_describe(value)}, which has no stable text for a key: give its name, its numbers, "
        "or an object with a `configuration`"
    )


def _key(key: object, where: str) -> str:
    if isinstance(key, str):
        return key
    raise UsageError(f"{where} has the key {key!r}, which is no string: write it as {str(key)!r}")


def _describe(value: object) -> str:
    if callable(value) and not isinstance(value, type):
        return f"the function {getattr(value, '__qualname__', type(value).__name__)}"
    return f"an object of type {type(value).__module__}.{type(value).__qualname__}"
