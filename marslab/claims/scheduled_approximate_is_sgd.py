r"""Under the theorem's schedule the approximate form at gamma = 1 is SGD with its step size, from the first step on.

m_t = beta m_{t-1} + (1 - beta) g_t + beta (g_t - g_{t-1}) = g_t + beta (m_{t-1} - g_{t-1}), so m_t = g_t for all t as
soon as m_1 = g_1, which the theorem's beta_{1,1} = 0 gives under the paper's own first step. On a nonconvex bowl with
noise in gradient and curvature the gradient norms of both runs, on the same samples, are compared at every step; a
beta_{1,1} that is not zero leaves -(product of the betas) g_1 in the estimate.
"""

import numpy as np

from marslab.claims.base import Claim, Finding, Plant
from marslab.noise import additive, curvature
from marslab.optimizers import mars, sgd
from marslab.problems import bowl
from marslab.schedules import PowerLaw, theorem
from marslab.simulate import run
from marslab.verdicts import Measurement

SCHEDULE, STEPS = theorem(c=33, s=300), 100


def measure(data, rule, exact, beta1):
    """The largest relative difference of the gradient norms."""
    options = dict(
        problem=bowl(dimension=10), noise=additive(1.0) + curvature(0.3), steps=STEPS, record=STEPS, lr=SCHEDULE["lr"]
    )
    ours = run(rule, exact=exact, gamma=1.0, beta1=beta1, **options).grad_norm.values
    other = run(sgd, **options).grad_norm.values
    gap = float(np.max(np.abs(ours / other - 1)))
    return Finding(Measurement(gap, kind="exact"), STEPS, STEPS, f"largest relative difference over {STEPS} steps {gap:.1e}")


scheduled_approximate_is_sgd = Claim(
    name="scheduled_approximate_is_sgd",
    statement="Under the theorem's schedule approximate MARS at γ = 1 walks the path of SGD from the first step on.",
    source="derived here, from arXiv 2411.10438, remark 3.3 and theorem B.5",
    kind="exact",
    unit="relative difference",
    margin=1e-10,
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "exact": False, "beta1": SCHEDULE["beta1"]},
    plants={
        "beta does not start at zero": Plant({"beta1": PowerLaw(0.9, 0.0)}),
        "prev is of the same sample": Plant({"exact": True}),
    },
)
