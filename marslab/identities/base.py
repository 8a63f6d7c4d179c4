"""What an identity states: two rules, the map of their hyper-parameters, and the relation of their states."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from marslab.errors import UsageError, unknown
from marslab.kinds import one_of
from marslab.optimizers import find_rule
from marslab.rule import Rule

__all__ = ["FIRST", "Failure", "Identity"]

FIRST = ("equal", "zero")


@dataclass(frozen=True)
class Failure:
    """A condition that is dropped, and what happens then.

    name         a word or two: "clip", "gamma varies"
    then         what happens
    a, b         hyper-parameters put in the place of the identity's, values or functions as there
    varying      free hyper-parameters that take another value at every step
    exact        the form of rule A instead of the identity's
    other_start  rule B starts by the other convention
    first        the conventions under which it shows
    """

    name: str
    then: str
    a: Mapping = field(default_factory=dict)
    b: Mapping = field(default_factory=dict)
    varying: tuple[str, ...] = ()
    exact: bool | None = None
    other_start: bool = False
    first: tuple[str, ...] = FIRST


@dataclass(frozen=True)
class Identity:
    """Two rules that are one, with the conditions.

    rule_a, rule_b   the rules, by name or themselves; A belongs to the MARS family and keeps ``m``
    free             the free hyper-parameters, with the values that the numerical check takes
    a, b             the map: hyper-parameter -> value, or a function of h, which holds the free hyper-parameters at this
                     step, ``h.t``, and ``h.product``, the running product of A's beta1 before this step
    invariant        entry of A's state -> function of (h, state of B, last gradient); what is missing may be anything
    tied             entries of B's state that equal others of it
    forms            of A: False approximate, True exact; the identity holds in each
    lag              None: it holds under both first-step conventions. Else it holds under "zero" alone, and under "equal"
                     A's m lacks ``start * g_1`` at t = 1, times ``decay`` at each further step: A's hyper-parameters
                     -> (start, decay)
    points           whether the points x agree, else the estimates alone
    reading          (A's, B's) functions of (h, state, g) of what is compared beside the points; None: the rules' estimates
    statement, source, note   for the reader: the equation with its map, where it is stated, and what is to be said of it
    failures         conditions under which it fails
    """

    name: str
    statement: str
    source: str
    rule_a: Rule | str
    rule_b: Rule | str
    free: Mapping[str, float]
    a: Mapping
    b: Mapping
    invariant: Mapping[str, Callable]
    failures: tuple[Failure, ...]
    tied: Mapping[str, str] = field(default_factory=dict)
    forms: tuple[bool, ...] = (False,)
    lag: Callable | None = None
    points: bool = True
    reading: tuple[Callable | None, Callable | None] = (None, None)
    note: str = ""

    def __post_init__(self):
        for rule, given in zip(self.rules, (self.a, self.b), strict=True):
            for name in {*given} - {*rule.hyper}:
                raise unknown(f"hyper-parameter of {rule.name} in identity {self.name}:", name, rule.hyper)
        for name in {*self.invariant} - {*self.rules[0].memory, *self.rules[0].scalars}:
            raise UsageError(f"identity {self.name}: {self.rules[0].name} keeps no {name!r}, so no invariant can hold for it.")

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """Rule A and rule B."""
        return find_rule(self.rule_a), find_rule(self.rule_b)

    def lags(self, first: str) -> bool:
        """Whether the two differ by the stated remainder under a convention."""
        return one_of("first", first, FIRST) == "equal" and self.lag is not None

    def form(self, exact: bool | None) -> bool:
        """The form of rule A: what is asked for, if the identity covers it."""
        if exact is not None and exact not in self.forms:
            only = "exact" if self.forms[0] else "approximate"
            raise UsageError(f"{self.name} is stated for the {only} form only, not for exact = {exact!r}; leave exact out.")
        return self.forms[0] if exact is None else exact

    def failure(self, name: str | Failure | None) -> Failure | None:
        """A failing condition by name; an unknown name is refused with the closest one."""
        known = {one.name: one for one in self.failures}
        if name is None or isinstance(name, Failure):
            return name
        if name not in known:
            raise unknown(f"condition of {self.name}", name, known)
        return known[name]

    def read(self, side: int, h, state: Mapping, g):
        """What is compared beside the points."""
        own = self.reading[side]
        return own(h, state, g) if own else self.rules[side].estimate(state, g)
