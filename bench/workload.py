"""W, the workload that speed is measured on: exact MARS-AdamW in 64 lanes of 100 coordinates, in float32.

F(x) = sum_i x_i^2 / (1 + x_i^2) + (0.1 / 2) sum_i (x_i - x_{i+1})^2 on a ring, and g = grad F (1 + 0.5 u) + 0.3 z with
independent standard normal u and z: two normals a coordinate and step. The clip acts on each lane at norm 1.
"""

from dataclasses import dataclass

import numpy as np
import torch

from marslab.noise import additive, curvature
from marslab.problems.base import Problem

COUPLING, CURVATURE, ADDITIVE = 0.1, 0.5, 0.3
SIZES = {"W": (64, 100), "W-small": (16, 10), "W-big": (256, 1000)}  # lanes, coordinates
SETTING = {"lr": 1e-3, "beta1": 0.95, "beta2": 0.99, "gamma": 0.025}
STEPS = 20_000
ONE = torch.ones((), dtype=torch.float64)


@dataclass(frozen=True)
class Ring(Problem):
    """The bowl on a ring; the start is 1.5 times standard normal from a generator of its own."""

    dimension: int = 100
    seed: int = 0
    f_min = 0.0
    certainty = {"f_min": "exact"}  # noqa: RUF012

    @property
    def shapes(self):
        return {"x": (self.dimension,)}

    def start(self):
        return {"x": torch.from_numpy(1.5 * np.random.default_rng(self.seed).standard_normal(self.dimension))}

    def value(self, x, rows=None):
        x = x["x"]
        squares = x * x
        return (squares / (1 + squares)).sum(-1) + COUPLING / 2 * (x - neighbours(x)[0]).square().sum(-1)

    def gradient(self, x, rows=None):
        x = x["x"]
        q = torch.addcmul(self.cast("one", x), x, x)
        left, right = neighbours(x)
        coupled = (2 * COUPLING * x).sub_(left + right, alpha=COUPLING)
        return {"x": coupled.addcdiv_(x, q * q, value=2)}

    @property
    def one(self):
        return ONE


def neighbours(x):
    """x_{i+1} and x_{i-1} on the ring: two copies of a padded row, since `roll` along the last axis is slow."""
    padded = torch.cat([x[..., -1:], x, x[..., :1]], dim=-1)
    return padded[..., 2:], padded[..., :-2]


def noise(dimension: int):
    """The two laws of W."""
    return curvature(level=CURVATURE) + additive(sigma=ADDITIVE * dimension**0.5)
