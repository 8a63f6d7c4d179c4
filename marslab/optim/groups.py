"""Parameter groups and the hyper-parameters in them: torch's spellings, ranges, words."""

import difflib
from functools import lru_cache

import torch

from marslab.errors import UsageError, closest
from marslab.kinds import is_axis, is_number, one_of
from marslab.rule import Rule, check_kind, check_range

__all__ = ["OPTIONS", "OWN_KEYS", "Default", "Group", "check_names", "check_values", "checked", "hyper_of", "plain", "spelled"]

OWN_KEYS = {"params", "param_names", "rule", "exact", "first", "mode", "maximize", "lr_ratio", "fallback_options"}
WORDS = {
    "nonfinite": ("pass", "skip", "raise"),
    "clip_scope": ("tensor", "global"),
    "rounding": ("master", "stochastic", "nearest"),
    "compiled": ("auto", "never"),
    "matrices": ("each", "divided"),
}
OPTIONS = ("exact", "first", "fallback", "fallback_options", "exclude", "maximize", *WORDS, "buffers")
OF_THE_WHOLE = ("fallback", "exclude", *WORDS, "buffers")  # options that a group cannot have of its own
TORCHS = ("betas", "momentum", "nesterov")  # its names for what has another one here
SWITCHES = ("foreach", "fused", "capturable", "differentiable")
ALIASES = {
    "momentum": "betas, or beta1",
    "nesterov": "the rule 'nesterov', or Muon, which has it",
    "amsgrad": "the rule 'amsgrad' or 'mars_amsgrad'",
    "learning_rate": "lr",
    "wd": "weight_decay",
    "decay": "weight_decay",
    "beta": "beta1",
    "epsilon": "eps",
}
# schedulers and others put these beside the hyper-parameters
TAGS = {"name", "initial_lr", "max_lr", "min_lr", "base_lr", "swa_lr", "max_momentum", "base_momentum", "lr_scale"}


class Default(tuple):
    """Betas that nobody gave: a beta1 or beta2 given by name goes before them."""

    __slots__ = ()


class Group(dict):
    """A parameter group that also answers to torch's names, where the rule has what they mean.

    ``betas`` reads and writes beta1 and beta2; in a group of Muon's, ``momentum`` is beta1 and ``nesterov`` its form.
    """

    def stands_for(self, name) -> tuple[str, ...]:
        """The entries that one of torch's names means here; () where it means itself."""
        has = super().__contains__  # not the one below, which asks here
        if has(name):
            return ()
        if name == "betas":
            return tuple(beta for beta in ("beta1", "beta2") if has(beta)) if has("beta1") else ()
        return {"momentum": ("beta1",), "nesterov": ("form",)}.get(name, ()) if has("form") else ()

    def __contains__(self, name):
        return super().__contains__(name) or (name in TORCHS and bool(self.stands_for(name)))

    def __getitem__(self, name):
        entries = self.stands_for(name) if name in TORCHS else ()
        if not entries:
            return super().__getitem__(name)
        values = tuple(dict.__getitem__(self, entry) for entry in entries)
        return values if name == "betas" else values[0] == "nesterov" if name == "nesterov" else values[0]

    def __setitem__(self, name, value):
        entries = self.stands_for(name)
        if name == "nesterov" and entries:
            value = form_of(value)
        values = pair(value) if name == "betas" and entries else (value,)
        for entry, one in zip(entries or (name,), values, strict=False):
            super().__setitem__(entry, one)

    def get(self, name, default=None):
        """As in a dictionary."""
        return self[name] if name in self else default  # noqa: SIM401

    def update(self, *others, **values):
        """As in a dictionary."""
        for name, value in dict(*others, **values).items():
            self[name] = value

    def setdefault(self, name, default=None):
        """As in a dictionary."""
        if name not in self:
            self[name] = default
        return self[name]


def pair(betas) -> tuple:
    """One or two numbers."""
    if not isinstance(betas, list | tuple) or not 1 <= len(betas) <= 2 or not all(map(is_number, betas)):
        raise UsageError(f"betas = {betas!r} must be one or two numbers, for example betas=(0.95, 0.99).")
    return tuple(betas)


def form_of(nesterov) -> str:
    """Muon's word for torch's switch."""
    if not isinstance(nesterov, bool):
        raise UsageError(f"nesterov = {nesterov!r} must be True or False.")
    return "nesterov" if nesterov else "plain"


