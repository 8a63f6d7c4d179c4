r"""Muon is approximate MARS-Shampoo at γ = 1 − μ without clip, with Muon's factor of the shape.

Muon orthogonalises Nesterov's direction, which is approximate MARS's m at gamma = 1 - mu up to the factor 1 - mu
(claim connection_nesterov). Both rules keep averages, so that the matrices that are orthogonalised are equal, and
with them the points, whatever the orthogonalisation does. The factor sqrt(max(1, rows / columns)) belongs to Muon and
to the released MARS-Shampoo, not to the paper's algorithm 4.
"""

from marslab.claims._connections import connected, shared
from marslab.claims._symbols import nothing
from marslab.claims.base import Claim
from marslab.optimizers import mars_shampoo, muon


def measure(data, rules, dropped):
    """Prove the identity on the rules' own updates, and measure it."""
    return connected("muon", rules, dropped)


connection_muon = Claim(
    name="connection_muon",
    statement="Muon is approximate MARS-Shampoo at γ = 1 − μ without clip, with Muon's factor of the shape.",
    source="arXiv 2411.10438, equations 3.20-3.25",
    predict=nothing,
    measure=measure,
    **shared("muon", mars_shampoo, muon),
)
