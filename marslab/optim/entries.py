"""From what a user hands over to tensors and their names: which are matrices, and which go to a fallback."""

import re
from collections.abc import Iterable

import torch

from marslab.errors import UsageError

__all__ = ["entries_of", "listed", "named_parameters", "once", "patterns", "split", "tensor_of"]

# parts of a dotted name that mean an embedding or the layer that ends in the classes
EMBEDDING_OR_HEAD = re.compile(
    r"(^|\.|_)(embed\w*|\w*embeddings?|wte|wpe|emb|tok_emb|pos_emb|lm_head|head|classifier|unembed)(\.|$)"
)
REMEDY = "hand over a module, its parameters() or named_parameters(), or groups {'params': ...}"


class Embedded(str):
    """The name of an embedding's table, whatever it says."""

    __slots__ = ()


def named_parameters(module: torch.nn.Module) -> list:
    """(name, parameter) pairs of a module, each parameter once; a weight of nn.Embedding is marked as one by its name."""
    tables = {
        id(p) for m in module.modules() if isinstance(m, torch.nn.Embedding | torch.nn.EmbeddingBag) for p in m.parameters()
    }
    return [(Embedded(name) if id(p) in tables else name, p) for name, p in module.named_parameters()]


def listed(params) -> object:
    """What torch takes: a module becomes its named parameters; torch itself refuses a tensor and a set."""
    if isinstance(params, torch.nn.Module):
        return named_parameters(params)
    if torch.is_tensor(params) or isinstance(params, set):
        return params
    if isinstance(params, str | dict) or not isinstance(params, Iterable):
        raise UsageError(f"params is a {type(params).__name__}; {REMEDY}.")
    return params


def entries_of(group: dict) -> list:
    """The tensors, or (name, tensor) pairs, of a group, each fit to be trained; torch refuses a set, which has no order."""
    if "params" not in group:
        raise UsageError(f"a group has no 'params' but {', '.join(map(repr, group)) or 'nothing'}; {REMEDY}.")
    params = listed(group["params"])
    if isinstance(params, set):
        raise TypeError("optimizer parameters need to be organized in ordered collections; use a list instead of a set.")
    entries = [params] if torch.is_tensor(params) else list(params)
    for entry in entries:
        check_entry(entry)
    if len({isinstance(entry, tuple) for entry in entries}) > 1:
        raise UsageError("some parameters of a group have names, some have none; give (name, tensor) pairs for all, or none.")
    return entries


def check_entry(entry) -> None:
    """Refuse what cannot be trained."""
    p = entry[1] if isinstance(entry, tuple) and len(entry) == 2 else entry
    if not torch.is_tensor(p):
        raise UsageError(f"a {type(p).__name__} stands among the parameters; {REMEDY}.")
    if torch.nn.parameter.is_lazy(p):
        raise UsageError("a lazy parameter has no shape yet; run one batch through the model first.")
    if not (p.is_floating_point() or p.is_complex()):
        raise UsageError(f"a parameter of type {p.dtype} cannot be trained; leave it out.")
    if not (p.is_leaf or p.retains_grad):
        raise UsageError("a parameter is no leaf but was computed, so it gets no gradient; hand over the tensor it comes from.")


def tensor_of(entry) -> torch.Tensor:
    """The tensor of an entry."""
    return entry[1] if isinstance(entry, tuple) else entry


def once(entries: list, known: Iterable) -> list:
    """The entries whose tensor is neither known nor seen before: tied weights are one parameter, in its first group."""
    seen, kept = {id(p) for p in known}, []
    for entry in entries:
        if id(tensor_of(entry)) not in seen:
            seen.add(id(tensor_of(entry)))
            kept.append(entry)
    return kept


def patterns(exclude) -> list | None:
    """The compiled expressions of ``exclude``; one of them may stand alone."""
    if exclude is None:
        return None
    if not isinstance(exclude, str | re.Pattern) and not isinstance(exclude, Iterable):
        raise UsageError(f"exclude = {exclude!r} is no list of regular expressions; give one, for example exclude=['head'].")
    return [compiled(text) for text in ([exclude] if isinstance(exclude, str | re.Pattern) else exclude)]


def compiled(text) -> re.Pattern:
    """One expression."""
    try:
        return re.compile(text)
    except (re.error, TypeError) as problem:
        raise UsageError(f"exclude has {text!r}, which is no regular expression ({problem}); correct it.") from problem


def split(entries: list, exclude: list | None) -> tuple[list, list]:
    """Entries for a matrix rule, and the rest: fewer than two axes, or a name that is excluded."""
    if exclude and entries and not isinstance(entries[0], tuple):
        raise UsageError("exclude looks at names, and these parameters have none; hand over the module or named_parameters().")
    rest = [entry for entry in entries if tensor_of(entry).ndim < 2 or is_excluded(entry, exclude)]
    chosen = {id(tensor_of(entry)) for entry in rest}
    return [entry for entry in entries if id(tensor_of(entry)) not in chosen], rest


def is_excluded(entry, exclude: list | None) -> bool:
    """Whether the name of an entry says that it goes to the fallback."""
    if not isinstance(entry, tuple):
        return False
    name = str(entry[0])
    if exclude is None:
        return isinstance(entry[0], Embedded) or bool(EMBEDDING_OR_HEAD.search(name))
    return any(pattern.search(name) for pattern in exclude)
