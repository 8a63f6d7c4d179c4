"""A digest of the code that a result depends on: what it means, not how it is written."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType

from marslab.captured import captured
from marslab.errors import UsageError
from marslab.paths import PACKAGE, ROOT
from marslab.syntax import Import, meaning

__all__ = ["changed", "fingerprint"]

NAME = PACKAGE.name
# Registries scan folders: following them would tie every result to every file. Bookkeeping never touches a number.
REGISTRIES = {NAME, *(f"{NAME}.{folder}" for folder in ("optimizers", "problems", "noise", "claims"))}
BOOKKEEPING = tuple(
    f"{NAME}.{name}." for name in ("canonical", "captured", "errors", "fingerprint", "paths", "registry", "results", "syntax")
)

Source = tuple[str, str, list]  # name in the table, source text, further items to look at

_loaded: dict[str, tuple[object, str]] = {}


def fingerprint(modules: Iterable[object]) -> tuple[str, dict[str, str]]:
    """Return (digest, {name: digest}) of the given code and of every marslab module that it imports, directly or not.

    modules: modules or their names ('marslab.moments'), paths of Python files, functions, classes, rules and instances;
        what lives in marslab stands for its module, a function from a notebook or a test for its own source with the
        functions and values of its file that it uses.

    The packages whose folders are scanned are not followed (only what is imported from them by name), nor the modules
    of the store and of errors. A module already loaded counts as it was when this process first asked for it, since that
    is the code that runs, until it is reloaded.

    Raises:
        UsageError: a source cannot be found or read, or a function uses a value that has no stable text.
    """
    table: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        source = _source(waiting.pop(0))
        if source is None:
            continue
        name, text, more = source
        digest, imports = meaning(text, name)
        while table.get(name, digest) != digest:  # closures that one function made from different values
            name += "'"
        if name not in table:
            table[name] = digest
            waiting += [*_follow(imports, name), *more]
    table = dict(sorted(table.items()))
    lines = "".join(f"{name} {digest}\n" for name, digest in table.items())
    return hashlib.sha256(lines.encode()).hexdigest(), table


def changed(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Return the sorted names whose digests differ between two tables, or that only one of them has."""
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


# from an item to its source; None where it is left out


def _source(item: object) -> Source | None:
    if isinstance(item, ModuleType):
        item = item.__name__ if _inside(item.__name__) else Path(inspect.getsourcefile(item))
    if isinstance(item, str) and not item.endswith(".py"):
        return _module_source(item)
    if isinstance(item, (str, Path)):
        return _path_source(Path(item).resolve())
    item = getattr(item, "function", item)  # a rule stands for its update
    item = item if isinstance(item, (FunctionType, type)) else type(item)
    if _inside(item.__module__):
        return _module_source(item.__module__)
    if item.__module__.partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
        raise UsageError(f"an object of type {item.__module__}.{item.__qualname__} has no source of its own: give a function")
    text, more = captured(item, NAME)
    return f"{item.__module__}:{item.__qualname__}", text, more


def _module_source(name: str) -> Source | None:
    file = _module_file(name)
    if file is None:
        raise UsageError(f"there is no module {name!r} in {PACKAGE}: give one of its modules or the path of a .py file")
    if name in REGISTRIES or f"{name}.".startswith(BOOKKEEPING):
        return None
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is None:
        return name, _read(file), []
    if _loaded.get(name, (None, ""))[0] is not spec:
        _loaded[name] = (spec, _read(file))
    return name, _loaded[name][1], []


def _path_source(path: Path) -> Source | None:
    if path.is_relative_to(PACKAGE):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        return _module_source(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return name, _read(path), []


def _module_file(name: str) -> Path | None:
    """Return the file of a module of the package, found without importing anything."""
    place = PACKAGE.joinpath(*name.split(".")[1:])
    files = (place / "__init__.py", place.parent / f"{place.name}.py") if _inside(name) else ()
    return next((file for file in files if file.is_file()), None)


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")  # universal newlines
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"the source {file} cannot be read ({problem}): give the path of a Python file") from problem


# from imports to modules of the package


def _follow(imports: Iterable[Import], importer: str) -> Iterator[str]:
    """Yield the package's modules that the imports of the module `importer` run."""
    for module, level, names in imports:
        base = _absolute(module, level, importer)
        if _inside(base):
            for name in (base, *(f"{base}.{name}" for name in names)):
                yield from (part for part in _with_parents(name) if _module_file(part))


def _absolute(module: str, level: int, importer: str) -> str:
    if level == 0:
        return module
    file = _module_file(importer)
    parts = importer.split(".")
    kept = len(parts) - level + (file is not None and file.name == "__init__.py")
    return ".".join([*parts[: max(kept, 0)], *([module] if module else [])])


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def _inside(name: str) -> bool:
    return f"{name}.".startswith(f"{NAME}.")
