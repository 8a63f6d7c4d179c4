r"""Lemma C.2's recursion of the error, as an equality in both its steps.

Without clip, m' = beta m + (1 - beta) c with c = g(x', xi) + gamma beta / (1 - beta) D and D = g(x', xi) - g(x, xi). With e
= m - grad F(x), z = g(x', xi) - grad F(x') this is e' = beta e + (1 - beta) z + beta (gamma D - E D): proved on the rule
itself. Put A = (1 - beta) z + beta e + beta (D - E D). Then e' = A - beta (1 - gamma) D, so

    E|e'|^2 = E|A|^2 - 2 beta (1 - gamma) E<D, A> + beta^2 (1 - gamma)^2 E|D|^2,

proved with E over three samples of free probabilities and free gradients, E z = 0 and E D = grad F(x') - grad F(x) among
the relations. Further E|A|^2 = beta^2 E|e|^2 + E|(1 - beta) z + beta (D - E D)|^2, whose last term is at most 2 (1 -
beta)^2 sigma^2 + 2 beta^2 E|D|^2 by |a + b|^2 = 2 |a|^2 + 2 |b|^2 - |a - b|^2 and E|D - E D|^2 = E|D|^2 - |E D|^2: the
lemma's inequality, whose slack is thus E|(1 - beta) z - beta (D - E D)|^2 + 2 beta^2 |E D|^2 beside what E|z|^2 <= sigma^2
and E|D|^2 <= L^2 |x' - x|^2 lose.
"""

import sympy

from marslab import optimizers
from marslab.claims._symbols import FAULTY_MARS, nothing, remaining
from marslab.claims.base import Claim
from marslab.optimizers import mars

SAMPLES = 3
beta, gamma, m, here, there = sympy.symbols("beta gamma m F_x F_x'")


def measure(data, rule):
    """The recursion on the rule, and the two equalities of the mean squares."""
    weights, now, before = samples()
    errors = [updated(optimizers.find_rule(rule), a, b) - there for a, b in zip(now, before, strict=True)]
    noise = [a - there for a in now]
    moves = [a - b for a, b in zip(now, before, strict=True)]
    mean_move, e = there - here, m - here
    stated = [beta * e + (1 - beta) * z + beta * (gamma * d - mean_move) for z, d in zip(noise, moves, strict=True)]
    centred = [(1 - beta) * z + beta * e + beta * (d - mean_move) for z, d in zip(noise, moves, strict=True)]
    mean = lambda values: sum(w * v for w, v in zip(weights, values, strict=True))
    square = mean([v**2 for v in errors])
    cross = mean([d * a for d, a in zip(moves, centred, strict=True)])
    parabola = mean([a**2 for a in centred]) - 2 * beta * (1 - gamma) * cross
    parabola += beta**2 * (1 - gamma) ** 2 * mean([d**2 for d in moves])
    fluctuation = mean([((1 - beta) * z + beta * (d - mean_move)) ** 2 for z, d in zip(noise, moves, strict=True)])
    opposite = mean([((1 - beta) * z - beta * (d - mean_move)) ** 2 for z, d in zip(noise, moves, strict=True)])
    doubled = 2 * (1 - beta) ** 2 * mean([z**2 for z in noise]) + 2 * beta**2 * (mean([d**2 for d in moves]) - mean_move**2)
    differences = [a - b for a, b in zip(errors, stated, strict=True)]
    differences += [square - parabola, mean([a**2 for a in centred]) - beta**2 * e**2 - fluctuation]
    return remaining(*differences, fluctuation + opposite - doubled)


def samples():
    """Free weights, and gradients at x' and x whose means are those of F: the last sample of each makes them so."""
    weights = [*sympy.symbols("p_1 p_2")]
    weights = [*weights, 1 - sum(weights)]
    return weights, centred_on(there, weights, "g"), centred_on(here, weights, "h")


def centred_on(mean, weights, name: str) -> list:
    """SAMPLES values with the given mean."""
    free = [*sympy.symbols(f"{name}_1 {name}_2")]
    return [*free, (mean - sum(w * v for w, v in zip(weights, free, strict=False))) / weights[-1]]


def updated(rule, g, prev):
    """m after one step of the rule on gradients g at x' and prev at x."""
    return rule(sympy.Symbol("x"), {"m": m}, g, prev, lr=sympy.Symbol("eta"), gamma=gamma, beta1=beta)[1]["m"]


lemma_c2_recursion = Claim(
    name="lemma_c2_recursion",
    statement="Without clip E|m' − ∇F(x')|² is the parabola in γ of lemma C.2, exactly, and its inequality loses only squares.",
    source="arXiv 2411.10438, lemma C.2 and its proof",
    kind="symbolic",
    unit="remaining differences",
    predict=nothing,
    measure=measure,
    settings={"rule": mars},
    plants={name: plant for name, plant in FAULTY_MARS.items() if "step" not in name},
)
