r"""What the exact form injects against the approximate one, on one stream of gradients.

Write g(x, xi) = grad F(x) + n(x, xi), with n_t = n(x_t, xi_t) and p_t = n(x_{t-1}, xi_t), the noise of the new sample
at the old point. The exact form corrects by g_t - g(x_{t-1}, xi_t) = d_t + n_t - p_t and the approximate one by g_t -
g_{t-1} = d_t + n_t - n_{t-1}, d_t = grad F(x_t) - grad F(x_{t-1}). So the step m_{t-1} -> m_t injects (1 - beta) n_t +
gamma beta (n_t - p_t) in the exact form and (1 - beta) n_t + gamma beta (n_t - n_{t-1}) in the approximate one, and on
a common path

    m_t(exact) - m_t(approximate) = gamma beta sum_{s=2..t} beta^(t-s) (n_{s-1} - p_s):

no true gradient is left in it. With additive noise p_t = n_t the exact form injects (1 - beta) n_t alone. Proved on the
rule's own updates, for both conventions of the first step.
"""

import sympy

from marslab import symbolic
from marslab.claims._symbols import FAULTY_MARS, nothing, remaining
from marslab.claims.base import Claim
from marslab.optimizers import mars

STEPS = 4


def measure(data, rule):
    """The difference of the two estimates, what each injects, and that the step is lr times the estimate."""
    return remaining(*(gap for first in ("zero", "equal") for gap in gaps(rule, first)))


def gaps(rule, first):
    """All differences from the statement, under one convention of the first step."""
    beta, gamma = sympy.symbols("beta1 gamma")
    steps = {form: symbolic.unroll(rule, STEPS, exact=form, first=first) for form in (True, False)}
    exact, approximate = estimates(steps[True]), estimates(steps[False])
    for t in range(2, STEPS + 1):
        past = sum(beta ** (t - s) * (noise(s - 1) - old_noise(s)) for s in range(2, t + 1))
        yield sympy.expand(exact[t] - approximate[t] - gamma * beta * past)
        fresh = (1 - beta) * noise(t) + gamma * beta * noise(t)
        yield sympy.expand(silent(exact[t] - beta * exact[t - 1]) - fresh + gamma * beta * old_noise(t))
        yield sympy.expand(silent(approximate[t] - beta * approximate[t - 1]) - fresh + gamma * beta * noise(t - 1))
    yield from (move for form in steps.values() for move in moves(form))


def estimates(steps):
    """Estimates of the steps 1..STEPS with gradients split into the true one and the noise."""
    split = {symbolic.gradient(t): true(t) + noise(t) for t in range(1, STEPS + 1)}
    split |= {symbolic.previous_gradient(t): true(t - 1) + old_noise(t) for t in range(2, STEPS + 1)}
    return {step.t: sympy.expand(step.estimate.xreplace(split)) for step in steps}


def moves(steps):
    """x_{t+1} - x_t + lr m_t."""
    places = [symbolic.start(), *(step.x for step in steps)]
    return [sympy.expand(places[step.t] - places[step.t - 1] + sympy.Symbol("lr") * step.estimate) for step in steps]


def silent(expression):
    """The noise in it: the true gradients at zero."""
    return sympy.expand(expression).xreplace({true(t): 0 for t in range(1, STEPS + 1)})


def true(t):
    """grad F(x_t)."""
    return sympy.Symbol(f"G_{t}")


def noise(t):
    """n(x_t, xi_t)."""
    return sympy.Symbol(f"n_{t}")


def old_noise(t):
    """n(x_{t-1}, xi_t)."""
    return sympy.Symbol(f"p_{t}")


noise_difference_identity = Claim(
    name="noise_difference_identity",
    statement="On one path exact and approximate MARS differ by γβ Σ βᵗ⁻ˢ (nₛ₋₁ − pₛ): noise alone, no gradient.",
    source="derived here",
    kind="symbolic",
    unit="remaining differences",
    predict=nothing,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_MARS,
)
