r"""SuperAdam (τ = 1) is exact MARS-AdamW at γ = 1 without clip, v from raw g², step rescaled.

SuperAdam's estimate alpha_t g_t + (1 - alpha_t) (m_{t-1} + g_t - g'_t) is exact MARS's at gamma = 1, beta_t = 1 -
alpha_t. Its v averages the raw g^2 (the paper's remark 3.2 calls squaring c one of MARS's differences) and its m is
not bias corrected, so that the points agree when MARS-AdamW's step size is lr mu_t (1 - product of the betas). Both
sides must start alike; as published SuperAdam starts at m_1 = g_1.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars_adamw, superadam


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("superadam", rules, dropped)


connection_superadam = Claim(
    name="connection_superadam",
    statement="SuperAdam (τ = 1) is exact MARS-AdamW at γ = 1 without clip, v from raw g², step rescaled.",
    source="arXiv 2411.10438, remarks 3.1 and 3.2; arXiv 2106.08208, algorithm 1",
    predict=nothing,
    measure=measure,
    **shared("superadam", mars_adamw, superadam),
)
