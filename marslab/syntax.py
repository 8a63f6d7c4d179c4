"""What a source means and what it imports, read from its syntax tree without running it.

The text of a tree is written here rather than by `ast.unparse`, which chooses other quotes inside f-strings from Python
3.12 on, or by `ast.dump`, which writes or leaves out empty fields depending on the version.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator

from marslab.errors import UsageError

__all__ = ["Import", "meaning", "names_used"]

Import = tuple[str, int, tuple[str, ...]]  # (module or '', number of leading dots, names); no names for a plain import

# how a name is used follows from the statement; the other fields hold comments
IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}


@functools.lru_cache(maxsize=1024)
def meaning(source: str, name: str) -> tuple[str, tuple[Import, ...]]:
    """Return (sha256 of what `source` means, its imports, also those inside functions).

    Comments, docstrings, layout and line ends do not count, nor does the Python version.

    Raises:
        UsageError: the source is not valid Python; `name` is what the message calls it.
    """
    tree = _parse(source, name)
    return hashlib.sha256(_text(tree).encode()).hexdigest(), tuple(_imports(tree))


def names_used(source: str, name: str) -> list[str]:
    """Return the sorted plain names that appear in `source` (not attributes)."""
    return sorted({node.id for node in ast.walk(_parse(source, name)) if isinstance(node, ast.Name)})


def _parse(source: str, name: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as problem:
        raise UsageError(f"{name} cannot be read as Python ({problem}): correct it first") from problem


def _text(node: object) -> str:
    if isinstance(node, ast.AST):
        return f"{type(node).__name__}({','.join(_fields(node))})"
    if isinstance(node, list):
        return f"[{','.join(_text(item) for item in node if not _is_remark(item))}]"
    # ascii: what repr escapes depends on the Unicode tables of the Python version
    return ascii(node)


def _fields(node: ast.AST) -> Iterator[str]:
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(node, ast.JoinedStr) and field == "values":
            value = _joined(value)
        if field not in IGNORED_FIELDS and value is not None and value != []:
            yield f"{field}={_text(value)}"


def _joined(pieces: list[ast.AST]) -> list[ast.AST]:
    """Return the pieces of an f-string with neighbouring texts merged and empty ones left out: versions differ in both."""
    merged: list[ast.AST] = []
    for piece in pieces:
        if isinstance(piece, ast.Constant) and merged and isinstance(merged[-1], ast.Constant):
            merged[-1] = ast.Constant(merged[-1].value + piece.value)
        elif not (isinstance(piece, ast.Constant) and piece.value == ""):
            merged.append(piece)
    return merged


def _is_remark(node: object) -> bool:
    """Whether a statement is a lone string: a docstring, or a remark that does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports(tree: ast.AST) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level, tuple(alias.name for alias in node.names)
