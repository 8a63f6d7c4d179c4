"""All distributed cases of the optimizers: ``torchrun --nproc-per-node 2 distributed_cases.py FOLDER`` runs them at once.

Every case trains a small network on its half of each batch, under DDP or FSDP2; rank 0 writes the trajectories of the weights.
The same file, imported, gives the single-process trajectory on whole batches.
"""

import gc
import sys
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from marslab.optim import (
    AdamW,
    Lion,
    MarsAdamW,
    MarsLion,
    MarsShampoo,
    Muon,
    RuleOptimizer,
    Shampoo,
    compiled,
    divided,
    released,
)

STEPS = 5
rest = dict(fallback_options={"lr": 0.01})


def mixed(params, **options):
    """The public code's groups."""
    return released(params, lr=0.02, lr_1d=0.01, optimize_1d=False, **options)


CASES = {
    "mars_adamw": lambda p: MarsAdamW(p, lr=0.05, gamma=0.3, clip_radius=0.2),
    "mars_adamw_exact": lambda p: MarsAdamW(p, lr=0.05, gamma=0.3, clip_radius=0.2, exact=True),
    "mars_adamw_global": lambda p: MarsAdamW(p, lr=0.05, gamma=0.3, clip_radius=0.2, clip_scope="global"),
    "mars_adamw_exact_accumulated": lambda p: MarsAdamW(p, lr=0.05, gamma=0.3, clip_radius=0.2, exact=True),
    "mars_adamw_compiled": lambda p: MarsAdamW(p, lr=0.05, gamma=0.3, clip_radius=0.2),
    "mars_adamw_skip": lambda p: MarsAdamW(p, lr=0.05, gamma=0.3, nonfinite="skip"),
    "mars_lion": lambda p: MarsLion(p, lr=0.01, gamma=0.3, clip_radius=0.2),
    "mars_lion_exact": lambda p: MarsLion(p, lr=0.01, gamma=0.3, clip_radius=0.2, exact=True),
    "mars_shampoo": lambda p: MarsShampoo(p, lr=0.05, gamma=0.3, clip_radius=0.2, **rest),
    "mars_shampoo_exact": lambda p: MarsShampoo(p, lr=0.05, gamma=0.3, orthogonalization="polar", exact=True, **rest),
    "muon": lambda p: Muon(p, lr=0.05, **rest),
    **{f"muon_{count}": lambda p: Muon(p, lr=0.05, **rest) for count in (1, 7, 8, 19)},
    **{f"muon_{count}_divided": lambda p: Muon(p, lr=0.05, matrices="divided", **rest) for count in (1, 7, 8, 19)},
    "mars_shampoo_divided": lambda p: MarsShampoo(p, lr=0.05, gamma=0.3, clip_scope="global", matrices="divided", **rest),
    "mars_shampoo_exact_divided": lambda p: MarsShampoo(p, lr=0.05, gamma=0.3, exact=True, matrices="divided", **rest),
    "shampoo_divided": lambda p: Shampoo(p, lr=0.05, matrices="divided", **rest),
    "shampoo": lambda p: Shampoo(p, lr=0.05, **rest),
    "shampoo_sum": lambda p: Shampoo(p, lr=0.05, statistics="sum", **rest),
    "adamw": lambda p: AdamW(p, lr=0.05),
    "lion": lambda p: Lion(p, lr=0.01),
    "storm": lambda p: RuleOptimizer(p, "storm", lr=0.05),
    "released": lambda p: mixed(p),
    "released_exact": lambda p: mixed(p, is_approx=False, mars_type="mars-lion"),
}


def network(name=""):
    """Shapes that two processes cannot halve evenly, and one that a process gets nothing of."""
    torch.manual_seed(0)
    if name.startswith("muon_"):  # as many matrices as the name says
        widths = [5] + [3] * int(name.split("_")[1])
        return nn.Sequential(*(nn.Linear(a, b, bias=False) for a, b in pairwise(widths))).double()
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3), nn.Tanh(), nn.Linear(3, 1)).double()


