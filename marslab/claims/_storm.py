"""STORM's published constants and its bound, whose last term is written in two ways."""

import math
from dataclasses import dataclass

__all__ = ["Constants"]

SMALLEST = 98 ** (-1 / 3)  # the b that minimises 28 b + 1 / (7 b^2), and with it the bound's logarithm


@dataclass(frozen=True)
class Constants:
    """k, c and w of the theorem from L, G (bound on the gradients of samples), sigma and Delta = F(x_1) - min F."""

    L: float
    G: float
    sigma: float
    gap: float
    b: float = SMALLEST

    @property
    def k(self) -> float:
        """b G^(2/3) / L."""
        return self.b * self.G ** (2 / 3) / self.L

    @property
    def c(self) -> float:
        """28 L^2 + G^2 / (7 L k^3)."""
        return 28 * self.L**2 + self.G**2 / (7 * self.L * self.k**3)

    @property
    def w(self) -> float:
        """max((4 L k)^3, 2 G^2, (c k / (4 L))^3)."""
        return max((4 * self.L * self.k) ** 3, 2 * self.G**2, (self.c * self.k / (4 * self.L)) ** 3)

    @property
    def hyper(self) -> dict:
        """The hyper-parameters of the rule ``storm_adaptive``."""
        return {"lr": self.k, "floor": self.w, "c": self.c}

    def M(self, T) -> float:
        """8 Delta / k + w^(1/3) sigma^2 / (4 L^2 k^2) + k^2 c^2 log(T + 2) / (2 L^2)."""
        noise = self.w ** (1 / 3) * self.sigma**2 / (4 * self.L**2 * self.k**2)
        return 8 * self.gap / self.k + noise + (self.k * self.c / self.L) ** 2 * math.log(T + 2) / 2

    def terms(self, T, printed: bool) -> tuple[float, float, float]:
        """The three terms of the bound; the last as printed, 2 (sigma / T)^(1/3), or with the root of M that the proof has."""
        M = self.M(T)
        last = 2 if printed else 2 ** (2 / 3) * math.sqrt(M)
        first = self.w ** (1 / 6) * math.sqrt(2 * M) / math.sqrt(T)
        return first, 2 * M**0.75 / math.sqrt(T), last * (self.sigma / T) ** (1 / 3)
