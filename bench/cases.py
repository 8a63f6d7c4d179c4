"""One case of the benchmark in a process of its own: ``python bench/cases.py NAME LANES DIMENSION STEPS``.

Prints {"ready": NAME}, or {"missing": why}; then, for every line on standard input, runs once and answers with one line of
JSON: seconds, work (lane-step-coordinates) and what the case returned. One thread each.
"""

import json
import sys
import time


def marslab_eager(lanes, dimension, steps):
    """W in the simulator: all lanes at once, both gradients, records every few steps."""
    from workload import SETTING, Ring, noise

    from marslab import run

    setting = dict(problem=Ring(dimension), noise=noise(dimension), seeds=lanes, exact=True, dtype="float32", **SETTING)

    def once():
        data = run("mars_adamw", steps=steps, record=max(2, steps // 200), **setting)
        return float((data.grad_norm.isel(step=-1) ** 2).mean())

    return once, lanes * dimension * steps


def floor(lanes, dimension, steps):
    """Nothing but the normals of the workload: two a coordinate and step, drawn into a buffer that is there already."""
    import torch

    block = torch.empty(100, 2, lanes, dimension)
    generator, blocks = torch.Generator().manual_seed(0), -(-steps // 100)

    def once():
        for _ in range(blocks):
            block.normal_(generator=generator)

    return once, lanes * dimension * blocks * 100


def user_loop(lanes, dimension, steps, noisy=True, **options):
    """What one would do without a simulator: pytorch-optimizer's MARS on one trajectory after the other, by autograd.

    The optimizer treats a vector by AdamW unless ``optimize_1d`` is set. It has the one-gradient form only, so that it
    does half of the gradients of W. Returns |grad F|^2 at the end of each trajectory.
    """
    import numpy as np
    import torch
    from pytorch_optimizer import MARS

    start = torch.from_numpy(1.5 * np.random.default_rng(0).standard_normal(dimension)).float()

    def value(x):
        squares = x * x
        return (squares / (1 + squares)).sum() + 0.05 * (x - x.roll(-1)).square().sum()

    def trajectory():
        x = torch.nn.Parameter(start.clone())
        optimizer = MARS([x], lr=1e-3, **options)
        for _ in range(steps):
            optimizer.zero_grad()
            value(x).backward()
            if noisy:
                with torch.no_grad():
                    x.grad.mul_(1 + 0.5 * torch.randn(dimension)).add_(0.3 * torch.randn(dimension))
            optimizer.step()
        return float(torch.autograd.grad(value(x), x)[0].square().sum())

    return lambda: [trajectory() for _ in range(lanes)], lanes * dimension * steps


def user_loop_mars(lanes, dimension, steps, **options):
    """The same with MARS for the vector too."""
    return user_loop(lanes, dimension, steps, optimize_1d=True, **options)


def algorithm(lanes, dimension, steps):
    """|grad F|^2 after ``steps`` steps of the one-gradient form as released: without noise, and in every lane with it."""
    from workload import SETTING, Ring, noise

    from marslab import run

    def once():
        setting = dict(problem=Ring(dimension), exact=False, first="zero", dtype="float32", **SETTING)
        setting |= dict(steps=steps + 1, record=[steps + 1])  # a record is taken at the point before its step
        quiet, loud = run("mars_adamw", **setting), run("mars_adamw", noise=noise(dimension), seeds=lanes, **setting)
        return {"quiet": float(quiet.grad_norm.item()) ** 2, "loud": (loud.grad_norm.values.ravel() ** 2).tolist()}

    return once, lanes * dimension * steps


def algorithm_user(lanes, dimension, steps):
    """The same numbers from the user's loop."""
    quiet, _ = user_loop_mars(1, dimension, steps, noisy=False)
    loud, work = user_loop_mars(lanes, dimension, steps)
    return lambda: {"quiet": quiet()[0], "loud": loud()}, work


def moments(lanes, dimension, steps):
    """Exact moments of exact MARS in one mode, under the theorem's schedule."""
    import marslab as ml

    setting = dict(problem=ml.problems.quadratic([1.0]), noise=ml.noise.additive(1.0), exact=True, gamma=1.0)
    schedules = ml.schedules.theorem(c=33, s=190)
    return lambda: float(ml.moments.propagate("mars", **setting, **schedules, steps=steps).grad_norm_squared[-1]), steps


CASES = {
    "marslab-eager": marslab_eager,
    "floor": floor,
    "user-loop": user_loop,
    "user-loop-mars": user_loop_mars,
    "algorithm": algorithm,
    "algorithm-user": algorithm_user,
    "moments": moments,
}


def say(**answer):
    print(json.dumps(answer), flush=True)


def main(name, *size):
    try:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
        once, work = CASES[name](*map(int, size))
    except ImportError as problem:
        return say(missing=str(problem))
    say(ready=name)
    for _ in sys.stdin:
        begun = time.perf_counter()
        result = once()
        say(seconds=time.perf_counter() - begun, work=work, result=result)


if __name__ == "__main__":
    main(*sys.argv[1:])
