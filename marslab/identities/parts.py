"""What the declared identities share: maps, invariants and conditions. e is the average of g from zero."""

import math

from marslab.identities.base import Failure

__all__ = ["CLIP", "EXACT", "GAMMA", "GAMMA_VARIES", "LAG", "PAPER", "START", "UNCLIPPED", "mars_lag", "quasi", "same", "take"]

PAPER = "arXiv 2411.10438"
LAG = "Under the paper's start m lacks gamma beta^t g_1."
UNCLIPPED = {"clip_radius": math.inf}
CLIP = Failure("clip", "every clipped step changes m, and later steps keep the change", a={"clip_radius": 0.5})
GAMMA = Failure("gamma", "another gamma weighs the last difference otherwise", a={"gamma": 0.5})
EXACT = Failure("exact form", "the correction is then against another gradient than the last one", exact=True)
START = Failure("different starts", "MARS's m less the other's is -gamma (product of the betas) g_1 where MARS alone takes the "
                "paper's start, and the opposite where the other alone does", other_start=True)  # fmt: skip
GAMMA_VARIES = Failure("gamma varies", "the gap of m is D_t = beta_t [D_{t-1} + (gamma_t - gamma_{t-1}) (e_{t-1} - g_{t-1})]",
                       varying=("gamma",))  # fmt: skip


def take(*names):
    """Hyper-parameters that keep their names."""
    return {name: lambda h, name=name: getattr(h, name) for name in names}


def same(**names):
    """Entries of A's state that equal entries of B's."""
    return {ours: lambda h, b, last, theirs=theirs: b[theirs] for ours, theirs in names.items()}


def mars_lag(a):
    """MARS's m under "equal" less its m under "zero": -gamma beta g_1 at t = 1, then times beta."""
    return -a["gamma"] * a["beta1"], a["beta1"]


def quasi(h, b, last):
    """m = (1 - gamma) e + gamma g, e being B's buffer m."""
    return (1 - h.gamma) * b["m"] + h.gamma * last
