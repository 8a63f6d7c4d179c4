"""Problems, one a file: F(x), its gradient in closed form, a start, and the constants that theorems ask for.

Template of a new file, `marslab/problems/cubic.py` (it then appears in lists, tab completion and the tests by itself):

    @dataclass(frozen=True)
    class Cubic(Problem):
        '''F(x) = sum_i |x_i|^3 / 3; L: none, since the curvature 2 |x| grows; f_min = 0 at 0.'''

        dimension: int = 5
        f_min, certainty = 0.0, {"f_min": "exact"}
        shapes = property(lambda self: {"x": (self.dimension,)})

        def start(self): return {"x": torch.ones(self.dimension, dtype=torch.float64)}
        def value(self, x, rows=None): return (x["x"].abs() ** 3).sum(-1) / 3
        def gradient(self, x, rows=None): return {"x": x["x"] * x["x"].abs()}
"""

from marslab.problems.base import Problem
from marslab.registry import scan

PROBLEMS: dict[str, type[Problem]] = scan(__name__, Problem)
globals().update(PROBLEMS)  # after the imports, so that `problems.quadratic` is the class and not its module

__all__ = ["Problem", "PROBLEMS", *PROBLEMS]


def __dir__() -> list[str]:
    return sorted(__all__)
