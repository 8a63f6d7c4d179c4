r"""At a point that does not move, exact MARS is a moving average, whatever gamma is.

With x_{t-1} = x_t both gradients of a step are g(x_t, xi_t), so c_t = g_t and m_t = e_t = beta e_{t-1} + (1 - beta) g_t
for every gamma, every noise and every beta: the correction acts on moves alone. Proved on the rule's updates with h_t =
g_t (the first step uncorrected, as in the paper), and measured by exact moments: Var(m)/Var(g) = (1 - beta)/(1 + beta)
for independent noise. The margin is rounding.
"""

import numpy as np
import sympy

from marslab import symbolic
from marslab.claims._frozen import BETA, variances
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive
from marslab.optimizers import mars, momentum
from marslab.verdicts import Measurement

GAMMAS = (0.0, 0.025, 0.5, 1.0)
STEPS = 5


def measure(data, rule, exact, noise):
    """The largest relative deviation of the variance over gamma; infinite where the proof leaves a difference."""
    seen = variances(rule, noise, exact, GAMMAS)
    deviation = float(np.max(np.abs(seen * (1 + BETA) / (1 - BETA) - 1)))
    left = [gap for gap in gaps(rule, exact) if sympy.simplify(gap) != 0]
    note = f"Var(m)/Var(g) = {seen[-1]:.6f} at gamma = {GAMMAS[-1]:g}; proof: {len(left)} of {STEPS} differences remain"
    return Finding(Measurement(np.inf if left else deviation, kind="exact"), note=note)


def gaps(rule, exact):
    """The estimate with h_t = g_t, less the moving average's, for t = 1..STEPS."""
    still = {symbolic.previous_gradient(t): symbolic.gradient(t) for t in range(2, STEPS + 1)}
    pair = symbolic.unroll(rule, STEPS, exact=exact, first="equal"), symbolic.unroll(momentum, STEPS)
    return [ours.estimate.xreplace(still) - average.estimate for ours, average in zip(*pair, strict=True)]


frozen_exact_is_ema = Claim(
    name="frozen_exact_is_ema",
    statement="At a frozen point exact MARS is the moving average of the gradients for every γ: nothing is corrected.",
    source="derived here",
    kind="exact",
    unit="relative difference",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": True, "noise": additive(1.0)},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "the noise is correlated": Plant({"noise": additive(1.0, correlation=0.5)}),
    },
)
