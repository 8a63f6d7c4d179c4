"""What the claims about gamma-similarity share: the correction that a rule really makes, and what it leaves."""

import numpy as np
import torch

BETA = 0.9


def corrected(rule, difference: torch.Tensor, gamma: float) -> torch.Tensor:
    """gamma d as ``rule`` makes it of gradient differences d (any shape), read off its step.

    The steps with and without the correction differ by lr beta gamma d.
    """
    zero = torch.zeros_like(difference)
    memory, options = {name: zero for name in rule.memory}, dict(lr=1.0, gamma=gamma, beta1=BETA)
    moved, still = (rule(zero, memory, difference, prev, **options)[0] for prev in (zero, difference))
    return (still - moved) / BETA


def similarity(rule, hessians: torch.Tensor, gamma: float) -> float:
    """delta_gamma^2 of a mixture of quadratics with the Hessians (n, d, d), each equally likely.

    d_i(x, y) = A_i (x - y), so it is the largest eigenvalue of the mean of (gamma A_i - A)'(gamma A_i - A), A = mean A_i.
    """
    gap = corrected(rule, hessians, gamma) - hessians.mean(0)
    return largest((gap.mT @ gap).mean(0))


def largest(matrix: torch.Tensor) -> float:
    """The largest eigenvalue of a symmetric matrix."""
    return torch.linalg.eigvalsh(matrix)[-1].item()


def smoothness(hessians: torch.Tensor) -> float:
    """L^2 of the mean: the squared spectral norm of the mean Hessian."""
    mean = hessians.mean(0)
    return largest(mean.mT @ mean)


def mixtures(count: int, seed: int = 0) -> list[torch.Tensor]:
    """Random mixtures of indefinite quadratics, 2 to 6 members in 1 to 5 dimensions, from nearly equal to very unequal."""
    generator, found = np.random.default_rng(seed), []
    for _ in range(count):
        members, size = generator.integers(2, 7), generator.integers(1, 6)
        shared, own = generator.normal(size=(size, size)), generator.normal(size=(members, size, size))
        hessians = shared + 10 ** generator.uniform(-1, 0.5) * own
        found.append(torch.from_numpy((hessians + hessians.swapaxes(1, 2)) / 2))
    return found


def lowest(values, spacing: float = 1.0) -> float:
    """Where the parabola through the values at 0, spacing and 2 spacing has its minimum; infinite where it has none."""
    low, middle, high = values
    bend = low - 2 * middle + high
    return spacing + spacing * (low - high) / (2 * bend) if bend > 0 else float("inf")
