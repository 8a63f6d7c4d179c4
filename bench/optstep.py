"""One optimizer step on GPT-2-small's shapes: 124.4M float32 parameters, random gradients.

A case is a process of its own (NAME LAYERS VOCABULARY THREADS) that prints ``ready``, then answers each line on standard input
with one step, as a line of JSON. `run.py` calls ``optimizer_step``: repetitions in turn, ratios within each round, medians.
"""

import json
import os
import statistics
import sys
import time

WIDTH = 768
FULL, QUICK = (12, 50257), (1, 500)  # layers, vocabulary
DEARER, FASTER = 2.0, 6.0  # times torch's fused AdamW: allowed; times faster than the rival: required
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
        print(json.dumps({**answer, "result": params[0][0, 0].item()}), flush=True)


def optimizer_step(measure, ratio, python, quick):
    """Run all cases in turn and print the table; returns the requirements that failed. python: the rivals', or None."""
    threads, size, repetitions = min(2, os.cpu_count() or 1), QUICK if quick else FULL, 1 if quick else 7
    cases = [(name, sys.executable, (*size, threads)) for name in (FUSED, ADAMW, LION)]
    cases += [(RIVAL, python, (*size, threads))] if python is not None else []
    found = measure(cases, repetitions, script="optstep.py", threads=threads)
    print(f"\none optimizer step on GPT-2-small's shapes, float32, {size[0]} layers, {threads} threads; {repetitions} rounds")
    print(f"{'case':<22}{'ns a parameter':>16}{'times fused AdamW':>20}")
    for worker in found.values():
        middle = statistics.median(worker.nanoseconds())
        print(f"{worker.name:<22}{middle:>16.3f}{ratio(worker, found[FUSED]):>20.2f}")
    return verdicts(found, ratio)


def verdicts(found, ratio):
    """The requirements that do not hold."""
    failed, dearer, lion = [], ratio(found[ADAMW], found[FUSED]), ratio(found[LION], found[ADAMW])
    print(
        f"MarsAdamW in torch's fused AdamW: {dearer:.2f} (allowed: {DEARER:g}); MarsLion in MarsAdamW: {lion:.2f} (allowed: 1)"
    )
    if dearer > DEARER:
        failed.append(f"a MarsAdamW step takes {dearer:.2f} times torch's fused AdamW, and {DEARER:g} are allowed")
    if lion > 1:
        failed.append(f"a MarsLion step takes {lion:.2f} times a MarsAdamW step, and 1 is allowed")
    if RIVAL in found:
        faster = ratio(found[RIVAL], found[ADAMW])
        print(f"times faster than pytorch-optimizer's MARS: {faster:.1f} (required: {FASTER:g})")
        if faster < FASTER:
            failed.append(f"a MarsAdamW step is {faster:.1f} times faster than the rival's, and {FASTER:g} are required")
    return failed


if __name__ == "__main__":
    serve(*sys.argv[1:])
