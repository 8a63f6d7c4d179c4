r"""Lemma C.2 with the sign of G_{t+1} as it is stated is violated.

Lemma: E|eps_{t+1}|^2 <= beta^2 E|eps_t|^2 + 2 beta^2 L^2 E|x_{t+1} - x_t|^2 + 2 (1 - beta)^2 sigma^2 - M_{t+1}, M = S [A^2 -
(beta (1 - gamma) - A)^2], A = (G + beta tr Var Delta)/S, S = E|Delta|^2. The statement of G holds <grad F(x_{t+1}) - grad
F(x_t), F(x_t) - m_t> (F for grad F, and the difference the wrong way round), while the proof uses <Delta, m_t - grad F(x_t)>.
E|eps_{t+1}|^2 at gamma = 1 minus that at gamma equals M with the proof's sign (derived with sympy from the rule's recursion);
with the other sign 4 beta^2 (1 - gamma) E<Delta, eps_t> remains.

Counterexample: F = x^2/2 from its minimum, additive noise, m_1 = g_1 (beta_{1,1} = 0), c = 33, s = 6000 at L = rho = 1, and
gamma_2 the value that the stated sign calls optimal, 1 - A/beta. Since Delta = -eta g_1 and eps_1 = g_1, the lemma promises
2 beta^2 eta^2 sigma^2 + 2 (1 - beta)^2 sigma^2, but the error is 4 beta^2 sigma^2 + (1 - beta)^2 sigma^2. Measured over all
sequences of signs; claimed: left side / right side is at most 1.
"""

import sympy

from marslab.claims import _audit_chain as chain
from marslab.claims._audit import Coins, every, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.verdicts import Measurement

STATED, PROVED = -1, 1


def remaining(rule, sign) -> sympy.Expr:
    """What the change of the error from gamma = 1 leaves when M with this sign of the cross term is taken off."""
    left = chain.beta * (1 - chain.gamma)
    share = ((1 - chain.beta) * chain.P + sign * chain.beta * chain.Q + chain.beta * (chain.S - chain.D)) / chain.S
    stated = chain.S * (share**2 - (left - share) ** 2)
    return sympy.factor(sympy.expand(chain.gain(rule) - stated))


def run(rule, gamma, s, sigma):
    """Points and estimates of two steps over all sequences of signs."""
    options = dict(problem=quadratic([1.0], start_scale=0.0), noise=Coins(sigma), steps=2, seeds=every(2), exact=True)
    first, second = walk(rule, gamma=gamma, **options, **theorem(33, s))
    return first.x["x"], second.x["x"], first.states["x"]["m"], second.states["x"]["m"]


def both_sides(rule, sign, s, sigma) -> tuple[float, float]:
    """The two sides of the lemma at t = 1, at the gamma that is optimal for this sign of the cross term."""
    beta = float(theorem(33, s)["beta1"](2))
    old, new, estimate, _ = run(rule, 1.0, s, sigma)
    move, cross = ((new - old) ** 2).mean(), ((new - old) * (estimate - old)).mean()
    share = sign * beta * cross / move  # Delta = x_2 - x_1 on every sample: no spread, and no correlation with z
    gamma = float(1 - share / beta)
    gain = move * share**2
    left = (run(rule, gamma, s, sigma)[3] - new).square().mean()
    kept = beta**2 * (estimate - old).square().mean()
    return float(left), float(kept + 2 * beta**2 * move + 2 * (1 - beta) ** 2 * sigma**2 - gain)


def measure(data, rule, sign, s, sigma):
    """The left side of the lemma over its right side."""
    ratio = {which: left / right for which in (STATED, PROVED) for left, right in [both_sides(rule, which, s, sigma)]}
    note = f"with the proof's sign the ratio is {ratio[PROVED]:.3f}; the stated sign leaves "
    note += f"{sympy.sstr(remaining(rule, STATED))}, the proof's {remaining(rule, PROVED)}"
    return Finding(Measurement(ratio[sign], kind="exact"), 2, 3, note)


audit_sign_in_lemma_c2 = Claim(
    name="audit_sign_in_lemma_c2",
    statement="Lemma C.2 holds with G_{t+1} as it is stated, ⟨∇F(x_{t+1}) − ∇F(x_t), ∇F(x_t) − m_t⟩ in its cross term.",
    source="arXiv 2411.10438, lemma C.2",
    kind="exact",
    unit="left side / right side",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "sign": STATED, "s": 6000.0, "sigma": 1.0},
    plants={
        "the schedule starts earlier": Plant({"s": 1500.0}),
        "the noise is a tenth": Plant({"sigma": 0.1}),
    },
)