def batch(t, rank=0, world=1):
    """This process's rows of the batch of step t."""
    generator = torch.Generator().manual_seed(t)
    inputs, targets = (torch.randn(8, k, generator=generator, dtype=torch.float64) for k in (5, 1))
    own = slice(rank * 8 // world, (rank + 1) * 8 // world)
    return inputs[own], targets[own]


def whole(p):
    """The full tensor of a parameter."""
    return (p.full_tensor() if hasattr(p, "full_tensor") else p).detach().clone()


@contextmanager
def waiting(model, wait):
    """Gradients stay with this process while it waits for the last part of a batch."""
    if wait and hasattr(model, "no_sync"):
        with model.no_sync():
            yield
    else:
        if hasattr(model, "set_requires_gradient_sync"):
            model.set_requires_gradient_sync(not wait)
        yield


def train(model, optimizer, rank=0, world=1, parts=1):
    """The weights after each step; a batch comes in parts, whose gradients are added."""
    path = []
    for t in range(1, STEPS + 1):
        inputs, targets = batch(t, rank, world)

        def closure(inputs=inputs, targets=targets):
            optimizer.zero_grad()
            for part, (x, y) in enumerate(zip(inputs.chunk(parts), targets.chunk(parts), strict=True), start=1):
                with waiting(model, part < parts):
                    loss = (model(x) - y).square().mean() / parts
                    loss.backward()
            return loss

        if t == 3 and optimizer.settings["nonfinite"] == "skip":
            spoiled(optimizer, closure, rank)
        optimizer.step(closure)
        path.append([whole(p) for p in model.parameters()])
    return path


def spoiled(optimizer, closure, rank):
    """A step in which one process sees an inf in one tensor."""
    closure()
    if rank == 0:
        p = optimizer.param_groups[0]["params"][0]
        (p.grad.to_local() if hasattr(p.grad, "to_local") else p.grad).view(-1)[0] = float("inf")
    elif not hasattr(optimizer.param_groups[0]["params"][0], "to_local"):  # under DDP all processes hold the same gradient
        optimizer.param_groups[0]["params"][0].grad.view(-1)[0] = float("inf")
    optimizer.step()


def sharded(model):
    """The model under FSDP2, each layer and the rest."""
    from torch.distributed.fsdp import fully_shard

    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    return fully_shard(model)


def resumed(model, optimizer, make, rank, world):
    """Whether a state dictionary goes round under FSDP2: the same step from the loaded state."""
    again = make(list(model.parameters()))
    again.load_state_dict(optimizer.state_dict())
    start = [p.detach().clone() for p in model.parameters()]
    ends = []
    for one in (optimizer, again):
        with torch.no_grad():
            for p, value in zip(model.parameters(), start, strict=True):
                p.copy_(value)
        inputs, targets = batch(99, rank, world)

        def closure(one=one, inputs=inputs, targets=targets):
            one.zero_grad()
            loss = (model(inputs) - targets).square().mean()
            loss.backward()
            return loss

        one.step(closure)
        ends.append([whole(p) for p in model.parameters()])
    return all(torch.equal(a, b) for a, b in zip(*ends, strict=True))


def counted(found):
    """Count the matrices that this process computes where they are divided."""
    found["computed"], original = 0, divided.applied

    def applied(*step):
        found["computed"] += 1
        return original(*step)

    divided.applied = applied


def main(folder):
    dist.init_process_group("gloo")
    rank, world, found = dist.get_rank(), dist.get_world_size(), {}
    counted(found)
    for name, make in CASES.items():
        plain, parts = network(name), 2 if name.endswith("accumulated") else 1
        compiled.LARGE, compiled.MEDIUM = (9, 3) if name.endswith("compiled") else (1 << 20, 1 << 14)
        model = nn.parallel.DistributedDataParallel(plain)
        found[name, "ddp"] = train(model, make(list(plain.parameters())), rank, world, parts)
        model = sharded(network(name))
        optimizer = make(list(model.parameters()))
        found[name, "fsdp2"] = train(model, optimizer, rank, world, parts)
        found[name, "resumed"] = resumed(model, optimizer, make, rank, world)
    torch.save(found, Path(folder) / f"{rank}.pt")
    del model, optimizer
    gc.collect()  # gloo may abort where a model still holds the group at the end
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1])
