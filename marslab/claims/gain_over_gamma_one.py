r"""What gamma* gains over gamma = 1 is the printed M, an identity, checked by enumerating every sample.

Put A = (G + beta tr Var Delta) / E|Delta|^2. Then eps_{t+1} = [(1 - beta) z + beta eps_t + beta (Delta - E Delta)] -
beta (1 - gamma) Delta, so that E|eps|^2 is its value at gamma = 1, minus 2 beta (1 - gamma) E|Delta|^2 A, plus beta^2
(1 - gamma)^2 E|Delta|^2: the difference to gamma = 1 is

    M = E|Delta|^2 beta (1 - gamma) [2 A - beta (1 - gamma)],    with its maximum at gamma* = 1 - A / beta.

Nothing is assumed of F. On a nonconvex finite sum (the sigmoid loss on the breast cancer data) the expectation is the
mean over all rows, so both sides are computed exactly at random points, moves and momenta, through the rule, for
several gamma. The largest difference is reported relative to the error at gamma = 1.
"""

import numpy as np
import torch

from marslab.claims._gamma_star import FAULTY_ESTIMATE
from marslab.claims.base import Claim, Finding
from marslab.optimizers import mars
from marslab.problems import sigmoid_classification
from marslab.verdicts import Measurement

GAMMAS, BETAS, STATES = (-1.0, 0.0, 0.025, 0.5, 1.0, 2.0), (0.5, 0.95), 4


def measure(data, rule):
    """The largest difference between the measured gain and M, over random states."""
    problem, generator = sigmoid_classification(), np.random.default_rng(0)
    rows = torch.arange(problem.examples).reshape(-1, 1)
    gaps, signs = [], []
    for _ in range(STATES):
        x, before, m = (torch.from_numpy(generator.normal(scale=0.3, size=problem.size)) for _ in range(3))
        g, prev = (problem.gradient({"x": point}, rows)["x"] for point in (x, before))
        for beta in BETAS:
            gain, printed, error = gains(rule, m, g, prev, beta)
            gaps.append(((gain - printed).abs() / error).max().item())
            signs.append((printed < 0).double().mean().item())
    note = f"{len(gaps)} states, gamma in {GAMMAS}; M is negative in {np.mean(signs):.0%} of the cases"
    return Finding(Measurement(max(gaps), kind="exact"), 0, 2 * problem.examples * STATES, note)


def gains(rule, m, g, prev, beta):
    """Measured gain over gamma = 1 and M for every gamma, and the error at gamma = 1; rows (n, d) are the samples."""
    gamma = torch.tensor(GAMMAS, dtype=torch.float64)
    errors = torch.stack([next_error(rule, m, g, prev, beta, value) for value in (*gamma, torch.tensor(1.0))])
    delta, z, gap = g - prev, g - g.mean(0), m - prev.mean(0)
    square = (delta**2).sum(-1).mean()
    cross = (1 - beta) * (delta * z).sum(-1).mean() + beta * (delta.mean(0) * gap).sum()
    spread = ((delta - delta.mean(0)) ** 2).sum(-1).mean()
    a = (cross + beta * spread) / square
    printed = square * beta * (1 - gamma) * (2 * a - beta * (1 - gamma))
    return errors[-1] - errors[:-1], printed, errors[-1]


def next_error(rule, m, g, prev, beta, gamma):
    """E|m_{t+1} - grad F(x_{t+1})|^2 over all rows, from the momentum m."""
    state = rule(torch.zeros_like(g), {"m": m.expand_as(g)}, g, prev, lr=1.0, gamma=gamma, beta1=beta)[1]
    return ((rule.estimate(state, g) - g.mean(0)) ** 2).sum(-1).mean()


gain_over_gamma_one = Claim(
    name="gain_over_gamma_one",
    statement="The gain of any gamma over gamma = 1 in the next momentum error is exactly M, on any problem.",
    source="arXiv 2411.10438, lemma C.2",
    kind="exact",
    unit="difference over the error at gamma = 1",
    margin=1e-10,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars},
    plants=FAULTY_ESTIMATE,
)
