r"""The gamma* of lemma C.2 minimises the momentum's next error, by Monte Carlo with common random numbers.

From the same state (x_t, m_t, x_{t+1}) and on the same sample the rule is asked for m_{t+1} at three values of gamma.
The next error E|eps_{t+1}|^2 is a parabola in gamma, since eps_{t+1} is linear in it, so three values fix it. Its
minimum is compared with gamma* = (beta |E Delta|^2 - G) / (beta E|Delta|^2) from the terms of the formula on the same
steps. The two differ only by the sample's means of products whose expectation is zero (fresh noise times what came
before), so common random numbers leave 3 % of gamma* far outside the noise. The state is whatever the run meets: a
quadratic of four curvatures under additive and curvature noise, from its start on, not in stationarity.
"""

import torch

from marslab.claims._gamma_star import FAULTY_ESTIMATE, SETTINGS, gamma_star, terms, walk
from marslab.claims.base import Claim, Finding
from marslab.experiment import Budget
from marslab.problems import quadratic
from marslab.verdicts import Measurement

PROBLEM = quadratic((1.0, 0.5, 0.2, 0.1) * 10, start_scale=0.1)
TRIED = (0.0, 2.0, 4.0)


def measure(data, rule, noise, lr, beta1, gamma, steps, seeds):
    """Minimum of the measured parabola over gamma* from the formula, minus one, resampled over seeds."""
    options = dict(problem=PROBLEM, burn=20, lr=lr, beta1=beta1, gamma=gamma)
    sums = walk(rule, noise, steps, seeds, both, **options).numpy()
    found = Measurement.resampled(lambda rows: minimum(rows) / gamma_star(rows[:, 3:], beta1) - 1, sums, resamples=2000)
    note = f"minimum at {minimum(sums):.3f}, formula {gamma_star(sums[:, 3:], beta1):.3f}, gamma = {gamma} in use"
    return Finding(found, steps, 2 * steps - 1, note)


def both(plan, clock, before, x, seen):
    """Squared errors at the three values of gamma, then the formula's terms, (seeds, 7)."""
    lanes = torch.tensor(TRIED, dtype=torch.float64).reshape(-1, 1, 1)
    inputs = (x["x"], before["after"], seen.g["x"], seen.prev["x"])
    state = plan.rule(*inputs, t=clock.time, axes=(-1,), **clock.hyper("x") | {"gamma": lanes})[1]
    error = plan.rule.estimate(state, seen.g["x"]) - seen.true["x"]
    squares = error.square().sum(-1).expand(len(TRIED), -1).T
    return torch.cat([squares, terms(plan, clock, before, x, seen)], dim=-1)


def minimum(sums) -> float:
    """Where the parabola through the three values has its minimum; infinite where it has none."""
    low, middle, high = sums[:, :3].sum(0)
    bend, spacing = low - 2 * middle + high, TRIED[1]
    return TRIED[1] + spacing * (low - high) / (2 * bend) if bend > 0 else float("inf")


gamma_star_minimises_the_error = Claim(
    name="gamma_star_minimises_the_error",
    statement="The gamma* of lemma C.2, cross term included, minimises the momentum's next mean squared error.",
    source="arXiv 2411.10438, lemma C.2 (with the β that its form (D.14) loses)",
    kind="Monte Carlo",
    unit="relative difference",
    margin=0.03,
    predict=lambda: 0.0,
    measure=measure,
    settings={**SETTINGS, "steps": Budget(800, 20_000), "seeds": Budget(32, 64)},
    plants={name: plant for name, plant in FAULTY_ESTIMATE.items() if "forgotten" not in name},
)
