"""RuleOptimizer: a rule, or several, on parameter groups."""

from collections.abc import Callable, Iterable

import torch

from marslab.errors import UsageError
from marslab.optim import exact as exactly
from marslab.optim import faults, live, saving
from marslab.optim.advance import advance_all
from marslab.optim.entries import entries_of, listed, once, patterns, tensor_of
from marslab.optim.groups import OWN_KEYS, Group, checked, hyper_of
from marslab.optim.planning import check_constructor, check_effects, options_of, planned, truth
from marslab.optim.rules import Kept, known_together, usable
from marslab.optim.single import jobs_of
from marslab.optimizers import find_rule
from marslab.rule import Rule

__all__ = ["RuleOptimizer"]

SAVED = ("rule", "hyper", "options", "fallback", "fallback_options", "settings", "buffers", "known", "order", "skipped")


class RuleOptimizer(torch.optim.Optimizer):
    """A rule on the parameters of a module, best handed over itself: embeddings are known by their type only then.

    params      a module, (name, tensor) pairs, tensors or groups; a group may name a rule, exact, first, maximize and
                hyper-parameters of its own (``betas`` too), which go before the constructor's; another key is a tag without
                effect, unless it resembles a hyper-parameter. A tensor that comes twice (tied weights) is one parameter, in
                the first group that has it
    rule        a rule or its name; ``hyper`` are its hyper-parameters (a group with another rule states its own); None: every
                group names one
    exact       True: the correction is taken on the same sample, so ``step`` needs a closure or ``prev_grads``; False: the last
                step's gradient (a copy of it is kept); None: the rule's declared mode, "either" meaning False
    first       "equal": a parameter's first step is not corrected; "zero": it is corrected against zero; None: the rule's own
    fallback    rule for what a matrix rule does not take: tensors with fewer than two axes and, where names are known,
                embeddings and the head. They get a group of their own with ``fallback_options``. Where a group has
                matrices too, its values are the matrices'; maximize and an explicit weight_decay reach the rest, unless
                ``fallback_options`` overrides it, and ``fallback_options`` of the group go before the constructor's. Where a
                group has no matrix, its values are the fallback's
    exclude     regular expressions (or one) for names that go to the fallback; None: the usual names of embeddings and heads,
                and, in a module, the tables of nn.Embedding; (): none
    maximize    True: ascend
    nonfinite   what to do where a gradient has an inf or NaN: "pass" it on, "skip" the step (every bit of state stays;
                ``optimizer.skipped`` counts), or "raise" NonFiniteGradient before anything is changed. Gradients alone are
                looked at: a finite one whose square overflows is not noticed
    clip_scope  "tensor": each tensor is clipped by its own norm; "global": by the norm over all tensors of clipping rules
    rounding    of parameters with 16 bits, whose state is float32: "master" keeps a float32 copy, "stochastic" rounds up or
                down at random (bfloat16; reproducible, no global random numbers), "nearest" loses small updates
    buffers     a module or modules whose buffers are restored after the pass at the previous weights, also where the
                forward pass assigns new ones
    compiled    "auto": tensors of at least a million elements run compiled; "never"
    matrices    of several processes that hold the same parameters: "each" computes all matrices, or they are "divided": each
                computes some and sends them to the others (the same numbers, less work, more traffic)

    A parameter without a gradient is skipped, and its own count of steps t stands still; at its next step it has no history
    and is not corrected. Groups are checked again when they have changed. Raises UsageError, in one sentence, for what cannot
    be run, before anything has moved.
    """

    def __init__(
        self,
        params: Iterable | torch.nn.Module,
        rule: Rule | str | None = None,
        *,
        exact: bool | None = None,
        first: str | None = None,
        fallback: Rule | str | None = None,
        fallback_options: dict | None = None,
        exclude: Iterable[str] | None = None,
        maximize: bool = False,
        nonfinite: str = "pass",
        clip_scope: str = "tensor",
        rounding: str = "master",
        buffers: torch.nn.Module | list | None = None,
        compiled: str = "auto",
        matrices: str = "each",
        **hyper,
    ):
        self.rule = None if rule is None else usable(rule, {})
        self.fallback = None if fallback is None else usable(fallback, {})
        self.hyper, self.fallback_options = hyper, options_of({} if fallback_options is None else fallback_options)
        self.options = {"exact": exact, "first": first, "maximize": truth("maximize", maximize), "exclude": patterns(exclude)}
        words = {"nonfinite": nonfinite, "clip_scope": clip_scope, "rounding": rounding, "compiled": compiled}
        self.settings = checked({**words, "matrices": matrices})
        self.buffers = exactly.modules_of(buffers)
        self.known, self.order, self.skipped, self.seen = {}, [], 0, {}
        check_constructor(self)
        self.complete = False  # within one call of the constructor, a tensor may come twice
        super().__init__(listed(params), {})
        check_effects(self)
        self.complete, self.defaults = True, self._defaults()

    @property
    def handed(self) -> list[torch.Tensor]:
        """The parameters in the order in which they were handed over, as the groups now hold them."""
        live = {(i, j): p for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])}
        return [live.pop(place) for place in self.order if place in live] + list(live.values())

    def add_param_group(self, group: dict) -> None:
        """Add parameters with a rule, a mode, a first step and hyper-parameters of their own; all are checked before any is.

        A key that neither is nor resembles a hyper-parameter, such as a name, is kept as it is and has no effect. A group
        copied from ``param_groups`` keeps its values. For rules for matrices see ``fallback``.
        """
        if not isinstance(group, dict):
            raise TypeError(f"a group is a dict such as {{'params': ...}}, not a {type(group).__name__}.")
        entries = self._fresh(entries_of(group))
        found = [part for routed, chosen in self._routed(group, entries) for part in planned(self, routed, chosen)]
        known, before = known_together(self.known, [rule for _, rule in found]), len(self.param_groups)
        try:
            for part, _ in found:
                self._append(part)
        except BaseException:
            del self.param_groups[before:]
            raise
        places = {id(p): (i, j) for i, one in enumerate(self.param_groups) for j, p in enumerate(one["params"])}
        self.known, self.order = known, self.order + [places[id(tensor_of(entry))] for entry in entries]

    def _fresh(self, entries: list) -> list:
        """The entries that are new; later than the constructor, as in torch, one that is not new is an error."""
        held = self.handed
        fresh = once(entries, held)
        if self.complete and len(fresh) < len(once(entries, ())):
            known = {id(p) for p in held}
            p = next(tensor_of(entry) for entry in entries if id(tensor_of(entry)) in known)
            raise UsageError(f"{self.name_of(p)} is in the optimizer already; leave it out of the new group.")
        return fresh

    def _routed(self, group: dict, entries: list) -> list[tuple]:
        """[(group, its entries), ...]: as handed over; ``released`` parts them by its own rules."""
        if "lr_ratio" in group:
            raise UsageError("lr_ratio is set by marslab.optim.released alone; give the group an lr of its own.")
        return [(group, entries)]

    def _append(self, part: dict) -> None:
        super().add_param_group(dict(part))
        added = self.param_groups[-1]  # torch adds its defaults, which may be another rule's
        self.param_groups[-1] = Group({k: v for k, v in added.items() if k in part or k in OWN_KEYS})

    def _defaults(self) -> dict:
        """As torch's optimizers show them: schedulers look for lr and betas, or momentum, here."""
        found = Group({} if self.rule is None else hyper_of(self.rule, self.hyper))
        return {**found, **{name: found[name] for name in ("betas", "momentum", "nesterov") if name in found}}

    def step(self, closure: Callable | None = None, *, prev_grads: Iterable | None = None):
        """One step; returns the closure's loss.

        The closure clears the gradients, calls backward and returns the loss. In the exact mode it is called at the previous
        weights and then at the current ones, with the same random state (torch, numpy, random), so the same dropout masks;
        before each call the gradients are set to None, so that both are of this sample alone: what other backward passes have
        left in them before does not count, and parts of a batch are added up inside the closure.

        A loop of one's own hands over ``prev_grads`` instead: the unscaled gradients at the previous weights on the same
        sample, one entry a parameter in the order in which the constructor got them; None means no history. An exact
        optimizer without state and with every lr at 0 takes a step without either, in which nothing moves: so
        torch.distributed.checkpoint makes the state into which it loads.
        """
        faults.check_call(closure)
        if closure is not None:
            faults.check_closure()
        live.check_groups(self)
        exact = any(group["mode"] == "exact" for group in self.param_groups)
        earlier = exactly.earlier_gradients(self, closure, prev_grads, exact)
        loss = None
        if closure is not None:
            loss = exactly.graded_here(self, closure) if exact else exactly.graded(closure)
        jobs = jobs_of(self)
        faults.check_kinds(self, jobs, earlier)
        if jobs and not faults.is_to_be_skipped(self, jobs, earlier):
            with torch.no_grad():
                exactly.keep_places(self, jobs, needed=exact and prev_grads is None)
                advance_all(self, jobs, earlier)
        return loss

    def name_of(self, p: torch.Tensor) -> str:
        """The name of a parameter, or its place in the order of the constructor, and its shape."""
        for group in self.param_groups:
            for place, other in enumerate(group["params"]):
                if other is p and "param_names" in group:
                    return f"{group['param_names'][place]!r}"
        place = next((i for i, other in enumerate(self.handed) if other is p), "?")
        return f"parameter {place} of shape {tuple(p.shape)}"

    def rule_of(self, group: dict) -> Rule:
        """The rule of a group."""
        known = self.__dict__.get("known", {})
        return known[group["rule"]] if group["rule"] in known else find_rule(group["rule"])

    def state_dict(self) -> dict:
        """As in torch, but a copy: later steps change nothing in it."""
        return saving.snapshot(self, super().state_dict)

    def load_state_dict(self, state_dict: dict) -> None:
        """As in torch, but the dictionary is copied, types stay (float32 state of 16-bit parameters), and names are checked."""
        saving.restore(self, super().load_state_dict, state_dict)

    def __getstate__(self) -> dict:
        own = {name: self.__dict__[name] for name in SAVED}
        for name in ("rule", "fallback"):
            own[name] = None if own[name] is None else Kept(own[name])
        own["known"] = {name: Kept(rule) for name, rule in own["known"].items()}
        return {**super().__getstate__(), **own}

    def __setstate__(self, state: dict) -> None:
        state = dict(state)
        for name in ("rule", "fallback"):
            if isinstance(state.get(name), Kept):
                state[name] = state[name].rule
        if "known" in state:
            state["known"] = {name: kept.rule for name, kept in state["known"].items()}
        super().__setstate__({**state, "seen": {}, "complete": True})
