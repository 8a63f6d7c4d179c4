"""One process or several: joining under torchrun, sharing a model by DDP or FSDP2, whole tensors from parts and back."""

import contextlib
import gc
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from marslab.errors import UsageError
from marslab.optim.view import is_sharded

__all__ = ["Team", "forget_whole_weights", "gathered", "joined", "shared", "spread", "total", "waiting"]


@dataclass(frozen=True)
class Team:
    """This process among those of a run."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this process writes files and speaks."""
        return self.rank == 0

    def agree(self, value):
        """The first process's value, on all (plain values that pickle)."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]


@contextlib.contextmanager
def joined(device: str | None = None):
    """Yield the Team: alone, or under torchrun all its processes (NCCL on GPUs, gloo on CPUs).

    device: "cpu" or "cuda" (None: a GPU where there is one).
    """
    size, rank, local = (int(os.environ.get(name, default)) for name, default in ENVIRONMENT.items())
    kind = device or ("cuda" if torch.cuda.is_available() else "cpu")
    place = torch.device(kind, local if kind == "cuda" else None)
    if kind == "cuda":
        torch.cuda.set_device(place)
    own = size > 1 and not dist.is_initialized()
    if own:
        dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    yield Team(rank, size, place)
    if own:  # after an error torchrun ends the others, which may wait in the middle of something
        leave()


def leave() -> None:
    """End the group when all are done; gloo's threads abort a process that exits while models still hold the group."""
    gc.collect()
    dist.barrier()
    dist.destroy_process_group()


ENVIRONMENT = {"WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}


def check_split(micro_batches: int, team: Team) -> None:
    """Refuse a step whose micro-batches the processes cannot share evenly."""
    if micro_batches % team.size:
        raise UsageError(
            f"{micro_batches} micro-batches a step cannot be shared by {team.size} processes; "
            "change batch or micro_batch so that the processes divide batch / micro_batch."
        )


def shared(model: nn.Module, how: str, team: Team) -> tuple[nn.Module, nn.Module]:
    """(what is called, what holds the parameters): the model under "ddp" or "fsdp2" where there are several processes."""
    if team.size == 1:
        return model, model
    if how == "fsdp2":
        from torch.distributed.fsdp import fully_shard

        for block in model.h:
            fully_shard(block)
        fully_shard(model)
        return model, model
    ids = [team.device.index] if team.device.type == "cuda" else None
    return nn.parallel.DistributedDataParallel(model, device_ids=ids), model


@contextlib.contextmanager
def waiting(model: nn.Module, wait: bool):
    """Inside, gradients stay with this process if it waits for later micro-batches."""
    if wait and hasattr(model, "no_sync"):
        with model.no_sync():
            yield
        return
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(not wait)
    yield


def forget_whole_weights(model: nn.Module) -> None:
    """Free the whole weights that FSDP2 keeps after a forward pass without a backward one.

    The next pass would take them as they are, though the exact mode has put the previous weights into the parts meanwhile.
    """
    for module in model.modules():
        if hasattr(module, "set_requires_gradient_sync"):
            module.reshard()


def total(values: list[float], team: Team) -> list[float]:
    """Sums over all processes, in float64 on the CPU of each."""
    if team.size == 1:
        return values
    sums = torch.tensor(values, dtype=torch.float64, device=team.device)
    dist.all_reduce(sums)
    return sums.tolist()


def gathered(value):
    """A nest of dictionaries, lists and tensors with whole tensors on the CPU; every process takes part."""
    if torch.is_tensor(value):
        value = value.full_tensor() if is_sharded(value) else value
        return value.detach().to("cpu", copy=False)
    if isinstance(value, dict):
        return {key: gathered(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(gathered(entry) for entry in value)
    return value


def spread(value, like: torch.Tensor):
    """A nest in which whole tensors of the shape of ``like`` become parts as it is; each process takes its own."""
    if torch.is_tensor(value):
        if not is_sharded(like) or value.shape != like.shape:
            return value
        from torch.distributed.tensor import distribute_tensor

        return distribute_tensor(value.to(like.device), like.device_mesh, like.placements, src_data_rank=None)
    if isinstance(value, dict):
        return {key: spread(entry, like) for key, entry in value.items()}
    return value
