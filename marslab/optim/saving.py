"""State dictionaries that share nothing with a live optimizer and keep every type."""

import copy

import torch

from marslab.errors import UsageError
from marslab.optim.groups import Group

__all__ = ["restore", "snapshot"]

PREFIXES = ("module.", "_orig_mod.")  # of DistributedDataParallel and torch.compile


def snapshot(optimizer, state_dict) -> dict:
    """torch's dictionary with copies of all tensors; the state of parameters that were replaced is left out."""
    live = {id(p) for group in optimizer.param_groups for p in group["params"]}
    for p in [p for p in optimizer.state if torch.is_tensor(p) and id(p) not in live]:
        del optimizer.state[p]
    found = state_dict()
    return {**copied(found), "skipped": optimizer.skipped}


def copied(value, device=None):
    """The same nest of dictionaries and lists with copies of its tensors; tensors with axes go to the device."""
    if torch.is_tensor(value):
        copy_ = value.detach().clone()
        return copy_.to(device) if device is not None and value.ndim else copy_
    if isinstance(value, dict):
        return {key: copied(entry, device) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(copied(entry, device) for entry in value)
    return copy.copy(value)


def restore(optimizer, load_state_dict, state_dict) -> None:
    """Load through torch, whose hooks may change the dictionary; then put back the types, which torch casts."""
    final = {}

    def check(_, given):
        final.update(copied(given))
        check_fit(optimizer, final)

    handle = optimizer.register_load_state_dict_pre_hook(check)  # the last hook sees what the others made of it
    try:
        load_state_dict(state_dict)
    finally:
        handle.remove()
    ids = [i for group in final["param_groups"] for i in group["params"]]
    params = [p for group in optimizer.param_groups for p in group["params"]]
    for i, p in zip(ids, params, strict=True):
        if i in final["state"]:
            optimizer.state[p] = copied(final["state"][i], p.device)
    optimizer.param_groups[:] = [Group(group) for group in optimizer.param_groups]
    optimizer.skipped = final.get("skipped", 0)


def check_fit(optimizer, saved) -> None:
    """Refuse, by name, a parameter that the optimizer does not have and state of another shape."""
    if [len(g["params"]) for g in saved["param_groups"]] != [len(g["params"]) for g in optimizer.param_groups]:
        named = [name for group in saved["param_groups"] for name in group.get("param_names", [])]
        ours = {plain(name) for group in optimizer.param_groups for name in group.get("param_names", [])}
        strangers = [name for name in named if ours and plain(name) not in ours]
        more = f"; it has {strangers[0]!r}, which is unknown here" if strangers else ""
        counts = [[len(g["params"]) for g in groups] for groups in (saved["param_groups"], optimizer.param_groups)]
        raise UsageError(f"the saved groups have {counts[0]} parameters and this optimizer's {counts[1]}{more}.")
    places = {i for group in saved["param_groups"] for i in group["params"]}
    for i in saved["state"]:
        if i not in places:
            raise UsageError(f"the saved state holds parameter {i!r}, which is in none of its groups.")
    for theirs, own in zip(saved["param_groups"], optimizer.param_groups, strict=True):
        check_group(optimizer, saved["state"], theirs, own)


def check_group(optimizer, states, theirs, own) -> None:
    """Names in the same order where both have them, and memory of the parameter's shape."""
    names = zip(theirs.get("param_names", ()), own.get("param_names", ()), strict=False)
    for saved, here in names:
        if plain(saved) != plain(here):
            raise UsageError(f"the saved parameter {saved!r} stands where this optimizer has {here!r}; keep names and order.")
    for i, p in zip(theirs["params"], own["params"], strict=True):
        wanted = torch.view_as_real(p).shape if p.is_complex() else p.shape
        memory = states.get(i, {}).get("memory", {})
        for name in optimizer.rule_of(own).memory:
            if name in memory and memory[name].shape != wanted:
                found = tuple(memory[name].shape)
                raise UsageError(f"the saved state of {optimizer.name_of(p)} belongs to a tensor of shape {found}.")


def plain(name: str) -> str:
    """A name without what wrappers put before it."""
    for prefix in PREFIXES:
        name = name.replace(prefix, "")
    return name
