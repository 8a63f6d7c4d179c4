"""Noise laws, one a file; the folder is scanned. Laws add up: ``curvature(level=0.5) + additive(sigma=1.0)``.

Template (``marslab/noise/my_noise.py``)::

    from dataclasses import dataclass
    from marslab.noise.base import Noise

    @dataclass(frozen=True)
    class MyNoise(Noise):
        \"\"\"g = grad F(x) + sigma * (what draw gives). Source: ...\"\"\"
        sigma: float = 1.0
        purpose, order, levels = "additive", 2, ("sigma",)
        def draw(self, problem, stream): ...
        def perturb(self, problem, g, xi, levels): ...
"""

from marslab.noise.base import Noise
from marslab.registry import scan

LAWS: dict[str, type[Noise]] = scan(__name__, Noise)
globals().update(LAWS)
__all__ = [*LAWS]


def __dir__():
    return __all__
