"""RuleOptimizer: a rule, or several, on parameter groups."""

from collections.abc import Callable, Iterable

import torch

from marslab.errors import UsageError
from marslab.kinds import one_of
from marslab.optim import exact as exactly
from marslab.optim import faults, saving
from marslab.optim.advance import Job, advance_all
from marslab.optim.groups import OWN_KEYS, Group, checked, checked_needs, entries_of, hyper_of, listed, once, split, tensor_of
from marslab.optimizers import find_rule
from marslab.rule import Rule

__all__ = ["RuleOptimizer"]


class RuleOptimizer(torch.optim.Optimizer):
    """A rule on the parameters of a module, on tensors, (name, tensor) pairs or parameter groups.

    params      a module, tensors, (name, tensor) pairs or groups; a group may name a rule, exact, first, maximize and
                hyper-parameters of its own (``betas`` too). A tensor that comes twice (tied weights) is one parameter, in the
                first group that has it
    rule        a rule or its name; ``hyper`` are its hyper-parameters (a group with another rule states its own); None: every
                group names one
    exact       True: the correction is taken on the same sample, so ``step`` needs a closure or ``prev_grads``; False: the last
                step's gradient (a copy of it is kept); None: the rule's declared mode, "either" meaning False
    first       "equal": a parameter's first step is not corrected; "zero": it is corrected against zero; None: the rule's own
    fallback    rule for what a matrix rule does not take: tensors with fewer than two axes and, where names are known,
                embeddings and the head. They get a group of their own with ``fallback_options``; maximize and an explicit
                weight_decay come from the group that they were in, unless ``fallback_options`` overrides it
    exclude     regular expressions for names that go to the fallback; None: the usual names of embeddings and heads, and the
                tables of nn.Embedding; (): none
    maximize    True: ascend
    nonfinite   what to do where a gradient has an inf or NaN: "pass" it on, "skip" the step (every bit of state stays;
                ``optimizer.skipped`` counts), or "raise" NonFiniteGradient before anything is changed
    clip_scope  "tensor": each tensor is clipped by its own norm; "global": by the norm over all tensors of clipping rules
    rounding    of parameters with 16 bits, whose state is float32: "master" keeps a float32 copy, "stochastic" rounds up or
                down at random (bfloat16; reproducible, no global random numbers), "nearest" loses small updates
    buffers     a module or modules whose buffers are restored after the pass at the previous weights
    compiled    "auto": tensors of at least a million elements run compiled; "never"
    matrices    of several processes that hold the same parameters: "each" computes all matrices, or they are "divided": each
                computes some and sends them to the others (the same numbers, less work, more traffic)

    A parameter without a gradient is skipped, and its own count of steps t stands still; at its next step it has no history
    and is not corrected. Raises UsageError, in one sentence, for what cannot be run.
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
        self.rule, self.hyper = None if rule is None else find_rule(rule), hyper
        self.options = {"exact": exact, "first": first, "maximize": maximize, "exclude": exclude}
        self.fallback, self.fallback_options = fallback, fallback_options or {}
        words = {"nonfinite": nonfinite, "clip_scope": clip_scope, "rounding": rounding, "compiled": compiled}
        words["matrices"] = matrices
        self.settings = checked(words)
        self.buffers = exactly.modules_of(buffers)
        self.known, self.handed, self.skipped = {}, [], 0
        super().__init__(listed(params), {})
        self.defaults = self._defaults()

    def add_param_group(self, group: dict) -> None:
        """Add parameters with a rule, a mode, a first step and hyper-parameters of their own, all checked."""
        rule = group.get("rule", self.rule)
        if rule is None:
            raise UsageError("a group names no rule, and the optimizer has none; give one, for example rule='mars_adamw'.")
        rule = checked_needs(find_rule(rule))
        entries = once(entries_of(group), self.handed)
        matrices, rest = split(entries, self.options["exclude"]) if rule.matrix else (entries, [])
        if rest:
            self._check_fallback(rule, len(rest), len(entries))
        if matrices or not rest:
            self._append({**group, "params": matrices}, rule)
        if rest:
            self._append(self._rest(group, rest), checked_needs(find_rule(self.fallback)))
        self.handed += [tensor_of(entry) for entry in entries]

    def _defaults(self) -> dict:
        """As torch's optimizers show them: schedulers look for lr and betas here."""
        found = {} if self.rule is None else hyper_of(self.rule, self.hyper)
        betas = tuple(found[name] for name in ("beta1", "beta2") if name in found)
        return {**found, "betas": betas} if betas else found

    def _append(self, group, rule):
        if group["params"] and isinstance(group["params"][0], tuple):
            group["params"] = [(str(name), p) for name, p in group["params"]]
        complete = self._complete(group, rule)
        super().add_param_group(dict(complete))
        added = self.param_groups[-1]  # torch adds its defaults, which may be another rule's
        self.param_groups[-1] = Group({k: v for k, v in added.items() if k in complete or k in OWN_KEYS})

    def _rest(self, group, rest):
        """The fallback's group: of the group's own values only maximize and the weight decay reach it."""
        given = {**self.hyper, **group}
        shared = {name: given[name] for name in ("maximize", "weight_decay") if name in given}
        if "weight_decay" not in find_rule(self.fallback).hyper:
            shared.pop("weight_decay", None)
        return {**shared, **self.fallback_options, "params": rest, "rule": self.fallback}

    def _complete(self, group, rule):
        given = {**(self.hyper if rule is self.rule else {}), **{k: v for k, v in group.items() if k not in OWN_KEYS}}
        hyper = hyper_of(rule, given)
        exact = group.get("exact", self.options["exact"] if rule.modes or rule is self.rule else None)
        first = group.get("first") or self.options["first"] or rule.first
        self.known[rule.name] = rule
        # names, not objects, stand in the group: a state_dict must load with weights_only=True
        chosen = {"rule": rule.name, "mode": rule.mode(exact), "first": one_of("first", first, ("equal", "zero"))}
        chosen["maximize"] = bool(group.get("maximize", self.options["maximize"]))
        return {**{k: v for k, v in group.items() if k in OWN_KEYS - {"exact"}}, **chosen, **hyper}

    def _check_fallback(self, rule, rest, all_of_them):
        if self.fallback is None or find_rule(self.fallback).matrix:
            raise UsageError(
                f"{rule.name} needs matrices, but {rest} of {all_of_them} tensors have fewer than two axes or are embeddings "
                "or heads by name; name a fallback for them that takes any tensor, for example fallback='adamw'."
            )

    def step(self, closure: Callable | None = None, *, prev_grads: Iterable | None = None):
        """One step; returns the closure's loss.

        The closure clears the gradients, calls backward and returns the loss. In the exact mode it is called at the previous
        weights and then at the current ones, with the same random state (torch, numpy, random), so the same dropout masks.
        A loop of one's own hands over ``prev_grads`` instead: the unscaled gradients at the previous weights on the same
        sample, one entry a parameter in the order in which the constructor got them; None means no history.
        """
        if closure is not None:
            faults.check_closure()
        exact = any(group["mode"] == "exact" for group in self.param_groups)
        earlier = exactly.earlier_gradients(self, closure, prev_grads, exact)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        jobs = [
            Job(p, group, self.rule_of(group)) for group in self.param_groups for p in group["params"] if p.grad is not None
        ]
        jobs = [job for job in jobs if job.p.numel()]
        faults.check_kinds(jobs, earlier)
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
        own = ("rule", "hyper", "options", "fallback", "fallback_options", "settings", "buffers", "known", "handed", "skipped")
        return {**super().__getstate__(), **{name: self.__dict__[name] for name in own}}
