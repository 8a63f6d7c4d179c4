r"""How often M is negative at the published gamma = 0.025 on a small network, with the full-batch expectations.

Given the past (x_t, m_t and so x_{t+1}) only the next minibatch is random: b rows with replacement. With d = grad
F(x_{t+1}) - grad F(x_t) over all n rows, eps = m_t - grad F(x_t), and over single rows the variance V of the differences
and their covariance K with the gradients at x_{t+1}, the gain over gamma = 1 is exactly

    M = E|eps_{t+1}|^2 (gamma = 1) - E|eps_{t+1}|^2 (gamma)
      = 2 beta^2 (1 - gamma) <eps, d> - beta^2 (1 - gamma)^2 |d|^2
        + [2 beta (1 - beta)(1 - gamma) K + beta^2 (1 - gamma^2) V]/b,

by writing eps_{t+1} = beta eps + (1 - beta) z + beta (gamma Delta - d) and enumerating the n rows. Its mean over seeds is
an unbiased estimate of the theorem's M_{t+1}. Digits, one hidden layer of 8 units, exact MARS-AdamW at its released betas,
lr and gamma, the clip off, since the lemma has none. The paper's M >= 0 predicts that no step is negative; up to 1 % of the
steps is allowed for.

Which steps are looked at matters: since m_0 = 0, m_t is first too short, <eps, d> > 0 and so M > 0 for about 1/(1 - beta) =
20 steps, after which m_t lags behind the falling gradient, <eps, d> < 0 and M < 0. From the proof's own start m_1 = g_1 (a
plant) M is negative from the first step. The share is therefore taken over 10 evenly spaced steps, one number a seed, and
the note tells of the start apart. Seeds agree so well that their spread says little: the standard error is the largest that
a share p over n seeds can have, sqrt(p (1 - p)/n), or the sample's where that is larger.
"""

import math

import numpy as np
import torch

from marslab.claims._audit import walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import minibatch
from marslab.optimizers import mars_adamw
from marslab.problems import two_layer
from marslab.verdicts import Measurement

HIDDEN, CHUNK, BETA, INSPECTED, EARLY = 8, 128, 0.95, 10, (1, 10)


def dot(problem, a: dict, b: dict) -> torch.Tensor:
    """The inner product over all tensors, one number a lane."""
    return sum((a[name] * b[name]).sum(dim=tuple(range(-len(shape), 0))) for name, shape in problem.shapes.items())


def minus(a: dict, b: dict) -> dict:
    """The difference of two points."""
    return {name: a[name] - b[name] for name in a}


def spread(problem, old: dict, new: dict, here: dict, d: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """V and K over single rows: the variance of the differences, and their covariance with the gradients at ``new``."""
    variance = covariance = 0
    for rows in torch.arange(problem.examples).split(CHUNK):
        rows = rows.reshape(-1, 1, 1)
        gradient = problem.gradient(new, rows)
        difference = minus(minus(gradient, problem.gradient(old, rows)), d)
        variance = variance + dot(problem, difference, difference).sum(0)
        covariance = covariance + dot(problem, difference, minus(gradient, here)).sum(0)
    return variance / problem.examples, covariance / problem.examples


def gain(problem, step, gamma: float, beta: float, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """M after this step at ``gamma`` and the optimal gamma, each (seeds,), given the past."""
    before, here = problem.gradient(step.x), problem.gradient(step.new)
    d = minus(here, before)
    eps = minus({name: state["m"] for name, state in step.states.items()}, before)
    variance, covariance = spread(problem, step.x, step.new, here, d)
    cross, square = dot(problem, eps, d), dot(problem, d, d)
    left = beta * (1 - gamma)
    curved = square + variance / batch
    slope = beta * cross + (1 - beta) * covariance / batch + beta * variance / batch
    return (2 * left * slope - left**2 * curved).numpy(), (1 - slope / (beta * curved)).numpy()


def from_the_gradient(t):
    """beta_1 with m_1 = g_1, the start of the proof."""
    return torch.where(torch.as_tensor(t) <= 1, 0.0, BETA)


def inspected(rule, noise, steps, seeds, gamma, beta1) -> dict:
    """M and the optimal gamma, each (seeds,), by step: a few early ones, then evenly spaced along exact MARS runs."""
    problem = two_layer("digits", hidden=HIDDEN)
    wanted = {*EARLY, *range(steps // INSPECTED, steps + 1, steps // INSPECTED)}
    options = dict(gamma=gamma, beta1=beta1, beta2=0.99, lr=3e-3, clip_radius=math.inf)
    run = walk(rule, problem=problem, noise=noise, steps=steps, seeds=seeds, exact=True, **options)
    return {step.t: gain(problem, step, gamma, BETA, noise.batch) for step in run if step.t in wanted}


def share(negative: np.ndarray) -> Measurement:
    """The share of steps, (steps, seeds), with the largest standard error that it can have."""
    each = negative.mean(0)
    p, seeds = float(each.mean()), len(each)
    error = max(math.sqrt(p * (1 - p) / seeds), float(each.std(ddof=1)) / math.sqrt(seeds))
    return Measurement(p, standard_error=error, seeds=seeds)


def measure(data, rule, noise, steps, seeds, gamma, beta1):
    """The share of evenly spaced steps with M < 0."""
    found = inspected(rule, noise, steps, seeds, gamma, beta1)
    even = [m for t, (m, _) in found.items() if t % (steps // INSPECTED) == 0]
    best = np.array([b for t, (_, b) in found.items() if t % (steps // INSPECTED) == 0])
    early = ", ".join(f"{(found[t][0] < 0).mean():.0%} of the seeds at step {t}" for t in EARLY)
    note = f"M < 0 in {early}, in {np.mean(np.array(even[1:]) < 0):.0%} of all from step {2 * steps // INSPECTED} on; "
    note += f"optimal γ given the past: quartiles {', '.join(f'{q:.2f}' for q in np.quantile(best, (0.25, 0.5, 0.75)))}"
    enumerated = 4 * two_layer("digits").examples * len(found) // noise.batch
    return Finding(share(np.array(even) < 0), steps, 2 * steps - 1 + enumerated, note)


audit_m_negative_frequency = Claim(
    name="audit_m_negative_frequency",
    statement="On a small network at γ = 0.025, M_{t+1} ≥ 0: at most 1 % of the steps have a negative M.",
    source="arXiv 2411.10438, remark on lemma C.2 (M ≥ 0)",
    kind="Monte Carlo",
    unit="share of steps with M < 0",
    predict=lambda: 0.0,
    margin=0.01,
    measure=measure,
    settings={
        "rule": mars_adamw,
        "noise": minibatch(32),
        "steps": Budget(200, 2_000),
        "seeds": Budget(8, 32),
        "gamma": 0.025,
        "beta1": BETA,
    },
    plants={
        "the batch is four times as large": Plant({"noise": minibatch(128)}),
        "the estimate starts at the first gradient": Plant({"beta1": from_the_gradient}),
    },
)
