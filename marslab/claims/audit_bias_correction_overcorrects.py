r"""Under the released first step the bias correction over-corrects by 1 + gamma beta^t/(1 - beta^t).

The released code takes the first correction against a zero gradient: c_1 = (1 + kappa) g_1, kappa = gamma beta/(1 - beta),
so m_1 = (1 - beta + gamma beta) g_1. For a constant gradient g all later corrections vanish, and m_t = (1 - (1 - gamma)
beta^t) g by induction: beta (1 - (1 - gamma) beta^(t-1)) + 1 - beta = 1 - (1 - gamma) beta^t. Adam's correction divides by
1 - beta^t, which is right for m_t = (1 - beta^t) g, the paper's first step (c_1 = g_1); here it leaves m_t/(1 - beta^t) =
[1 + gamma beta^t/(1 - beta^t)] g: 1.475 g at t = 1 and 1.037 g at t = 10 at the published gamma = 0.025, beta = 0.95. At t
= 1 the factor cancels in m/sqrt v, later not, since v forgets more slowly. Proved on the rule's own steps for t = 1..6,
exact and approximate form.
"""

import sympy

from marslab import symbolic
from marslab.claims._symbols import FAULTY_MARS, nothing, remaining
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars

STEPS = 6
beta, gamma = sympy.symbols("beta1 gamma")


def factor(t: int) -> sympy.Expr:
    """What the bias-corrected average of a constant gradient is multiplied by."""
    return 1 + gamma * beta**t / (1 - beta**t)


def gaps(rule, exact: bool, first: str) -> list[sympy.Expr]:
    """m_t/(1 - beta^t) minus the factor, in units of the constant gradient, t = 1..STEPS."""
    constant = {f(t): 1 for t in range(1, STEPS + 1) for f in (symbolic.gradient, symbolic.previous_gradient)}
    steps = symbolic.unroll(rule, STEPS, exact=exact, first=first)
    return [s.estimate.xreplace(constant) / (1 - beta**s.t) - factor(s.t) for s in steps]


def measure(data, rule, first):
    """Prove the factor for both forms."""
    found = remaining(*gaps(rule, True, first), *gaps(rule, False, first))
    published = {gamma: 0.025, beta: 0.95}
    note = ", ".join(f"t = {t}: {float(factor(t).subs(published)):.3f}" for t in (1, 10, 50))
    return Finding(found.measurement, note=f"{found.note}; at the published values {note}")


audit_bias_correction_overcorrects = Claim(
    name="audit_bias_correction_overcorrects",
    statement="With the released first step the bias-corrected m of a constant gradient is 1 + γβᵗ/(1 − βᵗ) times too large.",
    source="derived here; the released code of arXiv 2411.10438",
    kind="symbolic",
    unit="remaining differences",
    predict=nothing,
    measure=measure,
    settings={"rule": mars, "first": "zero"},
    plants={"the first step is the paper's": Plant({"first": "equal"})}
    | {name: plant for name, plant in FAULTY_MARS.items() if "step" not in name},
)
