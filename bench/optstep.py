"""One optimizer step on GPT-2-small's shapes: 124.4M float32 parameters, random gradients.

A case is a process of its own (NAME LAYERS VOCABULARY THREADS) that prints ``ready``, then answers each line on standard input
with one step, as a line of JSON. `run.py` calls ``measure``: repetitions in turn, ratios within each round, their medians.
"""

import json
import os
import statistics
import sys
import time

WIDTH = 768
FULL, QUICK = (12, 50257), (1, 500)  # layers, vocabulary
SLOWER_THAN_FUSED, FASTER_THAN_RIVAL = 2.0, 6.0
FUSED, ADAMW, LION, RIVAL = "torch-adamw-fused", "marslab-mars-adamw", "marslab-mars-lion", "user-mars"


def shapes(layers, vocabulary):
    """The shapes of GPT-2's parameters, tied head included once."""
    block = [(WIDTH,), (WIDTH,), (3 * WIDTH, WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,)]
    block += [(WIDTH,), (WIDTH,), (4 * WIDTH, WIDTH), (4 * WIDTH,), (WIDTH, 4 * WIDTH), (WIDTH,)]
    return [(vocabulary, WIDTH), (1024, WIDTH), *block * layers, (WIDTH,), (WIDTH,)]


def optimizer(name, params):
    """The optimizer of a case, with the same rate and decay everywhere."""
    import torch

    shared = dict(lr=1e-3, weight_decay=0.1)
    if name == FUSED:
        return torch.optim.AdamW(params, fused=True, **shared)
    if name == RIVAL:
        from pytorch_optimizer import MARS

        return MARS(params, **shared)
    from marslab.optim import MarsAdamW, MarsLion

    return {ADAMW: MarsAdamW, LION: MarsLion}[name](params, **shared)


def serve(name, layers, vocabulary, threads):
    """Answer every line on standard input with one step."""
    import torch

    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape) * 0.02) for shape in shapes(int(layers), int(vocabulary))]
    for p in params:
        p.grad = torch.randn_like(p) * 1e-3
    try:
        chosen = optimizer(name, params)
    except ImportError as problem:
        print(json.dumps({"missing": str(problem)}), flush=True)
        return
    print(json.dumps({"ready": name}), flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        chosen.step()
        answer = {"seconds": time.perf_counter() - begun, "work": sum(p.numel() for p in params)}
        print(json.dumps({**answer, "statistic": params[0][0, 0].item()}), flush=True)


def measure(worker, rounds, python, quick):
    """Run all cases in turn and print the table; returns the requirements that failed. python: the rivals', or None."""
    threads, size = min(2, os.cpu_count() or 1), QUICK if quick else FULL
    cases = [(name, sys.executable) for name in (FUSED, ADAMW, LION)] + ([(RIVAL, python)] if python is not None else [])
    workers = [worker(name, where, size, threads, script="optstep.py", threads=threads) for name, where in cases]
    for one in workers:
        if one.missing:
            print(f"{one.name} is left out: {one.missing}")
    workers = [one for one in workers if not one.missing]
    rounds(workers, 1 if quick else 7)
    seconds = {one.name: [run["seconds"] for run in one.runs] for one in workers}
    head = f"{threads} threads, {size[0]} layers, median of {len(seconds[FUSED])}"
    print(f"\none optimizer step on GPT-2-small's shapes, float32, {head}")
    print(f"{'case':<22}{'ms a step':>12}{'times fused AdamW':>20}")
    for name, found in seconds.items():
        print(f"{name:<22}{1e3 * statistics.median(found):>12.1f}{ratio(seconds, name, FUSED):>20.2f}")
    return verdicts(seconds)


def ratio(seconds, name, other):
    """Median over the rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(seconds[name], seconds[other], strict=True))


def verdicts(seconds):
    """The requirements that do not hold."""
    failed, against = [], ratio(seconds, ADAMW, FUSED)
    if against > SLOWER_THAN_FUSED:
        failed.append(f"a MarsAdamW step takes {against:.2f} times torch's fused AdamW (allowed: {SLOWER_THAN_FUSED:g})")
    if ratio(seconds, LION, ADAMW) > 1.0:
        failed.append(f"MarsLion takes {ratio(seconds, LION, ADAMW):.2f} times MarsAdamW (allowed: 1)")
    if RIVAL in seconds:
        faster = ratio(seconds, RIVAL, ADAMW)
        print(f"faster than the user's MARS: {faster:.1f} times (required: {FASTER_THAN_RIVAL:g})")
        if faster < FASTER_THAN_RIVAL:
            failed.append(f"MarsAdamW is only {faster:.1f} times faster than pytorch-optimizer's MARS")
    return failed


if __name__ == "__main__":
    serve(*sys.argv[1:])
