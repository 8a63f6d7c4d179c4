"""marslab: the claims about MARS and other variance-reduced optimizers, put to tests that could fail.

import marslab as ml
ml.run("mars_adamw", problem=ml.problems.quadratic([1.0, 0.1]), noise=ml.noise.additive(0.1), steps=1000, seeds=16)
"""

import importlib

__version__ = "0.1.0"

# resolved on first use, so that `import marslab` and the command line's help do not wait for torch
LAZY = {
    "run": "marslab.simulate",
    "rule": "marslab.rule",
    "Rule": "marslab.rule",
}
ROOMS = ("claims", "errors", "gpt2", "identities", "moments", "noise", "optim", "optimizers", "pieces", "plots", "problems",
         "rates", "results", "schedules", "simulate", "symbolic", "theory", "tuning", "verdicts", "equivalence",
         "experiment")  # fmt: skip
__all__ = sorted({*LAZY, *ROOMS})


def __getattr__(name):
    if name in LAZY:
        return getattr(importlib.import_module(LAZY[name]), name)
    if name in ROOMS:
        return importlib.import_module(f"marslab.{name}")
    from marslab.errors import closest

    raise AttributeError(f"marslab has no {name!r}: {closest(name, __all__)}")


def __dir__():
    return [*__all__, "__version__"]
