"""Settings in which one assumption of theorem B.5 is broken, and what their claims share."""

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from marslab import pieces
from marslab.noise.base import Noise, checked_levels, named_parts
from marslab.optimizers import mars
from marslab.streams import BLOCK

__all__ = ["Skewed", "SquareWave", "clipped_mars", "log_slopes", "squared_errors"]


@dataclass(frozen=True)
class SquareWave(Noise):
    r""":math:`g = \nabla F + \frac{\sigma}{\sqrt D}\,w(\nabla F / \ell + \xi)` , w a square wave of period 1, xi uniform.

    Mean zero and variance sigma^2 at every point, but a jump of the wave lies between two points with a probability in
    proportion to their distance: E|g(x) - g(y)|^2 is of first order in |x - y|, so no mean-squared Lipschitz constant exists.
    The wave is a function of x where the gradient determines x, as on a quadratic.
    """

    sigma: float = 1.0
    length: float = 1.0
    levels: ClassVar[tuple[str, ...]] = ("sigma",)

    def __post_init__(self):
        checked_levels(self)

    def draw(self, problem, stream):
        """Uniform phases."""
        return torch.from_numpy(stream.numpy.random((BLOCK, problem.size)))

    def at_sample(self, problem, xi, levels):
        """Add the wave at the sample's phase."""
        phases = dict(named_parts(problem, xi))
        scale = {name: levels(len(problem.shapes[name]))["sigma"] / math.sqrt(problem.size) for name in phases}
        wave = lambda u: 1 - 2 * (torch.remainder(u, 1) >= 0.5)
        return lambda g: {name: g[name] + scale[name] * wave(g[name] / self.length + phases[name]) for name in phases}

    def constants(self, problem):
        """sigma as given; no similarity constant."""
        return {"sigma": self.sigma, "delta": math.inf, "mean_squared_L": math.inf}


@dataclass(frozen=True)
class Skewed(Noise):
    r""":math:`g = \nabla F + \sigma z` with z = 2 in a third of the draws and -1 in the others: mean zero, not symmetric."""

    sigma: float = 1.0
    levels: ClassVar[tuple[str, ...]] = ("sigma",)

    def __post_init__(self):
        checked_levels(self)

    def draw(self, problem, stream):
        """2 or -1."""
        return torch.from_numpy(np.where(stream.numpy.random((BLOCK, problem.size)) < 1 / 3, 2.0, -1.0))

    def at_sample(self, problem, xi, levels):
        """Add sigma times the sample."""
        parts = {name: levels(len(problem.shapes[name]))["sigma"] * z for name, z in named_parts(problem, xi)}
        return lambda g: {name: g[name] + part for name, part in parts.items()}

    def constants(self, problem):
        """The variance of an entry is 2 sigma^2."""
        return {"sigma": self.sigma * math.sqrt(2 * problem.size), "delta": 0.0, "mean_squared_L": problem.L}


def clip_then_average(x, state, g, prev, *, lr=0.01, gamma=0.025, beta1=0.95, clip_radius=1.0, axes=None):
    """MARS with the clip of its algorithm box and H = I."""
    clipped, _ = pieces.clip(pieces.correct(g, prev, gamma=gamma, beta=beta1), clip_radius, axes)
    m = pieces.ema(state["m"], clipped, beta1)
    return x - lr * m, dict(m=m)


clipped_mars = dataclasses.replace(mars, function=clip_then_average, diagnostics=())


def log_slopes(data, variable: str, window) -> np.ndarray:
    """Every seed's slope of log |variable| against log t over the window, shape (seeds,)."""
    part = data[variable].transpose("seed", "step").sel(step=slice(*window))
    t = np.log(part.step.values)
    t = t - t.mean()
    return np.log(part.values) @ t / (t @ t)


def squared_errors(data, window) -> np.ndarray:
    """Every seed's mean of |m - grad F|^2 over the records in the window, shape (seeds,)."""
    part = data["error"].transpose("seed", "step").sel(step=slice(*window)).values
    return (part**2).mean(axis=1)
