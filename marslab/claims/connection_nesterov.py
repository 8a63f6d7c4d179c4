r"""Approximate MARS at γ = 1 − β without clip is Nesterov momentum.

Nesterov takes g_t + mu u_t with u_t = mu u_{t-1} + g_t; times 1 - mu that is mu e_t + (1 - mu) g_t, e the average of
g. Approximate MARS keeps m_t = (1 - gamma) e_t + gamma g_t (claim qhm_identity), the same at gamma = 1 - beta, mu =
beta. The published default gamma = 0.025 at beta = 0.95 is half of that gamma. Under the paper's first step m lacks
gamma beta^t g_1; beta is constant.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars, nesterov


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("nesterov", rules, dropped)


connection_nesterov = Claim(
    name="connection_nesterov",
    statement="Approximate MARS at γ = 1 − β without clip is Nesterov momentum.",
    source="arXiv 2411.10438, equations 3.22-3.25",
    predict=nothing,
    measure=measure,
    **shared("nesterov", mars, nesterov),
)
