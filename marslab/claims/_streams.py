"""One recorded stream of gradients, walked by a rule: what two implementations make of the same numbers, in float64."""

from dataclasses import dataclass

import numpy as np
import torch

from marslab.rule import Rule

__all__ = ["DIVERGENCE", "Path", "alternating", "averages", "divergence", "noisy", "walk"]

DIVERGENCE = dict(kind="exact", unit="relative difference", margin=1e-9, predict=lambda: 0.0)


@dataclass(frozen=True)
class Path:
    """The points after each step, shape (steps, coordinates), and what the rule kept then."""

    x: torch.Tensor
    states: list[dict]

    def __getitem__(self, name: str) -> torch.Tensor:
        """A state entry after each step."""
        return torch.stack([torch.as_tensor(state[name]) for state in self.states])


def noisy(steps=100, coordinates=8, size=0.1, noise=1.0, seed=0) -> torch.Tensor:
    """g_t = size / sqrt(coordinates) (a slow wave + noise z_t), z_t standard normal and recorded: norms well below 1."""
    z = np.random.default_rng(seed).standard_normal((steps, coordinates))
    wave = np.cos(0.02 * np.arange(steps))[:, None] * np.ones(coordinates)
    return torch.from_numpy(size / coordinates**0.5 * (wave + noise * z))


def alternating(steps=100, coordinates=8, size=1.0) -> torch.Tensor:
    """g_t = (-1)^t g of norm ``size``: each gradient is the last one turned round."""
    signs = torch.from_numpy(-((-1.0) ** np.arange(steps)))[:, None]
    return signs * torch.full((coordinates,), size / coordinates**0.5, dtype=torch.float64)


def walk(rule: Rule, stream: torch.Tensor, *, previous=None, first="zero", buffers="fresh", keeps="copy", start=None, **hyper):
    """The rule's Path on the stream, its correction taken against the last gradient as a wrapper of torch gradients keeps it.

    previous   the gradients that the corrections are taken against, where they are not the last ones
    first      "zero": the first correction is against zero (as released), "equal": against g_1 (the paper)
    buffers    "fresh": every backward pass allocates its gradient; "reused": it writes over the last one
    keeps      the wrapper keeps a "reference" to the gradient or a "copy" of it
    start      state entries in place of zeros
    """
    x = torch.zeros_like(stream[0])
    state, buffer, points, states = {**rule.init(x), **(start or {})}, torch.empty_like(x), [], []
    last = torch.zeros_like(x) if first == "zero" else stream[0]
    for t, values in enumerate(stream, start=1):
        g = buffer.copy_(values) if buffers == "reused" else values.clone()
        other = last if previous is None else previous[t - 1]
        x, state = rule(x, state, g, other if rule.modes else None, t=t, axes=(0,), **hyper)
        last = g if keeps == "reference" else g.clone()
        points.append(x)
        states.append(state)
    return Path(torch.stack(points), states)


def averages(stream: torch.Tensor, beta: float) -> torch.Tensor:
    """e_t = (1 - beta) sum_i beta^(t - i) g_i for every t, from the sum and not from the recursion."""
    t = torch.arange(len(stream), dtype=torch.float64)
    lag = t[:, None] - t
    return torch.where(lag >= 0, (1 - beta) * beta ** lag.clamp(min=0), 0.0) @ stream


def divergence(ours: torch.Tensor, other: torch.Tensor) -> float:
    """The largest distance of two paths over the largest length of the other."""
    return float((ours - other).norm(dim=1).max() / other.norm(dim=1).max())
