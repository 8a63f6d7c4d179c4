r"""Example 1 of the follow-up: one of n coordinates at a time, where scaling helps by the factor n.

f_i(x) = (K/2) x_i^2 with i uniform in 1..n = d. The Hessians K e_i e_i' have the mean (K/n) I, so L = K/n, and the mean
of (gamma A_i - A)'(gamma A_i - A) is diagonal with the entries (1/n) (gamma K - K/n)^2 + (1 - 1/n) (K/n)^2 = (gamma^2 n
- 2 gamma + 1) K^2 / n^2. Hence delta_gamma^2 is that, delta^2 = (n - 1) K^2 / n^2, the minimum lies at gamma* = 1/n =
L^2 / (L^2 + delta^2), and delta^2 / delta_{gamma*}^2 = n: lemma 1 is tight. (Its gradient's variance grows with |x|, so
a bound sigma^2 needs a bounded region.) Measured from the rule's own corrections by eigenvalues, for n from 2 to 40:
the largest relative difference to the formula over gamma, to gamma* and to the factor n.
"""

import torch

from marslab.claims._similarity import lowest, similarity
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars
from marslab.verdicts import Measurement

SIZES, GAMMAS, CURVATURE = (2, 3, 5, 10, 40), (-1.0, 0.0, 0.025, 0.5, 1.0, 2.0), 3.0


def measure(data, rule):
    """The largest relative difference to the example's three formulas."""
    gaps = [gap for n in SIZES for gap in differences(rule, n)]
    return Finding(Measurement(max(gaps), kind="exact"), note=f"n in {SIZES}, gamma in {GAMMAS}, {len(gaps)} comparisons")


def differences(rule, n: int) -> list[float]:
    """Relative differences for one n."""
    hessians = torch.diag_embed(CURVATURE * torch.eye(n, dtype=torch.float64))
    values = [similarity(rule, hessians, gamma) for gamma in GAMMAS]
    wanted = [(gamma**2 * n - 2 * gamma + 1) * CURVATURE**2 / n**2 for gamma in GAMMAS]
    best = lowest([similarity(rule, hessians, gamma) for gamma in (0.0, 1.0, 2.0)])
    factor = similarity(rule, hessians, 1.0) / similarity(rule, hessians, 1 / n)
    return [*(abs(a / b - 1) for a, b in zip(values, wanted, strict=True)), abs(best * n - 1), abs(factor / n - 1)]


similarity_example_1 = Claim(
    name="similarity_example_1",
    statement="Example 1: δ_γ² = (γ²n − 2γ + 1)K²/n², least at γ = 1/n, where it is n times less than δ².",
    source="Understanding MARS (ICML 2026), example 1",
    kind="exact",
    unit="relative difference",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
)
