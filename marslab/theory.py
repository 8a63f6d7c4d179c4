r"""Closed forms on a quadratic: what the library's measurements are held against.

One eigenmode :math:`F = \frac\lambda2 x^2` with :math:`g = \lambda(1 + s w)x + z`, :math:`\mathrm{Var}\,z = \sigma^2`,
:math:`\mathrm{Var}\,w = 1`, and the plain step :math:`x \leftarrow x - \eta m` of MARS. Throughout
:math:`a = \eta\lambda,\ k = 1 - \beta,\ h = \gamma\beta`. Derived by hand and checked against the Lyapunov equation of
``marslab.moments`` (tests). Arguments are floats or arrays that broadcast.
"""

import numpy as np

__all__ = [
    "effective_variance_ratio",
    "frozen_variance",
    "quasi_static",
    "stability_limit",
    "stationary_approximate",
    "stationary_exact",
    "variance_optimal_gamma",
]


def stationary_exact(a, *, gamma, beta, sigma=1.0, level=0.0):
    r"""Stationary :math:`P = E(F')^2` of exact MARS, with curvature noise of level s; inf where it is unstable.

    .. math:: P = \frac{ak\sigma^2(1+\beta-ha)}
              {2\big[(k+ha)(1+\beta-\frac{ka}2-ha) - s^2a^2h(k+h) - \frac{s^2ka}2(1+\beta-ha)\big]}

    Strictly decreasing in gamma at s = 0; at s > 0 there is an interior optimum.
    """
    a, gamma, k, h = np.asarray(a, float), np.asarray(gamma, float), 1 - beta, gamma * beta
    inner = 1 + beta - h * a
    bracket = (k + h * a) * (1 + beta - k * a / 2 - h * a) - level**2 * a * (a * h * (k + h) + k * inner / 2)
    stable = (a < stability_limit(gamma=gamma, beta=beta)) & (bracket > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(stable, a * k * sigma**2 * inner / (2 * bracket), np.inf)


def stationary_approximate(a, *, gamma, beta, sigma=1.0):
    r"""Stationary :math:`P = E(F')^2` of approximate MARS with additive noise; inf where it is unstable.

    .. math:: R = \frac{N\sigma^2}{(k+ha)(1+\beta-\frac{ka}2-ha)},\quad N = h^2 + (k+h)^2 - h(k+h)(2\beta-ka-2ha),
              \quad P = \frac{a}{2k}\big[R(1+\beta-ha) - 2h(k+h)\sigma^2\big]

    For small a the value at gamma = 0 returns at gamma = 1, with a minimum between (``variance_optimal_gamma``).
    """
    a, gamma, k, h = np.asarray(a, float), np.asarray(gamma, float), 1 - beta, gamma * beta
    with np.errstate(divide="ignore", invalid="ignore"):
        n = h**2 + (k + h) ** 2 - h * (k + h) * (2 * beta - k * a - 2 * h * a)
        r = n * sigma**2 / ((k + h * a) * (1 + beta - k * a / 2 - h * a))
        p = a / (2 * k) * (r * (1 + beta - h * a) - 2 * h * (k + h) * sigma**2)
    return np.where(a < stability_limit(gamma=gamma, beta=beta), p, np.inf)


def stability_limit(*, gamma, beta):
    r"""The stability limit of :math:`a = \eta\lambda` without curvature noise: :math:`2(1+\beta)/(1-\beta+2\beta\gamma)`."""
    return 2 * (1 + beta) / (1 - beta + 2 * beta * np.asarray(gamma, float))


def variance_optimal_gamma(a, *, beta):
    r"""The gamma that minimises approximate MARS's stationary P: :math:`(\sqrt{k^2 + ak} - k)/a`, at most 1/2.

    To leading order in k = 1 - beta, for a up to about k; beyond, minimise ``stationary_approximate``.
    """
    k = 1 - beta
    return k / (np.sqrt(k * k + np.asarray(a, float) * k) + k)  # the same, without the difference of near-equal numbers


def quasi_static(t, *, c, s, gamma=1.0, curvature=1.0, sigma=1.0):
    r"""E(F')^2 of exact MARS at step t of the theorem's schedule, as if it were stationary at every step.

    .. math:: P_t \approx \frac{\sigma^2}2\Big(\frac1{\eta_t\lambda} + \frac{\gamma}{c\,\eta_t^2}\Big)^{-1},
              \qquad \eta_t = (s+t)^{-1/3}

    Falls like :math:`T^{-2/3}` only once :math:`\eta_t \ll \gamma\lambda/c`: beyond :math:`t \approx (c/\gamma\lambda)^3`.
    """
    rate = (s + np.asarray(t, float)) ** (-1 / 3)
    return sigma**2 / 2 / (1 / (rate * curvature) + gamma / (c * rate**2))


def frozen_variance(*, gamma, beta):
    r"""Var(m) / Var(g) of approximate MARS at a point that does not move.

    :math:`(1-\gamma)^2\frac{1-\beta}{1+\beta} + 2\gamma(1-\gamma)(1-\beta) + \gamma^2`: larger than the moving average's for
    every gamma in (0, 1]. Exact MARS has :math:`\frac{1-\beta}{1+\beta}` for every gamma.
    """
    return (1 - gamma) ** 2 * (1 - beta) / (1 + beta) + 2 * gamma * (1 - gamma) * (1 - beta) + gamma**2


def effective_variance_ratio(*, gamma, beta):
    r"""Var(c) / Var(g) of approximate MARS: :math:`(1+\kappa)^2 + \kappa^2,\ \kappa = \gamma\beta/(1-\beta)`."""
    kappa = gamma * beta / (1 - beta)
    return (1 + kappa) ** 2 + kappa**2
