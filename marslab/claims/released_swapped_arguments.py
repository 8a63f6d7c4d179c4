r"""In HeavyBall the correction is called with gamma and beta_1 in each other's place, and its gain is lost.

The function is declared with (g, old_g, beta1, gamma) and called with (g, old, gamma, beta1). Its factor is then beta
gamma/ (1 - gamma) in place of gamma beta/(1 - beta): smaller by (1 - beta)/(1 - gamma), a tenth at beta_1 = 0.9. At that
library's gamma = 0.0025 and beta_1 = 0.9 it is 0.00226 instead of 0.0225, which no comparison of losses can tell from
gamma = 0. Read off the update with sympy as the coefficient of the last gradient, -(1 - beta) gain, and walked on a
recorded stream (margin 1e-9).
"""

import sympy

from marslab import symbolic
from marslab.claims._ports import swapped
from marslab.claims._streams import divergence, noisy, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement

GAMMA, BETA = 0.0025, 0.9


def predict():
    """gamma beta/(1 - beta), the published gain."""
    return GAMMA * BETA / (1 - BETA)


def measure(data, rule, gamma, beta):
    """The gain of the rule, in closed form; how far its m is from MARS's in the note."""
    gain, stream = gain_of(rule), noisy()
    value = float(gain.subs({"gamma": gamma, "beta1": beta}))
    seen = walk(rule, stream, gamma=gamma, beta1=beta)["m"]
    meant, plain = (divergence(seen, walk(mars, stream, gamma=each, beta1=beta)["m"]) for each in (gamma, 0.0))
    note = f"gain = {gain}; m is {meant:.4f} from MARS's and {plain:.4f} from that of gamma = 0, relative"
    return Finding(Measurement(value, kind="exact"), len(stream), len(stream), note)


def gain_of(rule) -> sympy.Expr:
    """The factor of g - prev: prev enters m_2 of the exact form as -(1 - beta) gain h_2."""
    last = symbolic.unroll(rule, 2, exact=True, first="zero")[-1]
    beta = sympy.Symbol("beta1")
    return sympy.factor(-sympy.expand(last.estimate).coeff(symbolic.previous_gradient(2)) / (1 - beta))


released_swapped_arguments = Claim(
    name="released_swapped_arguments",
    statement="In HeavyBall the MARS correction has the published gain γβ/(1 − β).",
    source="HomebrewML/HeavyBall, mars_correction, against arXiv 2411.10438, equation 3.2",
    kind="exact",
    unit="gain of the correction",
    margin=1e-9,
    predict=predict,
    measure=measure,
    settings={"rule": swapped, "gamma": GAMMA, "beta": BETA},
    plants={"gamma is ten times as large": Plant({"gamma": 0.025}), "beta is closer to one": Plant({"beta": 0.95})},
)
