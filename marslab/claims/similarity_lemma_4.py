r"""Lemma 4 of the follow-up: its Lyapunov function falls at every step, up to the noise.

H_t = F(x_t) - min F + eta/(2 f) |eps_t|^2, f = 1 - beta1, satisfies E H_{t+1} <= E H_t - (eta/2) E|grad F(x_t)|^2 + f
eta sigma^2 for eta <= 1/(L + sqrt a). Smoothness gives F(x_{t+1}) <= F(x_t) - (eta/2) |grad F|^2 + (eta/2) |eps|^2 -
(1/(2 eta) - L/2) |x_{t+1} - x_t|^2, and E|eps_{t+1}|^2 <= (1 - f) E|eps_t|^2 + f a E|x_{t+1} - x_t|^2 + 2 f^2 sigma^2;
eta/(2 f) times the latter cancels (eta/2) |eps|^2, and the moves' coefficient L + eta a - 1/eta <= 0 is the condition
on eta. Exact moments of the runs of theorem 2's claim: reported is the largest, over all steps, gammas and noises, of
[E H_{t+1} - E H_t + (eta/2) E|grad F|^2] over f eta sigma^2, with sigma^2 the larger variance of the two points of the
step.
"""

import numpy as np

from marslab.claims._similarity_run import GAMMAS, SETTINGS, Curves, curves
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.verdicts import Measurement


def measure(data, rule, noises, exact, fresh, stretch, steps):
    """The largest share of the allowed rise; a run that overflows counts as infinite."""
    shares = np.array([rises(curves(rule, noise, exact, fresh, stretch, steps), fresh) for noise in noises.values()])
    note = "the largest shares over the noises: " + ", ".join(f"{s:.3f}" for s in shares.max(axis=0))
    return Finding(Measurement(shares.max(), kind="exact"), steps, 2 * steps - 1, f"{note} at gamma = {GAMMAS}")


def rises(run: Curves, fresh: float) -> np.ndarray:
    """The largest rise of E H, the gradient's part added back, over f eta sigma^2, for every gamma."""
    rate = run.rate[:, None]
    noise = fresh * rate * np.maximum(run.variance[:, :-1], run.variance[:, 1:])
    with np.errstate(invalid="ignore"):
        height = run.gap + rate / (2 * fresh) * run.error
        share = (np.diff(height) + rate / 2 * run.gradient[:, :-1]) / noise
        return np.nan_to_num(share, nan=np.inf).max(axis=1)


similarity_lemma_4 = Claim(
    name="similarity_lemma_4",
    statement="Lemma 4: E H falls by (η/2) E|∇F|², up to (1 − β) η σ², at every step of every run, for every gamma.",
    source="Understanding MARS (ICML 2026), lemma 4",
    kind="exact",
    unit="rise over what is allowed",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={**SETTINGS, "steps": Budget(300, 10_000)},
    plants={
        "prev is of another sample": Plant({"exact": False}),
        "the step is ten times what is allowed": Plant({"stretch": 10.0}),
        "the difference is taken the other way round": FAULTY_MARS["the difference is taken the other way round"],
    },
)