def spelled(rule: Rule, given: dict) -> dict:
    """Values under the rule's own names: ``betas`` = (beta1[, beta2]), and Muon's momentum and nesterov, as torch has them."""
    found, muons = dict(given), "form" in rule.hyper
    for torchs, own in (("momentum", "beta1"), ("nesterov", "form")):
        if muons and torchs in found:
            refuse_both(torchs, [own], found)
            value = found.pop(torchs)
            found[own] = form_of(value) if torchs == "nesterov" else value
    if "betas" not in found:
        return found
    betas = found.pop("betas")
    values = unpacked(rule, betas)
    if not isinstance(betas, Default):
        refuse_both("betas", ["beta1", "beta2"], found)
    return {**values, **found}


def refuse_both(name, others, found) -> None:
    """Two spellings of one value in one place."""
    for other in others:
        if other in found:
            raise UsageError(f"{name} and {other} are both given and mean the same; give one of them.")


def unpacked(rule, betas) -> dict:
    """{"beta1": ..., "beta2": ...} as far as the rule has them: MARS-Lion has one beta only."""
    if "beta1" not in rule.hyper:
        raise UsageError(f"{rule.name} has no betas; {'give beta2' if 'beta2' in rule.hyper else 'leave them out'}.")
    given = dict(zip(("beta1", "beta2"), pair(betas), strict=False))
    for name, beta in given.items():
        check_number(name, beta, beta)
    return {name: beta for name, beta in given.items() if name in rule.hyper}


@lru_cache(maxsize=1)
def all_names() -> frozenset:
    """The names of all rules' hyper-parameters."""
    from marslab.optimizers import RULES

    return frozenset(name for rule in RULES.values() for name in rule.hyper)


def resembles(name, known) -> bool:
    """Whether a name could be a misspelling of a known one."""
    return bool(difflib.get_close_matches(str(name), known, n=1, cutoff=0.75))


def check_names(rule: Rule, names, tags: bool) -> None:
    """Refuse what is no hyper-parameter; with ``tags`` only what could be meant for one."""
    for name in names:
        if name in rule.hyper or (tags and name in TAGS):
            continue
        if name in SWITCHES:
            raise UsageError(f"{name} is a switch of torch's own optimizers; here compiled='auto' or 'never' stands instead.")
        if name in ALIASES:
            raise UsageError(f"{rule.name} has no hyper-parameter {name!r}; give {ALIASES[name]}.")
        if tags and name in OF_THE_WHOLE:
            raise UsageError(f"{name} is an option of the whole optimizer; give it to the constructor, not to a group.")
        known = {*rule.hyper} if tags else {*rule.hyper, *OPTIONS}
        if not tags or resembles(name, known | all_names()):
            raise UsageError(f"{rule.name} has no hyper-parameter {name!r}: {closest(name, known)}")


def hyper_of(rule: Rule, *sources: dict) -> dict:
    """All hyper-parameters of a rule, checked; a later source goes before an earlier one, whose names are all the rule's."""
    given = {}
    for source in sources:
        given |= spelled(rule, source)
    check_values(rule, given)
    return {**rule.hyper, **{name: plain(value) for name, value in given.items()}}


def check_values(rule: Rule, hyper: dict) -> None:
    """Refuse what is no value of a hyper-parameter: another word, no number, out of range."""
    for name, value in hyper.items():
        default = rule.hyper[name]
        if name in rule.options:
            one_of(name, value, rule.options[name])
        elif isinstance(default, bool | str):
            check_kind(name, value, default)
        else:
            check_number(name, value, default)


def check_number(name: str, value, example) -> None:
    """Refuse what is no single number in its range: lists and schedules belong to the simulator."""
    if callable(value) or is_axis(value):
        raise UsageError(
            f"{name} = {value!r} is no single number; give one, and change it in the loop, group[{name!r}] = {example!r}."
        )
    if not is_number(value):
        raise UsageError(f"{name} = {value!r} is no number; give one, for example {name}={example!r}.")
    check_range(name, torch.as_tensor(value, dtype=torch.float64))


def plain(value):
    """A number of numpy's as Python's; anything else as it is."""
    return value if torch.is_tensor(value) or not hasattr(value, "item") else value.item()


def checked(options: dict) -> dict:
    """The options of an optimizer that are words, each one of its kinds."""
    return {name: one_of(name, options[name], words) for name, words in WORDS.items()}
