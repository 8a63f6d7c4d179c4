"""State dictionaries that share nothing with a live optimizer and keep every type."""

import copy
from collections import defaultdict

import torch

from marslab.errors import UsageError
from marslab.optim.fitting import check_fit, check_form
from marslab.optim.groups import Group

__all__ = ["restore", "snapshot"]


def snapshot(optimizer, state_dict) -> dict:
    """torch's dictionary with copies of all tensors; the state of parameters that were replaced is left out."""
    ids = {id(p) for group in optimizer.param_groups for p in group["params"]}
    whole = optimizer.state
    optimizer.state = defaultdict(dict, {p: s for p, s in whole.items() if not torch.is_tensor(p) or id(p) in ids})
    try:
        found = state_dict()
    finally:
        whole.update(optimizer.state)  # hooks may have added some
        optimizer.state = whole
    settings = {name: optimizer.settings[name] for name in ("clip_scope", "rounding")}
    return {**copied(found), "skipped": optimizer.skipped, **settings}


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
    if not isinstance(state_dict, dict):
        raise UsageError(f"a {type(state_dict).__name__} is no state_dict; load what an optimizer's state_dict() returned.")
    final = {}

    def check(_, given):
        check_form(given)
        final.update(copied(given))
        final["state"] = {i: unflattened(state) for i, state in final["state"].items()}
        check_fit(optimizer, final)

    # the last hook before sees what the others made of the dictionary, the first hook after comes before they look
    handles = [
        optimizer.register_load_state_dict_pre_hook(check),
        optimizer.register_load_state_dict_post_hook(lambda _: put_back(optimizer, final), prepend=True),
    ]
    try:
        load_state_dict(state_dict)
    finally:
        for handle in handles:
            handle.remove()


def unflattened(state):
    """torch.distributed.checkpoint, when it flattens, returns what was not there as an empty dictionary."""
    if not isinstance(state, dict):
        return state
    return {name: value for name, value in state.items() if name == "memory" or value != {}}


def put_back(optimizer, final: dict) -> None:
    """State as it was saved, on the devices of the parameters, and groups of this library's kind."""
    ids = [i for group in final["param_groups"] for i in group["params"]]
    params = [p for group in optimizer.param_groups for p in group["params"]]
    for i, p in zip(ids, params, strict=True):
        if i in final["state"]:
            optimizer.state[p] = copied(final["state"][i], p.device)
    optimizer.param_groups[:] = [Group(group) for group in optimizer.param_groups]
    optimizer.skipped = final.get("skipped", 0)
