"""Any rule as a torch optimizer on the parameters of a module.

    optimizer = RuleOptimizer(model.parameters(), "mars_adamw", lr=3e-3)          # one gradient a step
    optimizer = RuleOptimizer(model.parameters(), "mars", exact=True, lr=0.1)     # two: call step(closure)

The rule is the one that the simulator and the proofs use; hyper-parameters are entries of the parameter groups, so that
torch's schedulers change them by name.
"""

from collections.abc import Callable, Iterable

import torch

from marslab.errors import UsageError
from marslab.kinds import is_axis, is_number, one_of
from marslab.optimizers import find_rule
from marslab.rule import Rule, check_range

__all__ = ["RuleOptimizer"]

OWN_KEYS = {"params", "param_names", "rule", "exact", "first", "mode", "initial_lr"}


class RuleOptimizer(torch.optim.Optimizer):
    """A rule on parameters or parameter groups.

    params    tensors, (name, tensor) pairs or groups; a group may name a rule, exact, first and hyper-parameters of its own
    rule      a rule or its name; ``hyper`` are its hyper-parameters (a group with another rule states its own)
    exact     True: the correction is taken on the same sample, so ``step`` needs a closure; False: the last step's gradient
              (a copy of it is kept); None: the rule's declared mode, "either" meaning False
    first     "equal": a parameter's first step is not corrected; "zero": it is corrected against zero; None: the rule's own
    fallback  rule for tensors with fewer than two axes where ``rule`` needs a matrix: they get a group of their own, with
              ``fallback_options``

    A parameter without a gradient is skipped, and its own count of steps t stands still.
    Raises UsageError, in one sentence, for what cannot be run.
    """

    def __init__(
        self,
        params: Iterable,
        rule: Rule | str,
        *,
        exact: bool | None = None,
        first: str | None = None,
        fallback: Rule | str | None = None,
        fallback_options: dict | None = None,
        **hyper,
    ):
        self.rule, self.hyper = find_rule(rule), hyper
        self.options = {"exact": exact, "first": first}
        self.fallback, self.fallback_options = fallback, fallback_options or {}
        self.known = {}
        super().__init__(params, {})

    def add_param_group(self, group: dict) -> None:
        """Add parameters with a rule, a mode, a first step and hyper-parameters of their own, all checked."""
        rule = find_rule(group.get("rule", self.rule))
        entries = [group["params"]] if torch.is_tensor(group["params"]) else group["params"]
        entries = entries if isinstance(entries, set) else list(entries)  # torch refuses a set: it has no order
        vectors = [entry for entry in entries if is_vector(entry)] if rule.matrix else []
        if vectors:
            self._check_fallback(rule, len(vectors), len(entries))
        if len(vectors) < len(entries) or not entries:
            kept = [entry for entry in entries if not is_vector(entry)] if vectors else entries
            super().add_param_group(self._complete({**group, "params": kept}, rule))
        if vectors:
            self.add_param_group({"params": vectors, "rule": self.fallback, **self.fallback_options})

    def _complete(self, group, rule):
        given = {**(self.hyper if rule is self.rule else {}), **{k: v for k, v in group.items() if k not in OWN_KEYS}}
        hyper = rule.check(given)
        for name, value in hyper.items():
            check_hyper(name, value)
        exact = group.get("exact", self.options["exact"] if rule.modes or rule is self.rule else None)
        first = group.get("first") or self.options["first"] or rule.first
        self.known[rule.name] = rule
        # names, not objects, stand in the group: a state_dict must load with weights_only=True
        chosen = {"rule": rule.name, "mode": rule.mode(exact), "first": one_of("first", first, ("equal", "zero"))}
        return {**{k: v for k, v in group.items() if k != "exact"}, **chosen, **hyper}

    def _check_fallback(self, rule, vectors, all_of_them):
        if self.fallback is None or find_rule(self.fallback).matrix:
            raise UsageError(
                f"{rule.name} needs matrices, but {vectors} of {all_of_them} tensors have fewer than two axes; "
                "name a fallback for them that takes any tensor, for example fallback='adamw'."
            )

    def step(self, closure: Callable | None = None):
        """One step; returns the closure's loss.

        The closure clears the gradients, calls backward and returns the loss. In the exact mode it is called at the previous
        weights and then at the current ones, with the same random state of torch (so the same dropout masks).
        """
        earlier = self._grade_at_previous_weights(closure)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._advance(p, group, earlier.get(p))
        return loss

    def _advance(self, p, group, earlier):
        rule, state = self._rule(group), self.state[p]
        if p.grad.is_sparse:
            raise UsageError(f"{rule.name} takes dense gradients only; build the embedding with sparse=False.")
        if "t" not in state:
            state.update(t=0, memory=rule.init(p))
        prev = self._previous(p, group, earlier)
        state["t"] += 1
        t = torch.tensor(float(state["t"]), dtype=torch.float64)
        hyper = {name: group[name] for name in rule.hyper}
        new, memory = rule(p, state["memory"], p.grad, prev, t=t, axes=tuple(range(-p.ndim, 0)), **hyper)
        state["memory"] = {name: owned(memory[name], p, p.grad) for name in (*rule.memory, *rule.scalars)}
        if group["mode"] == "approximate":
            # a copy: zero_grad(set_to_none=False) and the next backward overwrite the gradient in place
            state["previous"] = p.grad.clone()
        p.copy_(new)

    def _previous(self, p, group, earlier):
        """What the correction is taken against; ``earlier`` is the gradient at the previous weights, where there is one."""
        state = self.state[p]
        if group["mode"] == "single":
            return None
        if state["t"] == 0:
            return p.grad if group["first"] == "equal" else torch.zeros_like(p.grad)
        return earlier if group["mode"] == "exact" else state["previous"]

    def _rule(self, group) -> Rule:
        known = self.__dict__.get("known", {})
        return known[group["rule"]] if group["rule"] in known else find_rule(group["rule"])

    def _grade_at_previous_weights(self, closure) -> dict:
        """The gradients of all parameters where the last step was taken from, on the closure's sample (exact mode only)."""
        if all(group["mode"] != "exact" for group in self.param_groups):
            return {}
        if closure is None:
            raise UsageError("the exact mode needs step(closure): it clears the gradients, runs backward and returns the loss.")
        params = [p for group in self.param_groups for p in group["params"]]
        here = [p.detach().clone() for p in params]
        last = [self.state[p].get("last") for p in params]
        for p, place in zip(params, here, strict=True):
            self.state[p]["last"] = place
        if all(place is None for place in last):
            return {}
        try:
            overwrite(params, [h if place is None else place for place, h in zip(last, here, strict=True)])
            with torch.random.fork_rng(), torch.enable_grad():
                closure()
            return {p: torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in params}
        finally:
            overwrite(params, here)


def is_vector(entry) -> bool:
    """Whether a tensor, or a (name, tensor) pair, has fewer than two axes."""
    return (entry[1] if isinstance(entry, tuple) else entry).ndim < 2


def check_hyper(name: str, value) -> None:
    """Refuse what is no single value of a hyper-parameter: lists and schedules belong to the simulator."""
    if callable(value) or is_axis(value):
        raise UsageError(f"{name} = {value!r} is no single number; give each group one, and change it with a torch scheduler.")
    if is_number(value):
        check_range(name, torch.as_tensor(value, dtype=torch.float64))


@torch.no_grad()
def overwrite(params: list, values: list) -> None:
    """Copy the values into the parameters."""
    for p, value in zip(params, values, strict=True):
        p.copy_(value)


def owned(value, *borrowed: torch.Tensor):
    """The value itself, or a copy where it shares memory with a parameter or a gradient, which change in place."""
    value = torch.as_tensor(value)
    places = {tensor.untyped_storage().data_ptr() for tensor in borrowed}
    return value.clone() if value.untyped_storage().data_ptr() in places else value
