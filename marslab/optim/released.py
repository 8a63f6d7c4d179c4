"""The optimizer that the authors of MARS released, with the arguments and the conventions of its constructor."""

from marslab.errors import UsageError, closest
from marslab.kinds import one_of
from marslab.optim.base import RuleOptimizer
from marslab.optim.groups import check_hyper, entries_of, listed, once, tensor_of

__all__ = ["released"]

OWN = ("lr", "betas", "eps", "weight_decay")  # what a group may override


def released(
    params,
    lr=3e-3,
    betas=(0.95, 0.99),
    eps=1e-8,
    weight_decay=0.0,
    amsgrad=False,
    gamma=0.025,
    is_approx=True,
    mars_type="mars-adamw",
    optimize_1d=False,
    lr_1d=3e-3,
    betas_1d=(0.9, 0.95),
    weight_decay_1d=0.1,
    **options,
) -> RuleOptimizer:
    """A RuleOptimizer that behaves like the public code of arXiv 2411.10438.

    The first correction is taken against zero; the clip is per tensor with radius 1. Tensors with exactly two axes take the
    MARS rule, with ``optimize_1d`` all (under "mars-shampoo" the others then take MARS-AdamW). The others take AdamW with
    ``betas_1d``, ``weight_decay_1d`` (overriding a group's weight_decay) and the learning rate lr * lr_1d / (lr at
    construction): their groups hold the same lr and the ratio as ``lr_scale``, so that one schedule serves all.
    mars_type: "mars-adamw", "mars-lion" or "mars-shampoo"; is_approx=False is the exact mode: step(prev_grads=[...]) or
    step(closure). ``params`` may be groups with lr, betas, eps or weight_decay of their own. ``options``: RuleOptimizer's.

    Unlike the public code: gradients and state are never shared with the caller, a tensor without a gradient has no history
    at its next step, and lr = 0 at construction is no error (the ratio is then 1).
    """
    one_of("mars_type", mars_type, ("mars-adamw", "mars-lion", "mars-shampoo"))
    common = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
    check_hyper("lr", lr_1d)
    check_hyper("lr", lr)
    ratio = lr_1d / lr if lr else 1.0
    plain = dict(rule="amsgrad" if amsgrad else "adamw", betas=betas_1d, weight_decay=weight_decay_1d, lr_scale=ratio)
    groups, seen = [], []
    for group in as_groups(params):
        entries = once(entries_of(group), seen)
        seen += [tensor_of(entry) for entry in entries]
        own = {**common, **{name: value for name, value in group.items() if name not in ("params", "initial_lr")}}
        check_names(own)
        two = [entry for entry in entries if tensor_of(entry).ndim == 2]
        rest = [entry for entry in entries if tensor_of(entry).ndim != 2]
        main = mars_group(own, mars_type, amsgrad, gamma)
        other = mars_group(own, "mars-adamw" if mars_type == "mars-shampoo" else mars_type, amsgrad, gamma)
        other = other if optimize_1d else {"lr": own["lr"], "eps": own["eps"], **plain}
        groups += [{"params": chosen, **how} for chosen, how in ((two, main), (rest, other)) if chosen or not entries]
    options = {"exclude": (), **options}  # embeddings and the head are matrices like others there
    optimizer = RuleOptimizer(groups, first="zero", **options) if is_approx else exact_form(groups, options)
    optimizer.handed = seen
    return optimizer


def as_groups(params) -> list:
    """Groups, also where one list of parameters was given."""
    params = listed(params)
    params = list(params)
    return params if params and isinstance(params[0], dict) else [{"params": params}]


def check_names(own) -> None:
    """A group may override what the released code reads from its groups."""
    for name in own:
        if name not in OWN:
            raise UsageError(f"the released code never reads {name!r} from a group: {closest(name, OWN)}")


def mars_group(own, mars_type, amsgrad, gamma) -> dict:
    """Rule and hyper-parameters of the MARS branch."""
    hyper = {name: own[name] for name in ("lr", "weight_decay")} | {"gamma": gamma, "betas": own["betas"]}
    if mars_type == "mars-lion":
        return {"rule": "mars_lion", **hyper}
    hyper["eps"] = own["eps"]
    if mars_type == "mars-shampoo":
        return {"rule": "mars_shampoo", "orthogonalization": "released", "shape_factor": "original", **hyper}
    return {"rule": "mars_amsgrad" if amsgrad else "mars_adamw", **hyper}


def exact_form(groups, options) -> RuleOptimizer:
    """The MARS groups in the exact mode."""
    groups = [{**group, "exact": True} if group["rule"].startswith("mars") else group for group in groups]
    return RuleOptimizer(groups, first="zero", **options)
