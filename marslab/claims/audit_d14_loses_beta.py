r"""The optimal gamma as printed in its second form, (D.14), has lost a beta.

With eps = m_t - grad F(x_t), z the fresh noise and Delta the difference on one sample, two steps of the rule itself give
eps_{t+1} = beta eps + (1 - beta) z + beta (gamma Delta - E Delta). Write S = E|Delta|^2, D = E|E Delta|^2 and G = (1 - beta)
E<Delta, z> + beta E<Delta, eps>. The derivative of E|eps_{t+1}|^2 in gamma is 2 beta [beta gamma S - beta D + G], so

    gamma* = (beta D - G)/(beta S),   printed: (D - G)/(beta S).

Their difference is (1 - beta) D/(beta S): about 5 % of D/S at beta = 0.95, a factor at small beta, and gamma* = 1 becomes
1/beta where there is no noise at all (D = S, G = 0), although then exact MARS with gamma = 1 has no error to correct. sympy
takes expectations of the squared linear form with E z = 0 and E Delta = delta given the past, and solves for gamma.
"""

import sympy

from marslab.claims import _audit_chain as chain
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars
from marslab.verdicts import Measurement

CROSS = (1 - chain.beta) * chain.P + chain.beta * chain.Q  # G


def printed():
    """(D.14), second form."""
    return (chain.D - CROSS) / (chain.beta * chain.S)


def corrected():
    """With the beta that was lost."""
    return (chain.beta * chain.D - CROSS) / (chain.beta * chain.S)


def measure(data, rule, formula):
    """Solve for the lowest point of E|eps_{t+1}|^2 and compare."""
    lowest = chain.optimal_gamma(rule)
    gap = sympy.oo if lowest is None else sympy.factor(formula() - lowest)
    note = f"formula − true = {sympy.sstr(gap)}; true γ* = {sympy.sstr(lowest)}"
    return Finding(Measurement(float(gap != 0), kind="symbolic"), note=note)


audit_d14_loses_beta = Claim(
    name="audit_d14_loses_beta",
    statement="The optimal γ is (‖EΔ‖² − G)/(β E‖Δ‖²), the second form of (D.14).",
    source="arXiv 2411.10438, (D.14)",
    kind="symbolic",
    unit="remaining differences",
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "formula": printed},
    plants={name: plant for name, plant in FAULTY_MARS.items() if "step" not in name},
)
