"""Any rule as a torch optimizer on the parameters of a module, with torch's conventions.

    optimizer = MarsAdamW(model, lr=3e-3, betas=(0.95, 0.99))                     # one gradient a step
    optimizer = MarsAdamW(model, lr=3e-3, exact=True, buffers=model)              # two: step(closure) or step(prev_grads=[...])
    optimizer = RuleOptimizer(model.parameters(), "storm", lr=0.1)                # any rule, by name or itself

The rule is the one that the simulator and the proofs use; hyper-parameters are entries of the parameter groups. torch's
schedulers change lr (and, some of them, betas or momentum); a loop changes any, ``optimizer.param_groups[0]["gamma"] = 0.01``.
``print(describe(optimizer))`` says what each parameter gets. Hand over the module itself where there is one: embeddings are
told from matrices by their type only then.
"""

from marslab.optim.base import RuleOptimizer
from marslab.optim.faults import NonFiniteGradient
from marslab.optim.ready import AdamW, Lion, MarsAdamW, MarsLion, MarsShampoo, Muon, Shampoo
from marslab.optim.released import released
from marslab.optim.report import describe

__all__ = [
    "AdamW",
    "Lion",
    "MarsAdamW",
    "MarsLion",
    "MarsShampoo",
    "Muon",
    "NonFiniteGradient",
    "RuleOptimizer",
    "Shampoo",
    "describe",
    "released",
]
