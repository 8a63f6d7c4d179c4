r"""Learning rates as factors of the peak, by iteration i = 0, 1, ... (the paper starts its warm-up from 0 at iteration 0).

With W warm-up steps, T steps and floor f = min_lr / lr:

    cosine    f + (1 - f) (1 + cos(pi (i - W) / (T - W))) / 2
    wsd       1 until the last share ``decay`` of the steps, then linear to f
    constant  1

and i / W before iteration W; f from T on. A method's second part (AdamW on vectors) takes the same factor.
"""

import math

from marslab.gpt2.settings import Settings

__all__ = ["factor", "learning_rate"]


def factor(settings: Settings, iteration: int) -> float:
    """The learning rate at an iteration, divided by the peak."""
    warmup, steps = settings.warmup, settings.steps
    if iteration < warmup:
        return iteration / warmup
    if settings.schedule == "constant":
        return 1.0
    floor = min(settings.min_lr / settings.lr, 1.0) if settings.lr else 1.0
    if settings.schedule == "cosine":
        share = min((iteration - warmup) / max(steps - warmup, 1), 1.0)
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * share))
    length = max(settings.decay * steps, 1)
    share = min(max((iteration - (steps - length)) / length, 0.0), 1.0)
    return 1 - (1 - floor) * share


def learning_rate(settings: Settings, iteration: int) -> float:
    """The learning rate of the main part at an iteration."""
    return settings.lr * factor(settings, iteration)
