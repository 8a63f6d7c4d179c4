"""Matrices are shared out among processes that hold the same parameters: one computes, all get the result."""

import torch
import torch.distributed as dist

from marslab.optim.single import applied, count, keep, loaded, norm_of, write_back

__all__ = ["advance", "assignment"]


def assignment(costs: list, ranks: int) -> list[int]:
    """The rank that computes each matrix: the dearest first, each to the rank with the least to do, ties to the lower number.

    A function of its arguments alone, so that all processes find the same. No rank has more than 4/3 of what the best
    assignment gives to its busiest (Graham, SIAM J. Appl. Math. 17, 1969). ``costs`` are positive numbers.
    """
    owners, load = [0] * len(costs), [0] * ranks
    for place in sorted(range(len(costs)), key=lambda place: (-costs[place], place)):
        owners[place] = min(range(ranks), key=lambda rank: (load[rank], rank))
        load[owners[place]] += costs[place]
    return owners


def cost(shape) -> int:
    """Multiplications of one product M M^T M, up to a factor: rows * columns * the smaller of them."""
    columns = shape.numel() // shape[0]
    return shape.numel() * min(shape[0], columns)


def world() -> tuple[int, int]:
    """This process's rank and how many there are; (0, 1) where nothing is distributed."""
    there = dist.is_available() and dist.is_initialized()
    return (dist.get_rank(), dist.get_world_size()) if there else (0, 1)


def advance(jobs: list, start, norm, settings: dict, places: dict) -> None:
    """Compute what is this process's, then hand results over in one order; sharded matrices are gathered by all."""
    rank, ranks = world()
    owners = assignment([cost(job.p.shape) for job in jobs], ranks)
    held = []
    for job, owner in zip(jobs, owners, strict=True):
        step = start(job)
        count(step, settings)
        memory, size = loaded(step), norm_of(step, norm)
        held.append((step, owner, applied(step, memory, size) if owner == rank else None))
    for step, owner, result in held:
        keep(step, *(result if ranks == 1 else sent(step, owner, result)))
        write_back(step, settings["rounding"], places)


def sent(step, owner: int, result) -> tuple:
    """New weights and state, from their owner to all."""
    rule, x = step.job.rule, step.x
    new, found = (None, {}) if result is None else result
    shapes = dict.fromkeys(rule.memory, x.shape) | {name: torch.Size() for name in rule.scalars}
    sides = (x.shape[0], x.numel() // x.shape[0])
    shapes |= {name: (side, side) for name, side in zip(getattr(rule, "factors", ()), sides, strict=False)}
    types = {name: torch.float64 if name in rule.scalars else x.dtype for name in shapes}
    state = {name: broadcast(found.get(name), shapes[name], types[name], x.device, owner) for name in shapes}
    return broadcast(new, x.shape, x.dtype, x.device, owner), state


def broadcast(value, shape, dtype, device, owner: int) -> torch.Tensor:
    """The owner's tensor; ``value`` is None on the others."""
    tensor = torch.empty(shape, dtype=dtype, device=device) if value is None else value.to(device, dtype).contiguous()
    dist.broadcast(tensor, src=owner)
    return tensor
