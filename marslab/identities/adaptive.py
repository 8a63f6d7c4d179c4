"""Steps with a denominator: AdamW, Adan, SuperAdam, QHAdam, and NAdam's numerator."""

from marslab.identities.base import Failure, Identity
from marslab.identities.parts import CLIP, EXACT, GAMMA, GAMMA_VARIES, LAG, PAPER, START, UNCLIPPED, mars_lag, quasi, same, take
from marslab.optimizers.superadam import bounded
from marslab.pieces import power

__all__ = ["FAMILY"]

RAW = {"second_moment": "raw"}
PRODUCTS = {"beta1_product": "beta1_product", "beta2_product": "beta2_product"}

adamw = Identity(
    name="adamw",
    statement="MARS-AdamW at gamma = 0 without a clip is AdamW",
    source=f"{PAPER}, section 3",
    rule_a="mars_adamw",
    rule_b="adamw",
    free={"lr": 0.1, "beta1": 0.9, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1},
    a=take("lr", "beta1", "beta2", "eps", "weight_decay") | {"gamma": 0} | UNCLIPPED,
    b=take("lr", "beta1", "beta2", "eps", "weight_decay"),
    invariant=same(m="m", v="v", **PRODUCTS),
    forms=(False, True),
    failures=(GAMMA, CLIP),
)

adan = Identity(
    name="adan",
    statement="Adan with beta1 = beta2 and decoupled decay is approximate MARS-AdamW at gamma = 1 - beta1 without a clip; "
    "Adan's beta3 is MARS's beta2",
    source=f"{PAPER}, section 3 (first moment); the second moment derived: g_t + beta1 (g_t - g_(t-1)) is c_t",
    rule_a="mars_adamw",
    rule_b="adan",
    free={"lr": 0.1, "beta1": 0.9, "beta3": 0.95, "eps": 1e-3, "weight_decay": 0.1},
    a=take("lr", "beta1", "eps", "weight_decay") | {"gamma": lambda h: 1 - h.beta1, "beta2": lambda h: h.beta3} | UNCLIPPED,
    b=take("lr", "beta1", "beta3", "eps", "weight_decay") | {"beta2": lambda h: h.beta1, "decay": "decoupled"},
    invariant={"m": lambda h, b, last: b["m"] + h.beta1 * b["d"]}
    | same(v="n", beta1_product="beta1_product", beta2_product="beta3_product"),
    tied={"beta2_product": "beta1_product"},
    failures=(
        Failure("unequal betas", "differences then fade at another rate than gradients", b={"beta2": lambda h: h.beta1 / 2}),
        Failure("proximal decay", "1 / (1 + lr decay) is not 1 - lr decay", b={"decay": "proximal"}),
        Failure("raw second moment", "Adan squares the corrected gradient, not g", a=RAW),
        Failure("beta1 varies", "the weight of d in m varies with it", varying=("beta1",)),
        GAMMA,
        CLIP,
        START,
    ),
    note="The whole step agrees, not the first moment alone; under both conventions, since both sides average differences.",
)


def alpha(h):
    """SuperAdam's weight of the fresh gradient, by its published schedule."""
    before = h.k * power(h.offset + h.t - 1, -1 / 3)
    return bounded(h.c * before * before)


def unbiased(h):
    """SuperAdam's step size, less the bias correction of m that it does without."""
    mu = h.k * power(h.offset + h.t, -1 / 3)
    return h.lr * mu * (1 - h.product * (1 - alpha(h)))


