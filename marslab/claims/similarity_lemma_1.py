r"""Lemma 1 of the follow-up: delta_gamma^2 <= gamma^2 delta^2 + (1 - gamma)^2 L^2.

gamma d_xi - d = gamma (d_xi - d) - (1 - gamma) d, and E(d_xi - d) = 0, so that E|gamma d_xi - d|^2 = gamma^2 E|d_xi -
d|^2 + (1 - gamma)^2 |d|^2: with suprema over pairs of points, the lemma. The suprema need not be attained at one pair,
so it is an inequality, with equality at gamma = 0 and gamma = 1. The right side is least at gamma = L^2 / (L^2 +
delta^2). On mixtures of quadratics all suprema are largest eigenvalues. 60 random mixtures of indefinite quadratics and
gammas from -0.5 to 2; gamma d_xi is what the rule's own correction makes of d_xi. Reported: the largest excess over the
bound, relative to the bound.
"""

from marslab.claims._similarity import largest, mixtures, similarity, smoothness
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars
from marslab.verdicts import Measurement

GAMMAS = (-0.5, 0.0, 0.025, 0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 2.0)


def measure(data, rule):
    """The largest relative excess over the bound; 0 where the bound holds everywhere."""
    excesses = [excess(rule, hessians, gamma) for hessians in mixtures(60) for gamma in GAMMAS]
    slack = sum(value < -1e-9 for value in excesses)
    note = f"{len(excesses)} cases, in {slack} of them the bound is not attained; smallest ratio {1 + min(excesses):.2f}"
    return Finding(Measurement(max(0.0, *excesses), kind="exact"), note=note)


def excess(rule, hessians, gamma) -> float:
    """delta_gamma^2 over its bound, minus one; delta and L are of the mixture itself."""
    gap = hessians - hessians.mean(0)
    spread = largest((gap.mT @ gap).mean(0))
    return similarity(rule, hessians, gamma) / (gamma**2 * spread + (1 - gamma) ** 2 * smoothness(hessians)) - 1


similarity_lemma_1 = Claim(
    name="similarity_lemma_1",
    statement="δ_γ² ≤ γ² δ² + (1 − γ)² L² on every mixture of quadratics.",
    source="Understanding MARS (ICML 2026), lemma 1",
    kind="exact",
    unit="relative excess over the bound",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
)
