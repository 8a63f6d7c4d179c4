"""GPT-2 from a tiny model on a CPU to the paper's runs on eight GPUs, trained by the audited rules.

    settings = preset("tiny", "mars_adamw", exact=True, steps=200, corpus="stdlib")    # the paper's table, with overrides
    outcome = train(settings, folder)                                                  # goes on where an earlier run ended

or ``python -m marslab gpt2 prepare | train | evaluate | export | plot``. Everything that a step needs is a function of
(seed, step): batches, dropout masks, learning rate. So any number of processes and any resume see the same numbers.
"""

from marslab.gpt2.model import GPT, SIZES, Shape, count_parameters
from marslab.gpt2.settings import Settings, preset

__all__ = ["GPT", "SIZES", "Settings", "Shape", "count_parameters", "preset", "train"]


def __getattr__(name):
    if name == "train":  # what it needs takes a while to import
        from marslab.gpt2.loop import train

        return train
    raise AttributeError(f"marslab.gpt2 has no {name!r}")
