"""What the symbolic claims share."""

import dataclasses

import sympy

from marslab import pieces
from marslab.claims.base import Finding, Plant
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def remaining(*differences) -> Finding:
    """How many of the differences do not vanish: 0 when the identity is proved; the note shows the first that remains."""
    left = [sympy.simplify(d) for d in differences]
    left = [d for d in left if d != 0]
    note = f"remaining: {sympy.sstr(left[0])}" if left else f"{len(differences)} differences simplify to 0"
    return Finding(Measurement(float(len(left)), kind="symbolic"), note=note)


def nothing() -> float:
    """The prediction of an identity: no difference remains."""
    return 0.0


# what a proof about MARS must notice


def lost_gain(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    """The factor 1/(1 - beta) of the correction is lost."""
    m = pieces.ema(state["m"], g + gamma * beta1 * (g - prev), beta1)
    return x - lr * m, dict(m=m)


def uncorrected(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    """The correction is formed and forgotten."""
    m = pieces.ema(state["m"], g, beta1)
    return x - lr * m, dict(m=m)


def wrong_sign(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    """The difference is taken the other way round."""
    m = pieces.ema(state["m"], pieces.correct(g, 2 * g - prev, gamma=gamma, beta=beta1), beta1)
    return x - lr * m, dict(m=m)


def double_step(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95):
    """The estimate is right and the step is twice as long."""
    m = pieces.ema(state["m"], pieces.correct(g, prev, gamma=gamma, beta=beta1), beta1)
    return x - 2 * lr * m, dict(m=m)


FAULTY_MARS = {
    function.__doc__[0].lower() + function.__doc__[1:-1]: Plant(
        {"rule": dataclasses.replace(mars, function=function, diagnostics=())}
    )
    for function in (lost_gain, uncorrected, wrong_sign, double_step)
}
