r"""With its clip the approximate form undoes what a rare large gradient has done.

Let one gradient of norm G stand alone among zeros. Unclipped, the corrected gradients are (1 + kappa) g and, a step
later, -kappa g, with kappa = gamma beta/(1 - beta), and their sum g is what m will have moved in the end (the weights
of m add up to 1). Clipped to the radius 1, the norms become min(1, (1 + kappa) G) and -min(1, kappa G): the sum is 0
once G >= 1/kappa, 2.1 at (0.95, 0.025). The sum of all m is then 0: the step taken on seeing the gradient is taken
back. In the exact form the sample that saw nothing has the correction 0, and the sum is min(1, G) g/|g| as the clip
intends. The paper clips c_t at norm 1 (algorithms 1 and 2); sparse gradients (rare tokens, the chain of the lower
bounds) are this case. Measured on MARS-AdamW itself as the sum of all m after a pulse of norm 10, over what a clip of
the gradient itself would give.
"""

import numpy as np
import torch

from marslab import symbolic
from marslab.claims._chain import enough, finished
from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import unlock
from marslab.optimizers import mars, mars_adamw
from marslab.problems import chain
from marslab.verdicts import Measurement

STEPS, SIZE, BETA, GAMMA, SEEDS = 1000, 10.0, 0.95, 0.025, 32


def measure(data, rule, exact, radius):
    """Sum of m over STEPS steps after the pulse, over the clipped pulse."""
    total = displaced(rule, exact, radius)
    free, other = displaced(rule, exact, float("inf")), displaced(rule, True, radius)
    steps = symbolic.unroll(mars, 2, exact=False, first="zero", gamma=GAMMA, beta1=BETA)
    second = float(steps[1].estimate.coeff(symbolic.gradient(1)) - BETA * steps[0].estimate.coeff(symbolic.gradient(1)))
    note = (
        f"unclipped the sum is {free:.4f} of the pulse's {SIZE:g}, clipped in the exact form {other:.4f}; "
        f"the step after the pulse puts {second / (1 - BETA):.3f} of it into c; of {SEEDS} seeds on the chain, p = 0.02, "
        f"lr 0.3, {ends(rule, exact, radius)} reach its end, in the exact form {ends(rule, True, radius)}"
    )
    return Finding(Measurement(total, kind="exact"), STEPS, STEPS, note)


def displaced(rule, exact, radius) -> float:
    """What m adds up to after one pulse, in the pulse's direction."""
    x = torch.zeros(2, dtype=torch.float64)
    zero, pulse = torch.zeros_like(x), torch.tensor([SIZE, 0.0], dtype=torch.float64)
    state, prev, total = rule.init(x), zero, zero
    for t in range(1, STEPS + 1):
        g = pulse if t == 2 else zero
        other = g if exact else prev  # at lr = 0 the sample of the pulse shows it at the point before as well
        x, state = rule(x, state, g, other, t=t, axes=(0,), lr=0.0, beta1=BETA, gamma=GAMMA, clip_radius=radius)
        total, prev = total + state["m"], g
    return float(total[0])


def ends(rule, exact, radius) -> int:
    """Seeds that end a chain of 6 coordinates, whose gradients are rare pulses, in the time that unclipped rules need."""
    problem, noise = chain(6), unlock(0.02)
    steps = enough(problem, noise.p)
    options = dict(seeds=SEEDS, exact=exact, gamma=GAMMA, beta1=BETA, lr=0.3, clip_radius=radius)
    return int(np.isfinite(finished(rule, problem, noise, 1.0, steps, **options)).sum())


clip_cancels_pulses = Claim(
    name="clip_cancels_pulses",
    statement="With the clip at 1, approximate MARS takes back in full what a lone gradient of norm above 1/κ has done.",
    source="derived here, on arXiv 2411.10438, algorithm 2 and remark 3.3",
    kind="exact",
    unit="sum of m",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars_adamw, "exact": False, "radius": 1.0},
    plants={
        "prev is of the same sample": Plant({"exact": True}),
        "the clip is off": Plant({"radius": float("inf")}),
    },
)
