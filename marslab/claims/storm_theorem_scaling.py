r"""STORM's bound as printed does not scale with the function; without the missing factor it would beat the lower bound.

Multiply every sample function by a > 0. Then L, G, sigma and F(x_1) - min F gain a; k = b G^(2/3) / L gains a^(-1/3), w
gains a^2 and c gains a^2, so eta = k / (w + sum G_i^2)^(1/3) gains 1 / a and a_t = c eta^2 nothing: every iterate stays
where it is, and each gradient is a times itself. A true bound on the gradient norm, divided by a, therefore holds for all a
at once. M gains a^(4/3), so w^(1/6) M^(1/2) and M^(3/4) gain a; the printed last term 2 sigma^(1/3) / T^(1/3) gains only
a^(1/3). Let a grow: what remains is of order (log T)^(3/4) / T^(1/2), whatever sigma is, although no method of two
gradients a sample gets below order T^(-1/3) (arXiv 1912.02365). The proof's own step (2 M)^(1/2) (2 sigma^2 T)^(1/6) /
T^(1/2) gives 2^(2/3) M^(1/2) (sigma / T)^(1/3), which gains a. Counted here at a = 8: the terms whose gain is not a. That
the run scales is checked on the rule, by the largest relative difference between gradients of 8 F and 8 times those of F.
"""

import numpy as np

from marslab.claims._storm import Constants
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive
from marslab.optimizers import storm_adaptive
from marslab.problems import quadratic
from marslab.simulate import run
from marslab.verdicts import Measurement

SCALE, HORIZON, STEPS = 8.0, 10_000, 200
UNSCALED = {"L": 1.0, "G": 2.0, "sigma": 0.5, "gap": 0.5}


def measure(data, rule, printed, factors):
    """The number of terms that do not gain the factor; ``factors`` are those of L, G, sigma and the gap."""
    before = Constants(**UNSCALED)
    after = Constants(**{name: factor * value for factor, (name, value) in zip(factors, UNSCALED.items(), strict=True)})
    gains = [b / a for a, b in zip(before.terms(HORIZON, printed), after.terms(HORIZON, printed), strict=True)]
    wrong = sum(abs(gain / SCALE - 1) > 1e-9 for gain in gains)
    norms = [gradient_norms(rule, scale, constants) for scale, constants in ((1.0, before), (SCALE, after))]
    apart = float(np.max(np.abs(norms[1] / (SCALE * norms[0]) - 1)))
    note = f"gains at a = {SCALE:g}: {', '.join(f'{g:.3f}' for g in gains)}; the runs differ by {apart:.1e}"
    return Finding(Measurement(float(wrong), kind="exact"), STEPS, 2 * STEPS - 1, note)


def gradient_norms(rule, scale: float, constants: Constants) -> np.ndarray:
    """The gradient norms of a run on scale times x^2 / 2 with noise of scale times 1/2."""
    noise = additive(sigma=scale * 0.5, law="rademacher")
    found = run(rule, problem=quadratic(spectrum=(scale,)), noise=noise, steps=STEPS, seeds=4, **constants.hyper)
    return found.grad_norm.values


storm_theorem_scaling = Claim(
    name="storm_theorem_scaling",
    statement="STORM's bound as printed scales like a gradient: every term gains a when all sample functions gain a.",
    source="arXiv 1905.10018, theorem 1 (as quoted in public derivations)",
    kind="exact",
    unit="terms that do not scale",
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": storm_adaptive, "printed": True, "factors": (SCALE,) * 4},
    plants={"the noise does not scale": Plant({"factors": (SCALE, SCALE, 1.0, SCALE)})},
)
