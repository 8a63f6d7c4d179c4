r"""Lion is approximate MARS-Lion without clip at β = β₂, γ = (β₂ − β₁)/β₂.

Lion's direction beta1 m_{t-1} + (1 - beta1) g_t with m the average of rate beta2 is (1 - gamma) m_t + gamma g_t for
gamma = (beta2 - beta1) / beta2: insert beta2 m_{t-1} = m_t - (1 - beta2) g_t. That is approximate MARS's m at beta =
beta2 (claim qhm_identity). Lion's defaults (0.9, 0.99) are gamma = 1/11. The betas may follow schedules of a constant
ratio. Under the paper's first step the estimates differ by gamma beta^t g_1.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import lion, mars_lion


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("lion", rules, dropped)


connection_lion = Claim(
    name="connection_lion",
    statement="Lion is approximate MARS-Lion without clip at β = β₂, γ = (β₂ − β₁)/β₂.",
    source="arXiv 2411.10438, equations 3.13-3.14 and lemma 3.4",
    predict=nothing,
    measure=measure,
    **shared("lion", mars_lion, lion),
)
