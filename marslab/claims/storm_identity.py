r"""STORM is exact MARS at gamma = 1 without clip, with a = 1 - beta.

c_t = g_t + beta/(1 - beta) (g_t - g'_t) gives m_t = beta m_{t-1} + (1 - beta) g_t + beta (g_t - g'_t) = g_t + beta (m_{t-1}
- g'_t): STORM's recursion. With the first step taken against a zero gradient both start at m_1 = g_1, STORM's published
start. With the paper's own start (x_1 = x_0, m_0 = 0) MARS has m_1 = (1 - beta) g_1, and while the gradient symbols are
shared the two estimates differ by exactly -beta^t g_1. Proved on the updates of both rules, for free symbols beta_t that
may follow any schedule, and for constant beta for all t.
"""

import sympy

from marslab import symbolic
from marslab.claims._symbols import FAULTY_MARS, nothing, remaining
from marslab.claims.base import Claim
from marslab.optimizers import mars, storm

STEPS = 5


def measure(data, rule):
    """Prove constant and scheduled beta, and the gap under the paper's own first step."""
    schedule = {"gamma": 1, "exact": True, "beta1": symbolic.scheduled("beta")}
    constant = symbolic.difference(rule, storm, gamma=1, exact=True, first="zero")
    scheduled = symbolic.difference(rule, storm, first="zero", steps=STEPS, **schedule)
    return remaining(constant, scheduled, *gaps(rule))


def gaps(rule):
    """Under the paper's first step: m_t(MARS) - m_t(STORM) + beta^t g_1, for t = 1..STEPS."""
    beta = sympy.Symbol("beta1")
    ours = symbolic.unroll(rule, STEPS, exact=True, first="equal", gamma=1)
    other = symbolic.unroll(storm, STEPS, first="zero")
    return [a.estimate - b.estimate + beta**a.t * symbolic.gradient(1) for a, b in zip(ours, other, strict=True)]


storm_identity = Claim(
    name="storm_identity",
    statement="Exact MARS at gamma = 1 without clip is STORM (up to −βᵗ g₁ under the paper's own first step).",
    source="arXiv 2411.10438, section 3.2",
    kind="symbolic",
    unit="remaining differences",
    predict=nothing,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
)
