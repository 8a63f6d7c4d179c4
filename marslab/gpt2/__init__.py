"""GPT-2 from a tiny model on a CPU to the paper's runs on eight GPUs, trained by the audited rules.

    settings = preset("tiny", "mars_adamw", exact=True, steps=200, corpus="stdlib")    # the paper's table, with overrides
    outcome = train(settings, folder)                                                  # goes on where an earlier run ended

or ``python -m marslab gpt2 prepare | train | evaluate | compare | export | plot``. Everything that a step needs is a
function of (seed, step): batches, dropout masks, learning rate. So any number of processes and any resume see the same.
"""

import importlib

# resolved on first use, so that the command line's help does not wait for torch
LAZY = {
    "GPT": "model",
    "SIZES": "model",
    "Shape": "model",
    "count_parameters": "model",
    "Settings": "settings",
    "preset": "settings",
    "prepare": "data",
    "train": "loop",
    "evaluate": "evaluation",
    "export": "exported",
    "compare": "comparison",
}
__all__ = sorted(LAZY)


def __getattr__(name):
    if name in LAZY:
        return getattr(importlib.import_module(f"marslab.gpt2.{LAZY[name]}"), name)
    from marslab.errors import closest

    raise AttributeError(f"marslab.gpt2 has no {name!r}: {closest(name, __all__)}")
