"""What a group of the user becomes: complete groups, each with one rule, its mode and all its hyper-parameters."""

from marslab.errors import UsageError, closest
from marslab.kinds import one_of
from marslab.optim.entries import split, tensor_of
from marslab.optim.faults import check_rounding
from marslab.optim.groups import OPTIONS, OWN_KEYS, check_names, hyper_of, spelled
from marslab.optim.rules import usable

__all__ = ["check_constructor", "planned", "truth"]

MODES = {"single": None, "approximate": False, "exact": True}


def check_constructor(optimizer) -> None:
    """Check the hyper-parameters, the fallback and its options as far as they do not depend on the parameters."""
    rule, hyper, fallback = optimizer.rule, optimizer.hyper, optimizer.fallback
    if rule is None and hyper:
        name = next(iter(hyper))
        near = closest(name, OPTIONS)
        say = near if near.startswith("did") else "no rule is given, so put it into the groups, beside their rules."
        raise UsageError(f"the optimizer has no option {name!r}: {say}")
    if rule is not None:
        check_names(rule, spelled(rule, hyper), tags=False)
        optimizer.hyper = spelled(rule, hyper)
        hyper_of(rule, hyper)
    if fallback is not None and not fallback.matrix:
        completed(optimizer, {**optimizer.fallback_options, "rule": fallback}, fallback, [])


def check_effects(optimizer) -> None:
    """Refuse options that only a rule for matrices reads where no group has one."""
    if (optimizer.rule is not None and optimizer.rule.matrix) or any(rule.matrix for rule in optimizer.known.values()):
        return
    given = {"fallback": optimizer.fallback, "exclude": optimizer.options["exclude"]}
    for name, value in (given | {"fallback_options": optimizer.fallback_options}).items():
        if value:
            raise UsageError(f"{name} has no effect, since no group has a rule for matrices; leave it out.")


def truth(name: str, value) -> bool:
    """True or False, and nothing that merely counts as one."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} = {value!r} must be True or False.")
    return value


def options_of(given) -> dict:
    """The hyper-parameters of a fallback, as a dictionary."""
    if not isinstance(given, dict):
        raise UsageError(f"fallback_options = {given!r} is no dict; give one, for example fallback_options={{'lr': 0.001}}.")
    return given


def planned(optimizer, group: dict, entries: list) -> list[tuple]:
    """[(complete group, rule), ...] for one group of the user's; nothing is changed."""
    rule = group.get("rule", optimizer.rule)
    if rule is None:
        raise UsageError("a group names no rule, and the optimizer has none; give one, for example rule='mars_adamw'.")
    rule, own = usable(rule, optimizer.known), {k: v for k, v in group.items() if k != "fallback_options"}
    if not rule.matrix:
        if "fallback_options" in group:
            raise UsageError(f"{rule.name} takes any tensor, so fallback_options have no effect in its group; leave them out.")
        return [(completed(optimizer, own, rule, entries), rule)]
    matrices, rest = split(entries, optimizer.options["exclude"])
    found = [(completed(optimizer, own, rule, matrices), rule)] if matrices or not rest else []
    if rest:
        check_fallback(optimizer, rule, len(rest), len(entries))
        values = rest_of(optimizer, group, rule, alone=not matrices)
        found.append((completed(optimizer, values, optimizer.fallback, rest), optimizer.fallback))
    return found


def check_fallback(optimizer, rule, rest: int, all_of_them: int) -> None:
    """Refuse tensors that nobody takes."""
    if optimizer.fallback is None or optimizer.fallback.matrix:
        raise UsageError(
            f"{rule.name} needs matrices, but {rest} of {all_of_them} tensors have fewer than two axes or are embeddings "
            "or heads by name; name a fallback for them that takes any tensor, for example fallback='adamw'."
        )


def rest_of(optimizer, group: dict, rule, alone: bool) -> dict:
    """The values of the fallback's group: a group's own where it has no matrices, else only what matrices share with it."""
    fallback = optimizer.fallback
    given = {**optimizer.hyper, **group}
    shared = {name: given[name] for name in ("maximize", "weight_decay") if name in given}
    if "weight_decay" not in fallback.hyper:
        shared.pop("weight_decay", None)
    modal = {"exact", "first"} if fallback.modes else set()
    own = {k: v for k, v in group.items() if alone or k in modal or k not in OWN_KEYS | rule.hyper.keys() | {"betas"}}
    own = {k: v for k, v in own.items() if k not in ("params", "param_names", "rule", "mode", "fallback_options")}
    if not alone:
        own = {k: v for k, v in own.items() if k not in ("momentum", "nesterov")}
    return {**shared, **optimizer.fallback_options, **own, **options_of(group.get("fallback_options", {})), "rule": fallback}


def completed(optimizer, group: dict, rule, entries: list) -> dict:
    """A group with everything filled in; names, not objects, stand in it: a state_dict must load with weights_only=True."""
    named = spelled(rule, {name: value for name, value in group.items() if name not in OWN_KEYS})
    check_names(rule, named, tags=True)
    own = {name: value for name, value in named.items() if name in rule.hyper}
    hyper = hyper_of(rule, optimizer.hyper if rule is optimizer.rule else {}, own)
    first = group.get("first") or optimizer.options["first"] or rule.first
    chosen = {"rule": rule.name, "mode": mode_of(optimizer, group, rule)}
    chosen["first"] = one_of("first", first, ("equal", "zero"))
    chosen["maximize"] = truth("maximize", group.get("maximize", optimizer.options["maximize"]))
    if "lr_ratio" in group:
        chosen["lr_ratio"] = group["lr_ratio"]
    check_rounding(optimizer.settings["rounding"], [tensor_of(entry) for entry in entries])
    pairs = [(str(entry[0]), entry[1]) if isinstance(entry, tuple) else entry for entry in entries]
    return {"params": pairs, **chosen, **hyper, **{name: value for name, value in named.items() if name not in rule.hyper}}


def mode_of(optimizer, group: dict, rule) -> str:
    """The mode that a group asks for: by ``exact``, or by the ``mode`` of a group that it was copied from."""
    if "mode" in group and "exact" not in group:
        return rule.mode(MODES[one_of("mode", group["mode"], MODES)])
    return rule.mode(group.get("exact", optimizer.options["exact"] if rule.modes or rule is optimizer.rule else None))
