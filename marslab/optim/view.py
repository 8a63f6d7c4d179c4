"""How a parameter is computed with: in float32 at least, complex as pairs of reals, sharded as local parts or gathered."""

import torch

__all__ = ["View", "agreed", "is_sharded", "local", "stochastically_rounded"]

HALVES = (torch.bfloat16, torch.float16)


def is_sharded(tensor) -> bool:
    """Whether this is a DTensor (asked without importing torch.distributed)."""
    return hasattr(tensor, "device_mesh")


def local(tensor) -> torch.Tensor:
    """This process's part."""
    return tensor.to_local() if is_sharded(tensor) else tensor


class View:
    """A parameter as a rule sees it: ``load`` gives real tensors of the working type, ``store`` writes them back.

    A matrix rule needs whole matrices: of a sharded parameter every process gathers them, computes the same and keeps its
    part.
    """

    def __init__(self, p: torch.Tensor, matrix: bool):
        self.p, self.sharded = p, is_sharded(p)
        self.gathered = self.sharded and matrix
        self.low = p.dtype in HALVES
        real = p.dtype.to_real() if p.is_complex() else p.dtype
        self.dtype = torch.float32 if self.low else real

    def load(self, tensor) -> torch.Tensor:
        """The values of a tensor like the parameter; shares memory with it where nothing needs to change."""
        if is_sharded(tensor):
            if tensor.placements != self.p.placements:
                tensor = tensor.redistribute(placements=self.p.placements)
            tensor = tensor.full_tensor() if self.gathered else tensor.to_local()
        tensor = torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor.detach()
        return tensor.to(self.dtype)

    def fitted(self, tensor) -> torch.Tensor:
        """A tensor of state in the working type and, if it is sharded, with the parameter's placements; itself where it is."""
        if self.sharded and is_sharded(tensor) and tensor.placements != self.p.placements:
            tensor = tensor.redistribute(placements=self.p.placements)
        return tensor if tensor.dtype == self.dtype else tensor.to(self.dtype)

    def store(self, target, value) -> None:
        """Write values back into a tensor like the parameter, rounding to nearest."""
        if self.gathered:
            value = self._own_part(value, target)
        target = local(target.detach())
        (torch.view_as_real(target) if target.is_complex() else target).copy_(value)

    def _own_part(self, value, target):
        from torch.distributed.tensor import DTensor, Replicate

        whole = [Replicate()] * target.device_mesh.ndim
        spread = DTensor.from_local(value.contiguous(), target.device_mesh, whole, run_check=False)
        return spread.redistribute(placements=target.placements).to_local()

    def new(self, value=None) -> torch.Tensor:
        """A tensor of the working type like the parameter, zero or with the given values, to be kept as state."""
        like = torch.view_as_real(self.p.detach()) if self.p.is_complex() else self.p.detach()
        made = torch.zeros_like(like, dtype=self.dtype)
        if value is not None:
            self.store(made, value)
        return made

    def norm(self, c) -> torch.Tensor:
        """The norm of a tensor of which every process holds a part."""
        square = torch.linalg.vector_norm(c, dtype=torch.float64).square()  # float32 overflows from 1.8e19 on
        for place, placement in enumerate(self.p.placements if self.sharded and not self.gathered else ()):
            if placement.is_shard():
                torch.distributed.all_reduce(square, group=self.p.device_mesh.get_group(place))
        return square.sqrt()

    def coordinate(self) -> int:
        """A number that tells the parts of one parameter apart; replicas have the same."""
        found = 0
        for place, placement in enumerate(self.p.placements if self.sharded and not self.gathered else ()):
            if placement.is_shard():
                found = found * self.p.device_mesh.size(place) + self.p.device_mesh.get_local_rank(place)
        return found


def agreed(fine: bool, params: list) -> bool:
    """Whether all processes that share a parameter say so."""
    meshes = [p.device_mesh for p in params if is_sharded(p)]
    if not meshes:
        return fine
    flag = torch.tensor(float(fine), device=local(next(p for p in params if is_sharded(p))).device)
    for mesh in dict.fromkeys(meshes):
        for place in range(mesh.ndim):
            torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MIN, group=mesh.get_group(place))
    return bool(flag)


def stochastically_rounded(values: torch.Tensor, seed: int) -> torch.Tensor:
    """float32 -> bfloat16, up or down with the probability that makes the mean right; a function of values and seed alone."""
    generator = torch.Generator(values.device).manual_seed(seed)
    noise = torch.randint(0, 1 << 16, values.shape, dtype=torch.int32, device=values.device, generator=generator)
    bits = (values.contiguous().view(torch.int32) + noise) & ~0xFFFF
    rounded = bits.view(torch.float32)
    return torch.where(torch.isfinite(values) & torch.isfinite(rounded), rounded, values).bfloat16()
