r"""In the released optimizer lr_1d is no rate but a ratio, frozen when the optimizer is made.

Vectors, norms and every tensor whose number of axes is not two take AdamW at lr_now * (lr_1d/lr at construction). A
schedule on lr therefore moves both, as intended; but a user who changes the groups' lr (a sweep, a restart with another
rate, a warm-up that begins by setting it) changes the vectors' rate as well, although lr_1d says otherwise. Made with lr
= 6e-3 and lr_1d = 3e-3 and then set to lr = 6e-4, vectors move at 3e-4: a tenth of lr_1d. Measured on the optimizer with
the released code's conventions (held against recorded trajectories of that code in the tests): the first step of a vector
over AdamW's at lr_1d on the same gradient (margin 1e-6).
"""

import torch

from marslab.claims.base import Claim, Finding, Plant
from marslab.optim import released
from marslab.optimizers import adamw
from marslab.verdicts import Measurement

LR, LR_1D = 6e-3, 3e-3


def measure(data, optimizer, rule, lr_now):
    """The first step of a vector, after the groups' lr was set, over the rule's own step at lr_1d."""
    zero, one = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    meant = -rule(zero, rule.init(zero), one, lr=LR_1D, beta1=0.9, beta2=0.95, weight_decay=0.0)[0]
    found, expected = first_step(optimizer, lr_now) / float(meant[0]), lr_now / LR
    note = f"lr {LR:g} at construction, {lr_now:g} at the step: the closed form lr_now/lr is {expected:.4f}"
    return Finding(Measurement(found, kind="exact"), 1, 1, note)


def first_step(optimizer, lr_now) -> float:
    """How far the first step moves a vector that starts at zero, on a gradient of one."""
    vector, matrix = (torch.nn.Parameter(torch.zeros(*shape, dtype=torch.float64)) for shape in ((3,), (2, 2)))
    made = optimizer([matrix, vector], lr=LR, lr_1d=LR_1D)
    for group in made.param_groups:
        group["lr"] = lr_now
    for p in (vector, matrix):
        p.grad = torch.ones_like(p)
    made.step()
    return float(vector.detach().abs().max())


released_lr_1d_ratio = Claim(
    name="released_lr_1d_ratio",
    statement="In the released optimizer vectors learn at lr_1d, whatever lr the groups are set to.",
    source="released code of arXiv 2411.10438, arguments lr and lr_1d",
    kind="exact",
    unit="rate over lr_1d",
    margin=1e-6,
    predict=lambda: 1.0,
    measure=measure,
    settings={"optimizer": released, "rule": adamw, "lr_now": 6e-4},
    plants={"the rate is raised instead": Plant({"lr_now": 1.2e-2}), "the rate is warming up": Plant({"lr_now": 6e-6})},
)
