r"""The usage that the released optimizer documents for its exact mode is the approximate form at twice the cost.

The exact form needs g(x_{t-1}, xi_t): the gradient at the last point on the batch of this step. The docstring's loop
takes, at step t, the gradient of the current batch xi_t at the current point x_t a second time and stores it; the next
step then subtracts g(x_t, xi_t), which is the last step's own gradient. That is the approximate form, with two backward
passes a step. The training script instead keeps the next batch in a queue and stores g(x_t, xi_{t+1}), which is exact. A
third loop, of the MARS-M CIFAR script, never refreshes the batch kept for this and subtracts g(x_{t-1}, xi_1) for ever.

Measured: MARS-AdamW on the nonconvex sigmoid loss, breast cancer data, batches of 8, 100 steps, one recorded sequence of
batches. The loop is walked literally and |grad F| is compared with the simulator's exact form, relative, at every step
(margin 1e-9 for rounding; gamma = 0.25, so that the forms differ visibly).
"""

from marslab.claims._protocols import STEPS, apart, documented, looped, never_refreshed, published
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.verdicts import Measurement


def measure(data, rule, protocol):
    """The loop against the exact form; the note holds it against the approximate one."""
    seen = looped(protocol, rule)
    note = f"from the approximate form it differs by {apart(seen, published(exact=False)):.0e}, at 2 gradients a step"
    return Finding(Measurement(apart(seen, published(exact=True)), kind="exact"), STEPS, 2 * STEPS, note)


released_documented_exact = Claim(
    name="released_documented_exact",
    statement="The usage that the released optimizer's docstring gives for its exact mode is the exact form.",
    source="released code of arXiv 2411.10438 and of arXiv 2510.21800, docstrings of step",
    kind="exact",
    unit="relative difference",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars_adamw, "protocol": documented},
    plants={"the batch kept is never refreshed": Plant({"protocol": never_refreshed})},
)
