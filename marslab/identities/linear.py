"""Plain steps: the two recursion lemmas, momentum, SGD, STORM, quasi-hyperbolic and Nesterov momentum."""

from marslab.identities.base import Failure, Identity
from marslab.identities.lemmas import buffer_after_use, buffer_before_use, one_recursion
from marslab.identities.parts import EXACT, GAMMA, GAMMA_VARIES, LAG, PAPER, START, mars_lag, quasi, take

__all__ = ["FAMILY"]

WEIGHTS = {"lr": 0.1, "a1": 0.9, "a2": 0.3, "b1": 0.7, "b2": 0.4}
OTHER_WEIGHT = Failure("weight", "another weight of the difference gives another m", a={"r": 0.1})


def recursion_lag(a):
    """The difference form under "equal" less under "zero": -r g_1 at t = 1, then times p."""
    return -a["r"], a["p"]


def fresh(h):
    """The weight of g_t in the difference form."""
    return h.b1 * h.a2 - h.a1 * h.b2 + h.b2


def after_use(h, b, last):
    """m_t from u_{t+1} and g_t."""
    return h.b1 * (b["u"] - h.a2 * last) / h.a1 + h.b2 * last


lemma_after_use = Identity(
    name="lemma_after_use",
    statement="m = b1 u + b2 g, then u = a1 u + a2 g, is m_t = a1 m_{t-1} + (b1 a2 - a1 b2 + b2) g_t "
    "+ (a1 b2 - b1 a2) (g_t - g_{t-1})",
    source=f"{PAPER}, lemma 3.4",
    rule_a=one_recursion,
    rule_b=buffer_after_use,
    free=WEIGHTS,
    a=take("lr") | {"p": lambda h: h.a1, "q": fresh, "r": lambda h: h.a1 * h.b2 - h.b1 * h.a2},
    b=take(*WEIGHTS),
    invariant={"m": after_use},
    lag=recursion_lag,
    reading=(None, lambda h, b, g: b["m"]),
    failures=(OTHER_WEIGHT, Failure("a1 varies", "u forgets otherwise than m", varying=("a1",))),
    note="From u_1 = 0 it needs g_0 = 0; after a first difference of zero m lacks (a1 b2 - b1 a2) a1^(t-1) g_1.",
)

lemma_before_use = Identity(
    name="lemma_before_use",
    statement="u = a1 u + a2 g, then m = b1 u + b2 g, is m_t = a1 m_{t-1} + (b1 a2 - a1 b2 + b2) g_t + a1 b2 (g_t - g_{t-1})",
    source=f"{PAPER}, lemma D.1",
    rule_a=one_recursion,
    rule_b=buffer_before_use,
    free=WEIGHTS,
    a=take("lr") | {"p": lambda h: h.a1, "q": fresh, "r": lambda h: h.a1 * h.b2},
    b=take(*WEIGHTS),
    invariant={"m": lambda h, b, last: h.b1 * b["u"] + h.b2 * last},
    lag=recursion_lag,
    reading=(None, lambda h, b, g: b["m"]),
    failures=(OTHER_WEIGHT, Failure("b1 varies", "m's memory holds the old b1", varying=("b1",))),
    note="From u_0 = 0 it needs g_0 = 0; after a first difference of zero m lacks b2 a1^t g_1. a1 and a2 may vary in time.",
)

momentum = Identity(
    name="momentum",
    statement="MARS at gamma = 0 is momentum",
    source=f"{PAPER}, section 3",
    rule_a="mars",
    rule_b="momentum",
    free={"lr": 0.1, "beta1": 0.9},
    a=take("lr", "beta1") | {"gamma": 0},
    b=take("lr", "beta1"),
    invariant={"m": lambda h, b, last: b["m"]},
    forms=(False, True),
    failures=(GAMMA,),
)

sgd = Identity(
    name="sgd",
    statement="Approximate MARS at gamma = 1 is SGD: m_t = g_t",
    source="from m_t = (1 - gamma) e_t + gamma g_t",
    rule_a="mars",
    rule_b="sgd",
    free={"lr": 0.1, "beta1": 0.9},
    a=take("lr", "beta1") | {"gamma": 1},
    b=take("lr"),
    invariant={"m": lambda h, b, last: last},
    lag=mars_lag,
    failures=(GAMMA, EXACT),
    note=LAG + " beta1 may follow a schedule.",
)

storm = Identity(
    name="storm",
    statement="Exact MARS at gamma = 1 is STORM with a = 1 - beta1",
    source=f"{PAPER}, section 3.2",
    rule_a="mars",
    rule_b="storm",
    free={"lr": 0.1, "beta1": 0.9},
    a=take("lr", "beta1") | {"gamma": 1},
    b=take("lr", "beta1"),
    invariant={"m": lambda h, b, last: b["m"]},
    forms=(True,),
    failures=(GAMMA, START, Failure("approximate form", "MARS is then SGD", exact=False)),
    note="It holds under both conventions as long as both start alike; STORM as published starts at g_1 ('zero'). "
    "beta1 may follow a schedule.",
)

qhm = Identity(
    name="qhm",
    statement="Approximate MARS is quasi-hyperbolic momentum with nu = 1 - gamma: m_t = (1 - gamma) e_t + gamma g_t",
    source="derived; arXiv 1810.06801 for QHM",
    rule_a="mars",
    rule_b="qhm",
    free={"lr": 0.1, "gamma": 0.3, "beta1": 0.9},
    a=take("lr", "gamma", "beta1"),
    b=take("lr", "beta1") | {"nu": lambda h: 1 - h.gamma},
    invariant={"m": quasi},
    lag=mars_lag,
    failures=(GAMMA_VARIES, GAMMA, EXACT),
    note=LAG + " beta1 may follow a schedule, gamma may not.",
)

nesterov = Identity(
    name="nesterov",
    statement="Approximate MARS at gamma = 1 - beta1 is Nesterov momentum with mu = beta1 and 1 - mu times the step size",
    source=f"{PAPER}, equations 3.22-3.25",
    rule_a="mars",
    rule_b="nesterov",
    free={"lr": 0.02, "beta1": 0.9},
    a=take("beta1") | {"gamma": lambda h: 1 - h.beta1, "lr": lambda h: h.lr / (1 - h.beta1)},
    b=take("lr", "beta1"),
    invariant={"m": lambda h, b, last: (1 - h.beta1) * (last + h.beta1 * b["u"])},
    lag=mars_lag,
    failures=(GAMMA, EXACT, Failure("beta1 varies", "gamma and the scale of u vary with it", varying=("beta1",))),
    note=LAG,
)

FAMILY = (lemma_after_use, lemma_before_use, momentum, sgd, storm, qhm, nesterov)
