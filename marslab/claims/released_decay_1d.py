r"""A group's weight decay of zero does not reach norms and biases in the released optimizer.

GPT-2's parameter groups give vectors weight_decay = 0, as is usual. The released update of tensors whose number of axes
is not two takes ``weight_decay_1d`` (default 0.1) from the optimizer and never looks at the group. With a zero gradient
AdamW is decay alone: x_{t+1} = (1 - lr_eff lambda) x_t, lr_eff = lr_1d at the rates of construction, so after T steps x
is (1 - 0.1 lr_1d)^T of its start: 0.9139 after 300 steps at lr_1d = 3e-3. Measured on the optimizer with the released
code's conventions (held against recorded trajectories of that code in the tests): a vector of ones in a group with decay
0 whose gradient is 0, 300 steps. A user expects that it stays at 1 (margin 1e-9).
"""

import torch

from marslab.claims.base import Claim, Finding, Plant
from marslab.optim import released
from marslab.optimizers import adamw
from marslab.verdicts import Measurement

STEPS, LR, LR_1D = 300, 6e-3, 3e-3


def measure(data, optimizer, rule, decay_1d):
    """What is left of a vector of ones after the steps, over what AdamW with the group's decay of 0 leaves."""
    x = torch.ones(3, dtype=torch.float64)
    kept, _ = rule(x, rule.init(x), torch.zeros_like(x), lr=LR_1D, weight_decay=0.0)
    vector = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    options = {} if decay_1d is None else {"weight_decay_1d": decay_1d}
    made = optimizer([{"params": [vector], "weight_decay": 0.0}], lr=LR, lr_1d=LR_1D, **options)
    for _ in range(STEPS):
        vector.grad = torch.zeros_like(vector)
        made.step()
    decay = 0.1 if decay_1d is None else decay_1d
    note = f"the closed form (1 - lr_1d lambda_1d)^T is {(1 - LR_1D * decay) ** STEPS:.6f}"
    return Finding(Measurement(float((vector.detach() / kept).min()), kind="exact"), STEPS, STEPS, note)


released_decay_1d = Claim(
    name="released_decay_1d",
    statement="In the released optimizer a group with weight_decay = 0 leaves its norms and biases undecayed.",
    source="released code of arXiv 2411.10438, configure_optimizers and weight_decay_1d",
    kind="exact",
    unit="what is left of a weight",
    margin=1e-9,
    predict=lambda: 1.0,
    measure=measure,
    settings={"optimizer": released, "rule": adamw, "decay_1d": None},
    plants={"weight_decay_1d is ten times smaller": Plant({"decay_1d": 0.01})},
)
