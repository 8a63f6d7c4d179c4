r"""A port offered for optax is Adam for every gamma.

It forms c_t = g_t + (1 - gamma)(c_{t-1} - g_{t-1}) with c_1 = g_1, and averages c_t as Adam averages g_t. By induction
c_t = g_t: it holds at t = 1, and if c_{t-1} = g_{t-1} the bracket is 0. So gamma never enters, its meaning is inverted
besides (gamma = 1 drops the term), and every comparison made with it compares Adam with itself. STORM's recursion has the
gradient at the point before on the sample of this step in place of g_{t-1}; without it nothing is left. Proved on the
port's own update against MARS at gamma = 0, for free gamma and beta and all t, and walked on a recorded stream of 100
gradients.
"""

from marslab import symbolic
from marslab.claims._ports import recursive_misplaced, recursive_port, recursive_same_sample
from marslab.claims._streams import noisy, walk
from marslab.claims._symbols import nothing, remaining
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars

GAMMAS = (0.0, 0.025, 0.5, 1.0)


def measure(data, rule):
    """Prove that its steps are those of the plain average; the note says what is left of c - g on a stream."""
    adam = {"gamma": 0, "exact": False, "first": "zero"}
    found = remaining(symbolic.difference(rule, mars, b=adam))
    stream = noisy()
    other = stream if rule.modes else None
    gaps = [float((walk(rule, stream, previous=other, gamma=g)["corrected"] - stream).abs().max()) for g in GAMMAS]
    note = f"proved for all t: {found.note}; on the stream c differs from g by {max(gaps):.0e} at most, gamma from 0 to 1"
    return Finding(found.measurement, len(stream), len(stream), note)


released_port_is_adam = Claim(
    name="released_port_is_adam",
    statement="The port cₜ = gₜ + (1 − γ)(cₜ₋₁ − gₜ₋₁) offered for optax is Adam for every γ.",
    source="derived here, on a public contribution to optax (pull request 1689)",
    kind="symbolic",
    unit="remaining differences",
    predict=nothing,
    measure=measure,
    settings={"rule": recursive_port},
    plants={
        "the last gradient is of the same sample": Plant({"rule": recursive_same_sample}),
        "a parenthesis is misplaced": Plant({"rule": recursive_misplaced}),
    },
)
