r"""Theorem 2 of the follow-up bounds the mean squared gradient norm for every gamma, on problems with known constants.

With f = 1 - beta1 and eta <= 1/(L + sqrt a), a = (1/f) [(1 - f)^3 (1 - gamma)^2 L^2 / f + 2 (1 - f)^2 delta_gamma^2],
the mean over the first T points satisfies

    (1/T) sum E|grad F(x_t)|^2 <= 2/(eta T) (F(x_1) - min F + eta/(2 f) E|eps_1|^2) + 2 f sigma^2:

lemma 4's Lyapunov function, summed. Tested at the largest step that it allows, where L = 1, sigma and delta are known:
a quadratic with additive noise (delta = 0) and with curvature noise of level 1 as well (delta = L, and delta_gamma
attains lemma 1's bound, since the noise scales every coordinate alike). Reported: the largest ratio of measured mean to
bound. A ratio far below one says that the bound is loose, not that it is wrong.
"""

import numpy as np

from marslab.claims._similarity_run import GAMMAS, SETTINGS, Curves, curves
from marslab.claims._symbols import FAULTY_MARS
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.verdicts import Measurement


def measure(data, rule, noises, exact, fresh, stretch, steps):
    """The largest ratio over gamma and noise; a run that overflows counts as infinite."""
    found = {name: ratios(curves(rule, noise, exact, fresh, stretch, steps), fresh) for name, noise in noises.items()}
    note = "; ".join(f"{name}: " + ", ".join(f"{r:.3f}" for r in each) for name, each in found.items())
    worst = max(each.max() for each in found.values())
    return Finding(Measurement(worst, kind="exact"), steps, 2 * steps - 1, f"ratios at gamma = {GAMMAS}: {note}")


def ratios(run: Curves, fresh: float) -> np.ndarray:
    """Mean of E|grad F|^2 over the bound, for every gamma."""
    steps = run.gradient.shape[1] - 1
    start = run.gap[:, 0] + run.rate / (2 * fresh) * run.error[:, 0]
    bound = 2 * start / (run.rate * steps) + 2 * fresh * run.variance[:, :-1].max(axis=1)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(run.gradient[:, :-1].mean(axis=1) / bound, nan=np.inf)


similarity_theorem_2 = Claim(
    name="similarity_theorem_2",
    statement="Theorem 2: the mean squared gradient norm stays below its bound, for every gamma, at the largest step allowed.",
    source="Understanding MARS (ICML 2026), theorem 2",
    kind="exact",
    unit="measured over bound",
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
