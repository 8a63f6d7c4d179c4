"""What a value in a call may be: a number, an axis (a list), a word, a count; each refusal is one sentence."""

from numbers import Real

from marslab.errors import UsageError

__all__ = ["is_axis", "is_number", "one_of", "whole"]


def is_number(value) -> bool:
    """A real number, also as an array or tensor without axes; truth values and NaN-like words are none."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    return isinstance(value, Real) and not isinstance(value, bool)


def is_axis(value) -> bool:
    """A list, a tuple or an array with at least one axis."""
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0


def whole(name: str, value) -> int:
    """A whole number of at least 1."""
    if not is_number(value) or not float(value).is_integer() or value < 1:
        raise UsageError(f"{name} = {value!r} must be a whole number of at least 1.")
    return int(value)


def one_of(name: str, value, known) -> str:
    """One of the known words."""
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"{name} = {value!r} is unknown; choose {' or '.join(map(repr, known))}.")
    return value
