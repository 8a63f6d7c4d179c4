"""Scan a folder for the one public object of each file, so that a new file needs no list to be edited."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import ModuleType

from marslab.errors import UsageError

__all__ = ["scan"]


def scan(package: str, base: type) -> dict[str, object]:
    """Import every module of `package` and return {file name: its object}, sorted by name.

    The object of a file is its only subclass of `base`, defined there, or else the instance of `base` that bears the
    file's name. `base.py` and names that start with an underscore are left out; a folder counts as a file.

    Raises:
        UsageError: a file that defines none, or several; the message names the file.
    """
    folder = importlib.import_module(package) if package not in sys.modules else sys.modules[package]
    names = sorted(entry.name for entry in pkgutil.iter_modules(folder.__path__))
    public = [name for name in names if name != "base" and not name.startswith("_")]
    return {name: _only(importlib.import_module(f"{package}.{name}"), name, base) for name in public}


def _only(module: ModuleType, name: str, base: type) -> object:
    found = _classes(module, base) or _instances(module, name, base)
    if len(found) == 1:
        return found[0]
    what = f"{base.__name__} subclass or {base.__name__} named {name!r}"
    if not found:
        raise UsageError(f"{module.__file__} defines no {what}: give it one, or start the file's name with '_'")
    listed = ", ".join(sorted(getattr(one, "__name__", repr(one)) for one in found))
    raise UsageError(f"{module.__file__} defines {len(found)} objects ({listed}) where one {what} is wanted: split it")


def _classes(module: ModuleType, base: type) -> list[type]:
    return [
        value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and not key.startswith("_") and _is_local(value, module)
    ]


def _is_local(value: type, module: ModuleType) -> bool:
    # a file that has grown into a folder may define its class in a submodule
    return value.__module__ == module.__name__ or value.__module__.startswith(module.__name__ + ".")


def _instances(module: ModuleType, name: str, base: type) -> list[object]:
    """Return the instances called `name`, each once: rules of other files may be imported here under their own name."""
    called = {
        id(value): value
        for key, value in vars(module).items()
        if isinstance(value, base) and name in (key, getattr(value, "name", None))
    }
    return list(called.values())
