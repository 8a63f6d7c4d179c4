r"""The first step of MARS has three sizes: (1 - beta) g_1, (1 - beta + gamma beta) g_1 and g_1.

Paper, algorithm 1: x_1 = x_0 and m_0 = 0, so c_1 = g_1, m_1 = (1 - beta) g_1. Released code, HeavyBall, levanter: the
first correction is against zero, c_1 = (1 + kappa) g_1, m_1 = (1 - beta + gamma beta) g_1. timm: c_1 = g_1 without the
clip. The proof of theorem B.5, and STORM: m_1 = g_1. Once they see the same gradients all follow m_t = beta m_{t-1} +
..., so the gaps to the paper's start shrink by beta a step: gamma beta^t g_1 for the released code, beta^t g_1 for the
proof. At the defaults the first m are 0.05, 0.07375 and 1 times g_1; after 100 steps the proof's start is still off by
0.95^100 = 0.6 % of g_1. Measured on one recorded stream: the largest gap of m_1 to the paper's, in units of |g_1| (margin
1e-9).
"""

from marslab.claims._streams import alternating, noisy, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars, mars_adamw
from marslab.verdicts import Measurement

GAMMA, BETA, TIMES = 0.025, 0.95, (1, 2, 100)
STARTS = {"paper": {}, "released": {"first": "zero"}, "proof": {"start": 1.0}}


def measure(data, rule, conventions, beta, noise):
    """The largest gap at t = 1; the note has every gap at t = 1, 2, 100 beside its closed form, and timm's lost clip."""
    stream = noisy(noise=noise)
    paths = {name: averaged(rule, stream, beta, **STARTS[name]) for name in conventions}
    gaps = {name: (path - paths["paper"]).norm(dim=1) / stream[0].norm() for name, path in paths.items()}
    expected = {"paper": 0.0, "released": GAMMA, "proof": 1.0}
    parts = [f"{name} {[f'{gap[t - 1]:.5f}' for t in TIMES]}".replace("'", "") for name, gap in gaps.items() if name != "paper"]
    off = max(float(abs(gaps[name][t - 1] - expected[name] * beta**t)) for name in conventions for t in TIMES)
    note = f"gaps at t = 1, 2, 100 over |g_1|: {', '.join(parts)} (closed forms to {off:.0e}); {unclipped()}"
    return Finding(Measurement(float(max(gap[0] for gap in gaps.values())), kind="exact"), len(stream), len(stream), note)


def averaged(rule, stream, beta, first="equal", start=None):
    """m along the stream from one start; m_0 = g_1 gives m_1 = g_1."""
    start = None if start is None else {"m": start * stream[0]}
    return walk(rule, stream, first=first, start=start, gamma=GAMMA, beta1=beta)["m"]


def unclipped() -> str:
    """What timm's first step, which is not clipped, makes of a gradient of norm 10."""
    stream = alternating(steps=1, size=10.0)
    clipped, free = (walk(mars_adamw, stream, first="equal", clip_radius=r)["m"].norm() for r in (1.0, float("inf")))
    return f"for |g_1| = 10 timm's unclipped m_1 is {free / clipped:.1f} times the paper's"


released_first_step = Claim(
    name="released_first_step",
    statement="Paper, proof, released code and ports take the same first step: m₁ = (1 − β)g₁.",
    source="arXiv 2411.10438, algorithm 1 and theorem B.5, against the released code and timm",
    kind="exact",
    unit="gap of the first m over |g₁|",
    margin=1e-9,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "conventions": tuple(STARTS), "beta": BETA, "noise": 1.0},
    plants={
        "beta is smaller": Plant({"beta": 0.5}),
        "only the released code is looked at": Plant({"conventions": ("paper", "released")}),
    },
)
