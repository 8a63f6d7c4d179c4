r"""The optimal gamma is not confined to [0, 1]: on a benign noisy quadratic it is above 5.

gamma* = E|E Delta|^2/E|Delta|^2 - G/(beta E|Delta|^2), G = (1 - beta) E<Delta, z> + beta E<Delta, eps_t>. Without G it lies
in [0, 1], the form in which later work estimates it. But the momentum error eps_t is correlated with the move that it
causes, Delta = -eta lambda (1 + s w)(grad F + eps_t), so that E<Delta, eps_t> < 0 and G drives gamma* up.

In one dimension, F = lambda x^2/2, g = lambda (1 + s w) x + z, a = eta lambda, at stationarity: E m^2 = R, E<x, m> = eta
R/2 (since E x^2 does not change), so E<grad F, m> = aR/2, E<m, eps_t> = R - aR/2, E|E Delta|^2 = a^2 R, E|Delta|^2 = (1 +
s^2) a^2 R and E<Delta, z> = s^2 lambda^2 E<x_{t+1} - x_t, x_{t+1}> = s^2 a^2 R/2. All are multiples of R, which cancels:

    gamma* = (1/2 + 1/a - (1 - beta) s^2/(2 beta)) / (1 + s^2),

whatever the gamma in use. Measured by exact moments: one step at three values of gamma from the stationary law of the rule
gives the parabola E|eps_{t+1}|^2, whose lowest point is gamma*. Claimed: 0 <= gamma* <= 1.
"""

import torch

from marslab import optimizers
from marslab.claims.base import Claim, Finding, Plant
from marslab.moments.columns import Columns, Moment
from marslab.moments.compose import lift, pack, product, quadratic_form
from marslab.optimizers import mars
from marslab.verdicts import Measurement


def closed_form(a, beta, level):
    """gamma* of the docstring."""
    return (0.5 + 1 / a - (1 - beta) * level**2 / (2 * beta)) / (1 + level**2)


def step(rule, a, beta, level, gamma):
    """The matrices of one step of exact MARS on curvature 1, sigma = 1."""
    one = torch.full((1, 1), 1.0, dtype=torch.float64)
    at = Moment(1000 * one, one[0], 1.0, level, {"lr": a, "beta1": beta, "gamma": gamma}, {})
    return Columns(rule, "exact", bent=True).matrices(at)


def law(matrices) -> torch.Tensor:
    """vech of the stationary covariance, (p, 1, 1, 1)."""
    whole = (lift(matrices.drift) + lift(matrices.bend))[..., 0, 0]
    source = pack(product(matrices.kick, matrices.kick.transpose(0, 1)))[..., 0, 0]
    return torch.linalg.solve(torch.eye(len(whole), dtype=whole.dtype) - whole, source)[..., None, None]


def error(matrices, moments) -> float:
    """E|eps|^2 of a step taken from these moments."""
    row, bent = matrices.error, matrices.bent_error
    form = quadratic_form(row[:, :-1]) + quadratic_form(bent)
    return float(product(form, moments).squeeze() + row[0, -1].square().squeeze())


def optimum(rule, a, beta, level, gamma) -> float:
    """The lowest point of the parabola E|eps_{t+1}|^2 over the next gamma, from the stationary law at ``gamma``."""
    moments = law(step(rule, a, beta, level, gamma))
    left, middle, right = (error(step(rule, a, beta, level, g), moments) for g in (-1.0, 0.0, 1.0))
    return (left - right) / (2 * (left + right - 2 * middle))


def measure(data, rule, a, beta, level, gamma):
    """gamma* beside its closed form, and at another gamma in use."""
    rule = optimizers.find_rule(rule)
    found, other = (optimum(rule, a, beta, level, g) for g in (gamma, gamma / 2))
    note = f"closed form {closed_form(a, beta, level):.4f}; with half the γ in use {other:.4f}; without the cross term "
    note += f"it would be {1 / (1 + level**2):.3f}"
    return Finding(Measurement(found, kind="exact"), note=note)


audit_gamma_star_in_unit_interval = Claim(
    name="audit_gamma_star_in_unit_interval",
    statement="The γ that minimises the estimator's error lies in [0, 1], here on a noisy quadratic at ηλ = 0.1, β₁ = 0.9.",
    source="arXiv 2411.10438, lemma C.2 with its cross term dropped",
    kind="exact",
    unit="optimal gamma",
    predict=lambda: 0.5,
    margin=0.5,
    measure=measure,
    settings={"rule": mars, "a": 0.1, "beta": 0.9, "level": 1.0, "gamma": 0.5},
    plants={
        "the step is three times as long": Plant({"a": 0.3}),
        "the curvature is not noisy": Plant({"level": 0.0}),
    },
)
