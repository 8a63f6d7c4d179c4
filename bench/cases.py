"""One case of the benchmark in a process of its own: ``python bench/cases.py NAME SIZE STEPS``.

Prints ``ready``, then for every line on standard input runs once and answers with one line of JSON: seconds, work (lane-step-
coordinates) and a statistic by which engines are compared. One thread each.
"""

import json
import sys
import time


def marslab_eager(lanes, dimension, steps):
    """Our simulator; the statistic is the mean of |grad F|^2 over lanes at the last step."""
    import torch
    from workload import SETTING, Ring, noise

    from marslab import run

    torch.set_num_threads(1)
    problem, law = Ring(dimension), noise(dimension)

    def once():
        data = run("mars_adamw", problem=problem, noise=law, steps=steps, seeds=lanes, exact=True, dtype="float32",
                   record=max(2, steps // 200), **SETTING)  # fmt: skip
        return float((data.grad_norm.isel(step=-1) ** 2).mean())

    return once, lanes * dimension * steps


def floor(lanes, dimension, steps):
    """Nothing but the normals of the workload."""
    import torch

    torch.set_num_threads(1)
    block = torch.empty(100, 2, lanes, dimension)
    generator = torch.Generator().manual_seed(0)

    def once():
        for _ in range(-(-steps // 100)):
            block.normal_(generator=generator)
        return 0.0

    return once, lanes * dimension * -(-steps // 100) * 100


def rival(lanes, dimension, steps):
    """What one would do without a simulator: a loop with pytorch-optimizer's MARS on one trajectory, by autograd."""
    import numpy as np
    import torch
    from pytorch_optimizer import MARS

    torch.set_num_threads(1)
    start = torch.from_numpy(1.5 * np.random.default_rng(0).standard_normal(dimension)).float()

    def value(x):
        squares = x * x
        return (squares / (1 + squares)).sum() + 0.05 * (x - x.roll(-1)).square().sum()

    def once():
        x = torch.nn.Parameter(start.clone())
        optimizer = MARS([x], lr=1e-3)
        for _ in range(steps):
            optimizer.zero_grad()
            value(x).backward()
            with torch.no_grad():
                x.grad.mul_(1 + 0.5 * torch.randn(dimension)).add_(0.3 * torch.randn(dimension))
            optimizer.step()
        return float(torch.autograd.grad(value(x), x)[0].square().sum())

    return once, dimension * steps


def moments(lanes, dimension, steps):
    """Exact moments of exact MARS in one mode to T = steps."""
    import torch

    import marslab as ml

    torch.set_num_threads(1)
    setting = dict(problem=ml.problems.quadratic([1.0]), noise=ml.noise.additive(1.0), exact=True, gamma=1.0)

    def once():
        found = ml.moments.propagate("mars", **setting, **ml.schedules.theorem(c=33, s=190), steps=steps)
        return float(found.grad_norm_squared[-1])

    return once, steps


CASES = {"marslab-eager": marslab_eager, "floor": floor, "user-loop": rival, "moments": moments}


def main(name, lanes, dimension, steps):
    try:
        once, work = CASES[name](int(lanes), int(dimension), int(steps))
    except ImportError as problem:
        print(json.dumps({"missing": str(problem)}), flush=True)
        return
    print(json.dumps({"ready": name}), flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        statistic = once()
        print(json.dumps({"seconds": time.perf_counter() - begun, "work": work, "statistic": statistic}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
