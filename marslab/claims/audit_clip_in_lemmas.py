r"""The two lemmas behind theorem B.6 need the clip off and on at once.

Lemma C.2 follows the unclipped recursion m_{t+1} = beta m_t + (1 - beta) c_{t+1}; lemma C.1, |sqrt v_t - sqrt v_{t+1}| <=
sqrt(2 (1 - beta_2)), uses |c_t| <= 1, which the clip provides. Algorithm 2 clips.

With the clip on lemma C.2 is false. Its sum over t (gamma = 1, no noise, so M = 0) is E|eps_t|^2 <= beta^(2(t-1)) |eps_1|^2
+ 2 beta^2 L^2 sum beta^(2(t-1-i)) |x_{i+1} - x_i|^2. Where |grad F| = 10 the clipped estimate never exceeds 1, so |eps_t|
stays near 9, while the right side falls to 2 beta^2 L^2 lr^2/(1 - beta^2). With the clip off lemma C.1 is false: one step
from v = 0 with c = 10 moves sqrt v by 10 sqrt(1 - beta_2). Both hold only where |c_t| <= 1 all along, that is where the
clip never acts.

Measured: MARS-AdamW without noise on F = x^2/2 from x = 10, the larger of (left side)/(right side) of the two lemmas over 100
steps. Claimed: at most 1.
"""

import math

import torch

from marslab.claims._audit import walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars_adamw
from marslab.problems import quadratic
from marslab.verdicts import Measurement

STEPS, BETA1, BETA2 = 100, 0.95, 0.99


def ratios(rule, radius: float, start: float, lr: float) -> tuple[float, float]:
    """The largest left side over right side of lemma C.2 (summed up) and of lemma C.1."""
    options = dict(lr=lr, gamma=1.0, beta1=BETA1, beta2=BETA2, clip_radius=radius)
    run = walk(rule, problem=quadratic([1.0], start_scale=start), steps=STEPS, exact=True, **options)
    bound, moved, root, worst = None, 0.0, torch.zeros(1, 1, dtype=torch.float64), [0.0, 0.0]
    for step in run:
        x, state = step.x["x"], step.states["x"]
        error = (state["m"] - x).square()
        bound = error if bound is None else BETA1**2 * bound + moved
        moved = 2 * BETA1**2 * (step.new["x"] - x).square()
        change = (state["v"].sqrt() - root).abs() / math.sqrt(2 * (1 - BETA2))
        root = state["v"].sqrt()
        worst = [max(worst[0], float(error / bound)), max(worst[1], float(change))]
    return tuple(worst)


def measure(data, rule, radius, start, lr):
    """The worse of the two lemmas at this clip radius; the note has both, with the clip on and off."""
    found = {r: ratios(rule, r, start, lr) for r in {radius, 1.0, math.inf}}
    on, off = found[1.0], found[math.inf]
    note = f"clip on: lemma C.2 {on[0]:.3g}, C.1 {on[1]:.3g}; clip off: lemma C.2 {off[0]:.3g}, C.1 {off[1]:.3g}"
    return Finding(Measurement(max(found[radius]), kind="exact"), STEPS, 2 * STEPS - 1, note)


audit_clip_in_lemmas = Claim(
    name="audit_clip_in_lemmas",
    statement="Lemmas C.1 and C.2, which theorem B.6 needs together, hold for one algorithm, MARS-AdamW with its clip.",
    source="arXiv 2411.10438, algorithm 2, lemmas C.1 and C.2, theorem B.6",
    kind="exact",
    unit="left side / right side",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars_adamw, "radius": 1.0, "start": 10.0, "lr": 0.01},
    plants={
        "the clip is off": Plant({"radius": math.inf}),
        "the clip is ten times as wide": Plant({"radius": 10.0, "start": 100.0}),
    },
)
