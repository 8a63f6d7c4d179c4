"""Moments of modes added up to those of the whole gradient, as labelled arrays."""

import math

import numpy as np
import torch
import xarray as xr

from marslab.plan import Plan

__all__ = ["Spectrum", "dataset"]


class Spectrum:
    """The different eigenvalues; coordinates that share one differ only in where they start."""

    def __init__(self, problem):
        eigenvalues = problem.eigenvalues.double()
        self.different, self.inverse = torch.unique(eigenvalues, return_inverse=True)
        (start,) = problem.to_eigenbasis(problem.start()).values()
        self.start = start.double().flatten()
        self.count = torch.zeros_like(self.different).index_add(0, self.inverse, torch.ones_like(self.start))
        self.weight = torch.zeros_like(self.different).index_add(0, self.inverse, self.start.square())


def dataset(plan: Plan, grid: list[int], rows: list[dict], modes: bool, seconds: float) -> xr.Dataset:
    """The records as labelled arrays over (hyper axes, step[, mode])."""
    spectrum, axes = Spectrum(plan.problem), plan.values.coordinates()
    x, error = (stacked(rows, name) for name in ("x", "error"))
    curvature = spectrum.different
    gradient = (curvature.square() * x[0], curvature.square() * x[1], curvature * x[2])
    total = {
        "grad_norm_squared": added(spectrum, gradient[:2]),
        "error_squared": added(spectrum, error[:2]),
        "loss_gap": added(spectrum, (curvature / 2 * x[0], curvature / 2 * x[1])),
        "mean_grad_norm": added(spectrum, (torch.zeros_like(x[0]), gradient[2].square())).sqrt(),
    }
    dims = (*axes, "step")
    variables = {name: (dims, value) for name, value in settled(total).items()}
    if modes:
        each = per_mode(spectrum, "grad", gradient) | per_mode(spectrum, "error", error)
        variables |= {name: ((*dims, "mode"), finite(value).numpy()) for name, value in each.items()}
    times = np.asarray(grid, dtype=np.int64)
    variables["evaluations"] = (("step",), 2 * times - 1 if plan.mode == "exact" else times)
    return xr.Dataset(variables, {**axes, "step": times}, attrs={**plan.described(), "seconds": seconds})


def stacked(rows: list[dict], name: str) -> list[torch.Tensor]:
    """The three parts of one quantity, each (\\*lanes, step, mode)."""
    return [torch.stack(parts, dim=-2) for parts in zip(*(row[name] for row in rows), strict=True)]


def added(spectrum: Spectrum, parts) -> torch.Tensor:
    """Sum over all coordinates of noise part + start^2 * squared response; a start at zero does not respond."""
    noise, response = parts
    response = torch.where(spectrum.weight == 0, 0.0, spectrum.weight * response)
    return (spectrum.count * noise + response).sum(dim=-1)


def per_mode(spectrum: Spectrum, name: str, parts) -> dict:
    """Mean and variance of one quantity at every coordinate of the eigenbasis."""
    noise, squared, plain = (part[..., spectrum.inverse] for part in parts)
    spread = noise + spectrum.start.square() * (squared - plain.square())
    return {f"{name}_mean": spectrum.start * plain, f"{name}_variance": spread.clamp(min=0)}


def finite(value: torch.Tensor) -> torch.Tensor:
    """+inf in place of whatever overflowed."""
    return torch.where(torch.isfinite(value), value, math.inf)


def settled(total: dict) -> dict:
    """A lane that has overflowed in one quantity is infinite in all of them from there on."""
    lost = torch.stack([~torch.isfinite(value) for value in total.values()]).any(dim=0)
    lost = lost.to(torch.int8).cummax(dim=-1).values.bool()
    return {name: torch.where(lost, math.inf, value.clamp(min=0)).numpy() for name, value in total.items()}
