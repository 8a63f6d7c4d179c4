"""From what a user hands over to parameter groups: names, matrices and the rest, hyper-parameters."""

import re
from collections.abc import Iterable

import torch

from marslab.errors import UsageError
from marslab.kinds import is_axis, is_number, one_of
from marslab.rule import Rule, check_range

__all__ = ["OWN_KEYS", "Group", "check_hyper", "checked_needs", "entries_of", "hyper_of", "listed", "named_parameters", "split"]

OWN_KEYS = {"params", "param_names", "rule", "exact", "first", "mode", "initial_lr", "maximize", "lr_scale"}
# parts of a dotted name that mean an embedding or the layer that ends in the classes
EMBEDDING_OR_HEAD = re.compile(
    r"(^|\.|_)(embed\w*|\w*embeddings?|wte|wpe|emb|tok_emb|pos_emb|lm_head|head|classifier|unembed)(\.|$)"
)


class Group(dict):
    """A parameter group in which ``betas`` reads and writes beta1 and beta2, as in torch, where the rule has them."""

    def own_betas(self) -> tuple[str, ...]:
        """The names that ``betas`` stands for."""
        return tuple(name for name in ("beta1", "beta2") if dict.__contains__(self, name))

    def __contains__(self, name):
        return bool(self.own_betas()) if name == "betas" else super().__contains__(name)

    def __getitem__(self, name):
        if name == "betas" and self.own_betas():
            return tuple(self[beta] for beta in self.own_betas())
        return super().__getitem__(name)

    def __setitem__(self, name, value):
        if name == "betas" and self.own_betas():
            self.update(zip(self.own_betas(), value, strict=False))
        else:
            super().__setitem__(name, value)

    def get(self, name, default=None):
        """As in a dictionary."""
        return self[name] if name in self else default  # noqa: SIM401


def named_parameters(module: torch.nn.Module) -> list:
    """(name, parameter) pairs of a module, each parameter once; a weight of nn.Embedding is marked as one by its name."""
    tables = {
        id(p) for m in module.modules() if isinstance(m, torch.nn.Embedding | torch.nn.EmbeddingBag) for p in m.parameters()
    }
    return [(Embedded(name) if id(p) in tables else name, p) for name, p in module.named_parameters()]


class Embedded(str):
    """The name of an embedding's table, whatever it says."""

    __slots__ = ()


def listed(params) -> object:
    """What torch takes: a module becomes its named parameters; a tensor is refused as torch refuses it."""
    return named_parameters(params) if isinstance(params, torch.nn.Module) else params


def entries_of(group: dict) -> list:
    """The tensors, or (name, tensor) pairs, of a group; torch refuses a set, which has no order."""
    params = listed(group["params"])
    if torch.is_tensor(params):
        return [params]
    if isinstance(params, set):
        raise TypeError("optimizer parameters need to be organized in ordered collections; use a list instead of a set.")
    return list(params)


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


def split(entries: list, exclude) -> tuple[list, list]:
    """Entries for a matrix rule, and the rest: fewer than two axes, or a name that is excluded."""
    pattern = EMBEDDING_OR_HEAD if exclude is None else [re.compile(text) for text in exclude]

    def is_rest(entry):
        if tensor_of(entry).ndim < 2:
            return True
        if not isinstance(entry, tuple):
            return False
        if exclude is None:
            return isinstance(entry[0], Embedded) or bool(pattern.search(entry[0]))
        return any(p.search(entry[0]) for p in pattern)

    rest = [entry for entry in entries if is_rest(entry)]
    chosen = {id(tensor_of(entry)) for entry in rest}
    return [entry for entry in entries if id(tensor_of(entry)) not in chosen], rest


def hyper_of(rule: Rule, given: dict) -> dict:
    """All hyper-parameters of a rule, checked; ``betas`` = (beta1[, beta2]) as torch has it."""
    given = dict(given)
    if "betas" in given:
        given.update(unpacked(rule, given.pop("betas")))
    hyper = rule.check(given)
    for name, value in hyper.items():
        check_hyper(name, value)
    return hyper


def unpacked(rule, betas) -> dict:
    """{"beta1": ..., "beta2": ...} as far as the rule has them: MARS-Lion has one beta only."""
    if not isinstance(betas, list | tuple) or not 1 <= len(betas) <= 2 or not all(map(is_number, betas)):
        raise UsageError(f"betas = {betas!r} must be one or two numbers, for example betas=(0.95, 0.99).")
    found = {name: beta for name, beta in zip(("beta1", "beta2"), betas, strict=False) if name in rule.hyper}
    if not found:
        raise UsageError(f"{rule.name} has no betas; leave them out.")
    for name, beta in zip(("beta1", "beta2"), betas, strict=False):
        check_hyper(name, beta)
    return found


def checked_needs(rule: Rule) -> Rule:
    """The rule, refused where it observes what a loop over batches does not have (a large batch is the loop's own affair)."""
    observed = [name for name in rule.needs if name != "large_batch"]
    if observed:
        what = {"full": "the gradient over all data at a snapshot", "hess": "the Hessian's diagonal"}[observed[0]]
        raise UsageError(f"{rule.name} observes {what}, which only the simulator supplies; use marslab.run, or another rule.")
    return rule


def check_hyper(name: str, value) -> None:
    """Refuse what is no single value of a hyper-parameter: lists and schedules belong to the simulator."""
    if callable(value) or is_axis(value):
        raise UsageError(f"{name} = {value!r} is no single number; give each group one, and change it with a torch scheduler.")
    if is_number(value):
        check_range(name, torch.as_tensor(value, dtype=torch.float64))


def checked(options: dict) -> dict:
    """The options of an optimizer that are words, each one of its kinds."""
    kinds = {
        "nonfinite": ("pass", "skip", "raise"),
        "clip_scope": ("tensor", "global"),
        "rounding": ("master", "stochastic", "nearest"),
        "compiled": ("auto", "never"),
        "matrices": ("each", "divided"),
    }
    return {name: one_of(name, options[name], words) for name, words in kinds.items()}