superadam = Identity(
    name="superadam",
    statement="SuperAdam with tau = 1 is exact MARS-AdamW at gamma = 1 without clip or decay, v from the raw g^2, with "
    "beta1_t = 1 - alpha_t and step size lr mu_t (1 - prod beta1)",
    source=f"{PAPER}, remarks 3.1-3.2; arXiv 2106.08208, algorithm 1",
    rule_a="mars_adamw",
    rule_b="superadam",
    free={"lr": 0.1, "k": 1.0, "offset": 10.0, "c": 0.5, "beta2": 0.95, "eps": 1e-3},
    a=take("beta2", "eps") | {"beta1": lambda h: 1 - alpha(h), "lr": unbiased, "gamma": 1} | RAW | UNCLIPPED,
    b=take("lr", "k", "offset", "c", "beta2", "eps"),
    invariant=same(m="m", v="v", beta2_product="beta2_product"),
    forms=(True,),
    failures=(
        GAMMA,
        CLIP,
        START,
        Failure("corrected second moment", "SuperAdam squares g, not the corrected gradient", a={"second_moment": "clipped"}),
        Failure("bias correction", "MARS-AdamW's step is then 1 / (1 - prod beta1) times as long",
                a={"lr": lambda h: h.lr * h.k * power(h.offset + h.t, -1 / 3)}),
    ),
    note="It holds under both conventions as long as both start alike; SuperAdam as published starts at g_1 ('zero').",
)  # fmt: skip


def freshness(h):
    """1 - (1 - gamma) prod beta1, what a constant gradient leaves of approximate MARS's m from zero."""
    return 1 - (1 - h.gamma) * h.product * h.beta1


def remembered(h):
    """1 - prod beta1, Adam's bias correction."""
    return 1 - h.product * h.beta1


qhadam = Identity(
    name="qhadam",
    statement="QHAdam with nu2 = 1 and nu1_t = (1 - gamma)(1 - P_t) / (1 - (1 - gamma) P_t), P_t = prod beta1, is approximate "
    "MARS-AdamW without a clip, v from the raw g^2, its m corrected by 1 - (1 - gamma) P_t instead of 1 - P_t",
    source="derived; arXiv 1810.06801, section 4, for QHAdam",
    rule_a="mars_adamw",
    rule_b="qhadam",
    free={"lr": 0.1, "gamma": 0.3, "beta1": 0.9, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1},
    a=take("gamma", "beta1", "beta2", "eps")
    | {"lr": lambda h: h.lr * remembered(h) / freshness(h),
       "weight_decay": lambda h: h.weight_decay * freshness(h) / remembered(h)}
    | RAW
    | UNCLIPPED,
    b=take("lr", "beta1", "beta2", "eps", "weight_decay")
    | {"nu": lambda h: (1 - h.gamma) * remembered(h) / freshness(h), "nu2": 1},
    invariant={"m": quasi} | same(v="v", **PRODUCTS),
    lag=mars_lag,
    reading=(lambda h, a, g: a["m"] / freshness(h), None),
    failures=(
        GAMMA_VARIES,
        EXACT,
        CLIP,
        Failure("constant nu", "with nu1 = 1 - gamma, MARS-AdamW's m / (1 - P_t) less QHAdam's numerator is "
                "gamma P_t / (1 - P_t) g_t: the same in the long run only", b={"nu": lambda h: 1 - h.gamma}),
        Failure("corrected second moment", "c_t^2 is larger than g_t^2 where noise dominates", a={"second_moment": "clipped"},
                first=("zero",)),
        Failure("nu2", "g_t^2 then weighs more in the denominator", b={"nu2": 0.5}, first=("zero",)),
    ),
    note=LAG + " beta1 may follow a schedule, gamma may not.",
)  # fmt: skip

nadam = Identity(
    name="nadam",
    statement="NAdam's numerator with constant mu, (1 - mu) g_t + mu m_t, is m_t of approximate MARS at gamma = 1 - mu",
    source=f"{PAPER}, equations 3.22-3.25",
    rule_a="mars",
    rule_b="nadam",
    free={"beta1": 0.9},
    a=take("beta1") | {"gamma": lambda h: 1 - h.beta1},
    b=take("beta1") | {"warm_up": "constant"},
    invariant={"m": lambda h, b, last: (1 - h.beta1) * last + h.beta1 * b["m"]},
    points=False,
    lag=mars_lag,
    failures=(
        Failure("warm-up", "mu_t then varies, and gamma with it", b={"warm_up": "dozat"}),
        Failure("beta1 varies", "gamma varies with it", varying=("beta1",)),
        GAMMA,
        EXACT,
    ),
    note=LAG + " The steps differ: NAdam corrects g_t by 1 - mu^t and m_t by 1 - mu^(t+1), MARS-AdamW both by 1 - mu^t.",
)

FAMILY = (adamw, adan, superadam, qhadam, nadam)
