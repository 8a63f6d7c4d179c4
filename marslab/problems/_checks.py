"""Sentences for wrong arguments of problems."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable

from marslab.errors import UsageError

__all__ = ["finite", "seed", "sizes", "weights", "whole"]


def whole(name: str, value: object, least: int) -> int:
    """Return `value` as an int of at least `least` (numpy integers pass, booleans and fractions do not)."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise UsageError(f"{name} is {value!r}: give a whole number of at least {least}")
    return number


def seed(name: str, value: object) -> int | None:
    """Return a seed: None, or a whole number of at least 0."""
    return None if value is None else whole(name, value, 0)


def finite(name: str, value: object) -> float:
    """Return `value` as a finite float."""
    number = _number(value)
    if not math.isfinite(number):
        raise UsageError(f"{name} is {value!r}: give a finite number")
    return number


def weights(name: str, values: object) -> tuple[float, ...]:
    """Return a number, list, tuple or array as a non-empty tuple of finite floats, none negative."""
    values = values.tolist() if hasattr(values, "tolist") else values
    listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    if not listed:
        raise UsageError(f"{name} is empty: give at least one number")
    for value in listed:
        if not (math.isfinite(_number(value)) and _number(value) >= 0):
            raise UsageError(f"{name} holds {value!r}: give finite numbers of at least 0")
    return tuple(_number(value) for value in listed)


def sizes(name: str, values: object) -> tuple[int, ...]:
    """Return an int or a sequence of ints as a non-empty tuple of sizes of at least 1."""
    listed = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else (values,)
    if not listed:
        raise UsageError(f"{name} is empty: give at least one size")
    return tuple(whole(name, value, 1) for value in listed)


def _number(value: object) -> float:
    """Return `value` as a float, NaN for what is no number, so that one comparison refuses both."""
    try:
        return math.nan if isinstance(value, (str, bool)) else float(value)
    except (TypeError, ValueError):
        return math.nan
