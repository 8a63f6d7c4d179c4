"""Whether a state dictionary fits an optimizer; everything is looked at before anything is loaded."""

import torch

from marslab.errors import UsageError
from marslab.optim.faults import entries_of_state
from marslab.optim.live import check_group

__all__ = ["check_fit", "check_form"]

PREFIXES = ("module.", "_orig_mod.")  # of DistributedDataParallel and torch.compile
REMEDY = "load what an optimizer's state_dict() returned"


def check_form(saved) -> None:
    """Refuse what is no state dictionary of an optimizer."""
    for name, kind in (("state", dict), ("param_groups", list)):
        if not isinstance(saved.get(name), kind):
            raise UsageError(f"the state_dict has no {name!r} ({', '.join(map(repr, saved)) or 'it is empty'}); {REMEDY}.")
    if not all(isinstance(group, dict) and isinstance(group.get("params"), list) for group in saved["param_groups"]):
        raise UsageError(f"a saved group has no list of 'params'; {REMEDY}.")


def check_fit(optimizer, saved) -> None:
    """Refuse, by name, other parameters, rules, modes and settings, and state that is not whole."""
    check_counts(optimizer, saved["param_groups"])
    for name in ("clip_scope", "rounding"):
        refuse_other("the saved state", name, saved.get(name, optimizer.settings[name]), optimizer.settings[name])
    places = {i for group in saved["param_groups"] for i in group["params"]}
    for i in saved["state"]:
        if i not in places:
            raise UsageError(f"the saved state holds parameter {i!r}, which is in none of its groups.")
    for place, (theirs, own) in enumerate(zip(saved["param_groups"], optimizer.param_groups, strict=True)):
        check_saved_group(optimizer, f"saved group {place}", theirs, own)
        for i, p in zip(theirs["params"], own["params"], strict=True):
            if saved["state"].get(i):
                check_state(optimizer.name_of(p), p, optimizer.rule_of(own), saved["state"][i])


def check_counts(optimizer, groups: list) -> None:
    """Refuse another number of parameters, and name the first that is unknown here."""
    counts = [[len(group["params"]) for group in some] for some in (groups, optimizer.param_groups)]
    if counts[0] == counts[1]:
        return
    named = [name for group in groups for name in group.get("param_names", [])]
    ours = {plain(name) for group in optimizer.param_groups for name in group.get("param_names", [])}
    strangers = [name for name in named if ours and plain(name) not in ours]
    more = f"; it has {strangers[0]!r}, which is unknown here" if strangers else ""
    raise UsageError(f"the saved groups have {counts[0]} parameters and this optimizer's {counts[1]}{more}.")


def refuse_other(where: str, name: str, theirs, own) -> None:
    """Refuse state that was made under another convention: it would go on as something that neither of the two is."""
    if theirs != own:
        raise UsageError(f"{where} has {name} = {theirs!r}, this optimizer {own!r}; construct it with {theirs!r} to load it.")


def check_saved_group(optimizer, where: str, theirs, own) -> None:
    """The same rule, mode and first step, names in the same order where both have them, and every hyper-parameter."""
    if "rule" not in theirs:
        raise UsageError(f"{where} names no rule, so another optimizer made it; load what {type(optimizer).__name__} saved.")
    for name in ("rule", "mode", "first"):
        refuse_other(where, name, theirs.get(name), own[name])
    check_group(optimizer, theirs, where)
    for saved, here in zip(theirs.get("param_names", ()), own.get("param_names", ()), strict=False):
        if plain(saved) != plain(here):
            raise UsageError(f"the saved parameter {saved!r} stands where this optimizer has {here!r}; keep names and order.")


def check_state(name: str, p, rule, state) -> None:
    """Count, memory and weights of one parameter, whole and of its shape."""
    memory = state.get("memory") if isinstance(state, dict) else None
    if not isinstance(memory, dict):
        raise UsageError(f"the saved state of {name} has no 'memory', so another optimizer made it; {REMEDY}.")
    t = state.get("t")
    if isinstance(t, bool) or not isinstance(t, int) or t < 0:
        raise UsageError(f"the saved state of {name} has t = {t!r}, which counts no steps; {REMEDY}.")
    found, wanted = memory | {k: state[k] for k in ("previous", "last", "master") if k in state}, shapes_of(p, rule)
    for entry in entries_of_state(rule):
        if entry not in memory:
            raise UsageError(f"the saved state of {name} lacks {entry!r}, which {rule.name} needs; {REMEDY}.")
    for entry, value in found.items():
        if not torch.is_tensor(value):
            raise UsageError(f"the saved state of {name} has {entry} = {value!r}, which is no tensor; {REMEDY}.")
        if value.shape != wanted.get(entry, value.shape):
            raise UsageError(f"the saved state of {name} belongs to a tensor of shape {tuple(value.shape)} ({entry}).")


def shapes_of(p, rule) -> dict:
    """{entry: shape} of a parameter's state."""
    whole = torch.view_as_real(p).shape if p.is_complex() else p.shape
    found = dict.fromkeys((*rule.memory, "previous", "master"), whole) | dict.fromkeys(rule.scalars, torch.Size())
    factors = getattr(rule, "factors", ())
    if factors and p.ndim:
        sides = (p.shape[0], p.numel() // p.shape[0])
        found |= {name: torch.Size((side, side)) for name, side in zip(factors, sides, strict=True)}
    return {**found, "last": p.shape}


def plain(name: str) -> str:
    """A name without what wrappers put before it."""
    for prefix in PREFIXES:
        name = name.replace(prefix, "")
    return name
