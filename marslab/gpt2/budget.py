r"""What a run would take, before it is started: parameters, tokens, schedule, FLOPs and memory a device; nothing is allocated.

Memory: weights, gradients and optimizer state are counted exactly (DDP keeps a copy of the gradients in its buckets, the exact
mode two more tensors a parameter within a step; FSDP2 divides all by the processes). Activations are an estimate for bf16 and
fused attention, :math:`34\,d` bytes a token and layer (arXiv 2205.05198, equation 2 without its attention term; twice that for
fp32), and logits with their gradient in float32 and in the working type.
"""

import torch

from marslab.gpt2.methods import make_optimizer
from marslab.gpt2.model import GPT, count_parameters, flops_per_token
from marslab.gpt2.parallel import Team, check_split
from marslab.gpt2.schedule import learning_rate
from marslab.gpt2.settings import Settings

__all__ = ["budget", "lines", "state_numbers"]

WIDTHS = {"bf16": 2, "fp32": 4, "fp64": 8}  # bytes of an activation
GIB = 1 << 30


def state_numbers(settings: Settings) -> int:
    """Numbers that the optimizer keeps beside the weights, on all tensors together (statistics of Shampoo included)."""
    with torch.device("meta"):
        model = GPT(settings.shape)
    optimizer, count = make_optimizer(settings, model), 0
    for group in optimizer.param_groups:
        rule = optimizer.rule_of(group)
        copies = len(rule.memory) + (settings.exact or group["mode"] == "approximate")  # the last weights, or the last gradient
        for p in group["params"]:
            count += copies * p.numel()
            if getattr(rule, "factors", ()):
                count += p.shape[0] ** 2 + p[0].numel() ** 2
    return count


def budget(settings: Settings, processes: int) -> dict:
    """The numbers of a run on so many processes, by name; memory in bytes a process.

    Raises:
        UsageError: the processes cannot share the micro-batches of a step.
    """
    check_split(settings.micro_batches, Team(0, processes, torch.device("cpu")))
    s, n = settings, count_parameters(settings.shape)
    share = processes if s.parallel == "fsdp2" else 1
    copies = 2 + (s.parallel == "ddp" and processes > 1) + 2 * s.exact
    here, width = s.micro_batch * s.context, WIDTHS[s.precision]
    activations = here * s.shape.layers * 34 * s.shape.width * width // 2
    return {
        "parameters": n,
        "tokens_per_step": s.tokens_per_step,
        "tokens": s.tokens_per_step * s.steps,
        "gradients": s.gradients_per_step * s.steps,
        "flops": flops_per_token(s.shape) * s.tokens_per_step * s.steps * s.gradients_per_step,
        "accumulation": s.micro_batches // processes,
        "rates": {i: learning_rate(s, i) for i in sorted({0, s.warmup, s.steps // 2, s.steps - 1})},
        "weights_and_gradients": copies * 4 * n // share,
        "state": 4 * state_numbers(s) // share,
        "activations": activations + here * s.shape.vocabulary * 2 * (4 + width),
    }


def lines(settings: Settings, processes: int) -> list[str]:
    """The budget for a terminal."""
    b = budget(settings, processes)
    memory = {name: b[name] / GIB for name in ("weights_and_gradients", "state", "activations")}
    rates = ", ".join(f"{rate:.3g} at iteration {i:,}" for i, rate in b["rates"].items())
    return [
        f"{b['parameters']:,} parameters, {settings.optimizer}{' exact' if settings.exact else ''}, {processes} processes",
        f"{b['tokens_per_step']:,} tokens a step in {b['accumulation']} micro-batches of {settings.micro_batch} a process",
        f"{settings.steps:,} steps, {b['tokens']:,} tokens, {b['gradients']:,} gradients, {b['flops']:.3g} FLOPs of the model",
        f"learning rate: {rates} ({settings.schedule})",
        f"memory a process: {sum(memory.values()):.1f} GiB ("
        + ", ".join(f"{name.replace('_', ' ')} {value:.1f}" for name, value in memory.items())
        + "; activations are an estimate)",
    ]
