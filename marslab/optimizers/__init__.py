"""Optimizers, one rule a file; the folder is scanned, so a new file is a new optimizer everywhere.

Template (``marslab/optimizers/my_momentum.py``)::

    from marslab.pieces import ema
    from marslab.rule import rule

    @rule(memory=("m",))
    def my_momentum(x, state, g, *, lr=0.01, beta1=0.9):
        \"\"\"Momentum: m = beta1 m + (1 - beta1) g, x = x - lr m. Source: ...\"\"\"
        m = ema(state["m"], g, beta1)
        return x - lr * m, dict(m=m)
"""

from marslab.errors import unknown
from marslab.registry import scan
from marslab.rule import Rule

RULES: dict[str, Rule] = scan(__name__, Rule)
globals().update(RULES)
__all__ = [*RULES]


def find_rule(rule: Rule | str) -> Rule:
    """A rule by name, or the rule itself; an unknown name is refused with the closest one."""
    if isinstance(rule, Rule):
        return rule
    if not isinstance(rule, str) or rule not in RULES:
        raise unknown("rule", rule, RULES)
    return RULES[rule]


def __dir__():
    return __all__
