r"""Approximate MARS at gamma = 1 is plain SGD: nothing is averaged.

From the identity m_t = (1 - gamma) e_t + gamma g_t (claim qhm_identity) at gamma = 1: m_t = g_t, for any schedule of
beta; with the paper's first step m_t = g_t - (product of the betas) g_1, and under the theorem's schedule beta_1 = 0,
so that m_t = g_t again.
"""

import sympy

from marslab import symbolic
from marslab.claims._symbols import FAULTY_MARS, nothing, remaining
from marslab.claims.base import Claim
from marslab.optimizers import mars, sgd

STEPS = 5


def measure(data, rule):
    """Prove both first-step conventions on the rules' own updates."""
    constant = symbolic.difference(rule, sgd, exact=False, first="zero", gamma=1)
    return remaining(constant, *gaps(rule, first="zero"), *gaps(rule, first="equal"))


def gaps(rule, first):
    """m_t - g_t (plus the product of the betas times g_1 under the paper's first step) for a scheduled beta, t = 1..STEPS."""
    steps = symbolic.unroll(rule, STEPS, exact=False, first=first, gamma=1, beta1=symbolic.scheduled("beta"))
    betas = [sympy.Symbol(f"beta_{t}") for t in range(1, STEPS + 1)]
    left = sympy.Integer(1) if first == "equal" else sympy.Integer(0)
    return [s.estimate - symbolic.gradient(s.t) + left * sympy.prod(betas[: s.t]) * symbolic.gradient(1) for s in steps]


approximate_is_sgd = Claim(
    name="approximate_is_sgd",
    statement="Approximate MARS at gamma = 1 without clip is plain SGD: mₜ = gₜ (up to −βᵗ g₁).",
    source="derived here",
    kind="symbolic",
    unit="remaining differences",
    predict=nothing,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
    figure="rate_approximate",
)
