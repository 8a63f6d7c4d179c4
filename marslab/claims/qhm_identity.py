r"""Approximate MARS without clip is quasi-hyperbolic momentum with nu = 1 - gamma.

With e_t = beta e_{t-1} + (1 - beta) g_t the claim is m_t = (1 - gamma) e_t + gamma g_t. If it holds at t - 1, then
beta m_{t-1} + (1 - beta) g_t + gamma beta (g_t - g_{t-1}) = beta (1 - gamma) e_{t-1} + (1 - beta + gamma beta) g_t,
which is the claim at t. Against a zero gradient at the first step it is exact; with the paper's first step the
estimates differ by -gamma beta^t g_1. It breaks when gamma varies: the note shows the first difference then.
"""

import sympy

from marslab import symbolic
from marslab.claims._symbols import FAULTY_MARS, nothing, remaining
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars, qhm

STEPS = 5


def measure(data, rule):
    """Prove both first-step conventions, and show what remains when gamma varies."""
    gamma = sympy.Symbol("gamma")
    constant = symbolic.difference(rule, qhm, exact=False, first="zero", b={"nu": 1 - gamma})
    found = remaining(constant, *gaps(rule))
    varying = symbolic.difference(rule, qhm, exact=False, first="zero", steps=3,
                                  a={"gamma": symbolic.scheduled("gamma")},
                                  b={"nu": lambda t: 1 - sympy.Symbol(f"gamma_{t}")})  # fmt: skip
    note = f"{found.note}; with a varying gamma there remains {sympy.sstr(sympy.factor(varying))}"
    return Finding(found.measurement, note=note)


def gaps(rule):
    """Under the paper's first step: m_t(MARS) - estimate_t(QHM) + gamma beta^t g_1, for t = 1..STEPS."""
    beta, gamma = sympy.symbols("beta1 gamma")
    ours = symbolic.unroll(rule, STEPS, exact=False, first="equal")
    quasi = symbolic.unroll(qhm, STEPS, nu=1 - gamma)
    return [a.estimate - b.estimate + gamma * beta**a.t * symbolic.gradient(1) for a, b in zip(ours, quasi, strict=True)]


qhm_identity = Claim(
    name="qhm_identity",
    statement="Approximate MARS without clip is quasi-hyperbolic momentum with ν = 1 − γ (up to −γβᵗ g₁).",
    source="derived here; arXiv 1810.06801 for QHM",
    kind="symbolic",
    unit="remaining differences",
    predict=nothing,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
)
