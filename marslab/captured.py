"""What a function from a notebook or a test is made of: its source and what its names refer to."""

from __future__ import annotations

import functools
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import FunctionType, ModuleType

from marslab.canonical import canonical_text
from marslab.errors import UsageError
from marslab.syntax import names_used

__all__ = ["captured"]

Code = FunctionType | type


def captured(item: Code, package: str) -> tuple[str, list]:
    """Return (source of `item` with the constants it uses, the code of its own file or of `package` that it uses).

    Raises:
        UsageError: no source can be had, or a value that it uses has no stable text.
    """
    text = _source_text(item)
    constants: dict[str, str] = {}
    code = []
    for name, value in _used(item, text):
        if _is_value(value):
            constants[name] = canonical_text(value, f"{item.__qualname__} uses {name}, which")
            value = type(value)
        if isinstance(value, functools.partial) or _owner(value) == item.__module__ or _inside(value, package):
            code.append(value)
    return f"{text}\n{constants!r}", code


def _source_text(item: Code) -> str:
    try:
        text = textwrap.dedent(inspect.getsource(item))
        names_used(text, item.__qualname__)
    except (OSError, TypeError, UsageError) as problem:
        raise UsageError(
            f"the source of {item.__qualname__} cannot be had, so its results could not be told from those of other "
            "code: define it with def in a file or a notebook cell"
        ) from problem
    return text


def _used(item: Code, text: str) -> Iterator[tuple[str, object]]:
    scope = dict(vars(sys.modules[item.__module__])) if item.__module__ in sys.modules else {}
    if isinstance(item, FunctionType):
        scope = item.__globals__ | inspect.getclosurevars(item).nonlocals
    return ((name, scope[name]) for name in names_used(text, item.__qualname__) if name in scope)


def _is_value(value: object) -> bool:
    return hasattr(value, "configuration") or not (isinstance(value, ModuleType) or callable(value))


def _owner(value: object) -> str:
    """Return the module in which a module, class, function, rule or instance is defined."""
    value = getattr(value, "function", value)
    return value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))


def _inside(value: object, package: str) -> bool:
    return f"{_owner(value)}.".startswith(f"{package}.")
