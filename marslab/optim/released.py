"""The optimizer that the authors of MARS released, with the arguments and the conventions of its constructor."""

from dataclasses import dataclass

from marslab.errors import UsageError, closest
from marslab.kinds import one_of
from marslab.optim.base import RuleOptimizer
from marslab.optim.entries import tensor_of
from marslab.optim.groups import OWN_KEYS, SWITCHES, TAGS, WORDS, all_names, check_number, resembles

__all__ = ["Released", "released"]

OWN = ("lr", "betas", "eps", "weight_decay")  # what a group may override
OPTIONS = ("maximize", *WORDS, "buffers")


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
    construction): their groups hold the same lr and the ratio as ``lr_ratio``, so that one schedule serves all.
    mars_type: "mars-adamw", "mars-lion" or "mars-shampoo"; is_approx=False is the exact mode: step(prev_grads=[...]) or
    step(closure). ``params`` may be groups with lr, betas, eps or weight_decay of their own; so may later ones, which are
    parted likewise. ``options``: RuleOptimizer's maximize, nonfinite, clip_scope, rounding, buffers, compiled and matrices.

    Unlike the public code: gradients and state are never shared with the caller, a tensor without a gradient has no history
    at its next step, and lr = 0 at construction is no error (the ratio is then 1).
    """
    one_of("mars_type", mars_type, ("mars-adamw", "mars-lion", "mars-shampoo"))
    check_options(options)
    check_number("lr_1d", lr_1d, 3e-3)
    if lr_1d < 0:
        raise UsageError(f"lr_1d = {lr_1d!r} lies outside [0, inf); choose a value inside.")
    check_number("lr", lr, 3e-3)
    common = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
    vectors = dict(betas=betas_1d, weight_decay=weight_decay_1d, lr_ratio=lr_1d / lr if lr else 1.0)
    return Released(params, Parting(common, vectors, mars_type, amsgrad, gamma, optimize_1d, not is_approx), **options)


def check_options(options: dict) -> None:
    """Refuse what is neither an argument of the released constructor nor an option of the whole optimizer."""
    for name in options:
        if name not in OPTIONS:
            known = ("gamma", "is_approx", "mars_type", "optimize_1d", "lr_1d", "betas_1d", "weight_decay_1d", *OWN, *OPTIONS)
            near = closest(name, known)
            say = near if near.startswith("did") else "leave it out, or use MarsAdamW, MarsLion or MarsShampoo."
            raise UsageError(f"the released optimizer has no option {name!r}: {say}")


@dataclass(frozen=True)
class Parting:
    """How the public code parts a group: tensors with two axes, and the others."""

    common: dict
    vectors: dict
    mars_type: str
    amsgrad: bool
    gamma: float
    optimize_1d: bool
    exact: bool

    def parts(self, group: dict, entries: list) -> list[tuple]:
        """[(group, its entries), ...] with a rule each."""
        own = {**self.common, **{name: value for name, value in group.items() if name in OWN}}
        tags = {name: value for name, value in group.items() if name not in OWN and name != "params"}
        two = [entry for entry in entries if tensor_of(entry).ndim == 2]
        rest = [entry for entry in entries if tensor_of(entry).ndim != 2]
        main = self.mars(own, self.mars_type)
        if self.optimize_1d:
            other = self.mars(own, "mars-adamw" if self.mars_type == "mars-shampoo" else self.mars_type)
        else:
            other = {"rule": "amsgrad" if self.amsgrad else "adamw", "lr": own["lr"], "eps": own["eps"], **self.vectors}
        found = [({**tags, **how}, chosen) for chosen, how in ((two, main), (rest, other)) if chosen]
        return found or [({**tags, **main}, [])]

    def mars(self, own: dict, mars_type: str) -> dict:
        """Rule and hyper-parameters of the MARS branch."""
        hyper = {name: own[name] for name in ("lr", "weight_decay", "betas")} | {"gamma": self.gamma, "exact": self.exact}
        if mars_type == "mars-lion":
            return {"rule": "mars_lion", **hyper}
        hyper["eps"] = own["eps"]
        if mars_type == "mars-shampoo":
            return {"rule": "mars_shampoo", "orthogonalization": "released", "shape_factor": "original", **hyper}
        return {"rule": "mars_amsgrad" if self.amsgrad else "mars_adamw", **hyper}


class Released(RuleOptimizer):
    """What ``released`` returns: a RuleOptimizer whose groups, also later ones, are parted as the public code parts them."""

    def __init__(self, params, parting: Parting, **options):
        self.parting = parting
        super().__init__(params, first="zero", exclude=(), **options)  # embeddings and the head are matrices like others there

    def _routed(self, group: dict, entries: list) -> list[tuple]:
        if "mode" in group:  # a copy of one of its groups
            return [(group, entries)]
        check_names(group)
        return self.parting.parts(group, entries)

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "parting": self.parting}


def check_names(group: dict) -> None:
    """A group may override what the released code reads from its groups; a tag stays one."""
    for name in group:
        if name in (*OWN, "params") or name in TAGS:
            continue
        if name in all_names() or name in OWN_KEYS or name in SWITCHES or resembles(name, {*OWN} | all_names()):
            raise UsageError(f"the released code never reads {name!r} from a group: {closest(name, OWN)}")
