"""The paper's tables for GPT-2 (arXiv 2411.10438, tables 10 to 12 and its released configuration files), as data.

Common: 480 sequences of 1024 tokens a step, 100,000 steps, 2,000 of warm-up (a twentieth of fewer than 40,000 steps), cosine
to the minimum, global clip 1, no dropout, no biases, attention scaled by layer, seed 5000, evaluation every 1,000 steps on 200
micro-batches of each of eight GPUs.

Not in the tables, and chosen here: Lion and MARS-Lion (a fifth of AdamW's rate and five times its decay, within the ranges that
Lion's authors advise), MARS-Shampoo (Muon's rates, MARS's decay), Muon on XL (a third of medium's, as its AdamW part), and
the tiny rungs, whose rates are starting points for a search and no results. Shampoo, Adan and SuperAdam have no tables here: at
every size they start from the tiny rungs' rates.
"""

from dataclasses import dataclass

__all__ = ["METHODS", "Method", "values_for"]


@dataclass(frozen=True)
class Method:
    """How a method is set: constants, and whether it has an exact mode. ``lr`` and ``lr_1d`` by size stand in RATES."""

    weight_decay: float
    weight_decay_1d: float
    beta1: float
    beta2: float
    has_exact: bool = False


METHODS = {
    "adamw": Method(0.1, 0.0, 0.9, 0.95),
    "lion": Method(0.5, 0.0, 0.9, 0.99),
    "muon": Method(0.0, 0.0, 0.95, 0.95),
    "mars_adamw": Method(0.01, 0.1, 0.95, 0.99, has_exact=True),
    "mars_lion": Method(0.5, 0.1, 0.95, 0.99, has_exact=True),
    "mars_shampoo": Method(0.01, 0.1, 0.95, 0.99, has_exact=True),
    "shampoo": Method(0.0, 0.0, 0.0, 0.99),
    "adan": Method(0.02, 0.0, 0.98, 0.92),
    "superadam": Method(0.0, 0.0, 0.0, 0.999, has_exact=True),
}

# lr of the main part, and of the part that AdamW takes
RATES = {
    "adamw": {"small": (6e-4, None), "medium": (3e-4, None), "large": (2e-4, None), "xl": (2e-4, None)},
    "lion": {"small": (1.2e-4, None), "medium": (6e-5, None), "large": (4e-5, None), "xl": (4e-5, None)},
    "muon": {"small": (2e-2, 3e-3), "medium": (1e-2, 1.5e-3), "large": (6.67e-3, 1e-3), "xl": (6.67e-3, 1e-3)},
    "mars_adamw": {"small": (6e-3, 3e-3), "medium": (3e-3, 1.5e-3), "large": (2e-3, 1e-3), "xl": (2e-3, 1e-3)},
    "mars_lion": {"small": (1.2e-4, 3e-3), "medium": (6e-5, 1.5e-3), "large": (4e-5, 1e-3), "xl": (4e-5, 1e-3)},
    "mars_shampoo": {"small": (2e-2, 3e-3), "medium": (1e-2, 1.5e-3), "large": (6.67e-3, 1e-3), "xl": (6.67e-3, 1e-3)},
}
TINY = {
    "adamw": (3e-3, None),
    "lion": (1e-3, None),
    "muon": (2e-2, 3e-3),
    "mars_adamw": (6e-3, 3e-3),
    "mars_lion": (1e-3, 3e-3),
    "mars_shampoo": (2e-2, 3e-3),
    "shampoo": (2e-2, 3e-3),
    "adan": (3e-3, None),
    "superadam": (1e-2, None),
}
MIN_LR = {"small": 3e-5, "medium": 6e-5, "large": 1e-5, "xl": 1e-5}

LADDER = {
    "steps": 100_000,
    "batch": 480,
    "context": 1024,
    "precision": "bf16",
    "eval_every": 1_000,
    "checkpoint_every": 1_000,
    "log_every": 10,
    "corpus": "openwebtext",
    "tokenizer": "gpt2",
}
RUNGS = {
    "micro": {"batch": 8, "micro_batch": 8, "context": 32, "steps": 100, "eval_sequences": 64},
    "tiny": {"batch": 32, "micro_batch": 32, "context": 128, "steps": 500, "eval_sequences": 256},
    "mini": {"batch": 32, "micro_batch": 16, "context": 256, "steps": 2_000, "eval_sequences": 256},
    "small": {**LADDER, "micro_batch": 15, "eval_sequences": 200 * 15 * 8},
    "medium": {**LADDER, "micro_batch": 15, "eval_sequences": 200 * 15 * 8},
    "large": {**LADDER, "micro_batch": 5, "eval_sequences": 200 * 5 * 8},
    "xl": {**LADDER, "micro_batch": 5, "eval_sequences": 200 * 5 * 8},
}


def values_for(size: str, optimizer: str, steps: int | None = None) -> dict:
    """The values of a method at a size, by name (both are known); other ``steps`` than the rung's change the warm-up."""
    method, rung = METHODS[optimizer], RUNGS[size]
    rung = rung | {"steps": steps or rung["steps"]}
    lr, lr_1d = RATES.get(optimizer, {}).get(size, TINY[optimizer])
    common = dict(
        precision="fp32",
        tokenizer="bytes",
        log_every=1,
        eval_every=100,
        checkpoint_every=100,
        warmup=min(rung["steps"] // 20, 2_000),
    )
    own = dict(beta1=method.beta1, beta2=method.beta2)
    own |= dict(weight_decay=method.weight_decay, weight_decay_1d=method.weight_decay_1d)
    floor = MIN_LR.get(size, lr / 20)
    return {**common, **rung, **own, "size": size, "optimizer": optimizer, "lr": lr, "lr_1d": lr_1d, "min_lr": floor}
