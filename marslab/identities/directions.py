"""Steps along a sign or an orthogonal matrix: Signum, Lion, Muon, Moonlight and the memory-efficient MARS-M."""

from marslab.identities.base import Failure, Identity
from marslab.identities.parts import CLIP, EXACT, GAMMA, GAMMA_VARIES, LAG, PAPER, UNCLIPPED, mars_lag, quasi, same, take

__all__ = ["FAMILY"]

STEP = {"lr": 0.1, "weight_decay": 0.1}
BETA_VARIES = Failure("beta1 varies", "the buffer's weight in m varies with it", varying=("beta1",))


def nesterov(h, b, last):
    """m = mu e + (1 - mu) g, e being B's buffer m."""
    return h.beta1 * b["m"] + (1 - h.beta1) * last


signum = Identity(
    name="signum",
    statement="MARS-Lion at gamma = 0 without a clip is Signum",
    source="derived; arXiv 1802.04434, algorithm 2, for Signum",
    rule_a="mars_lion",
    rule_b="signum",
    free=STEP | {"beta1": 0.9},
    a=take("lr", "weight_decay", "beta1") | {"gamma": 0} | UNCLIPPED,
    b=take("lr", "weight_decay", "beta1"),
    invariant=same(m="m"),
    forms=(False, True),
    failures=(GAMMA, CLIP),
)

lion = Identity(
    name="lion",
    statement="Lion is approximate MARS-Lion without a clip at beta = beta2, gamma = (beta2 - beta1) / beta2: "
    "beta1 m_{t-1} + (1 - beta1) g_t of Lion is MARS's m_t",
    source=f"{PAPER}, equations 3.13-3.14 and lemma 3.4",
    rule_a="mars_lion",
    rule_b="lion",
    free=STEP | {"gamma": 1 / 11, "beta2": 0.99},
    a=take("lr", "weight_decay", "gamma") | {"beta1": lambda h: h.beta2} | UNCLIPPED,
    b=take("lr", "weight_decay", "beta2") | {"beta1": lambda h: h.beta2 * (1 - h.gamma)},
    invariant={"m": quasi},
    lag=mars_lag,
    reading=(None, quasi),
    failures=(
        GAMMA_VARIES,
        GAMMA,
        EXACT,
        CLIP,
        Failure("beta1 alone", "Lion then weighs g_t otherwise", b={"beta1": 0.5}, first=("zero",)),
    ),
    note=LAG + " The betas may follow a schedule while their ratio is constant.",
)

muon = Identity(
    name="muon",
    statement="Muon is approximate MARS-Shampoo without a clip at gamma = 1 - mu, with Muon's factor of the shape",
    source=f"{PAPER}, equations 3.20-3.25",
    rule_a="mars_shampoo",
    rule_b="muon",
    free=STEP | {"beta1": 0.9},
    a=take("lr", "weight_decay", "beta1") | {"gamma": lambda h: 1 - h.beta1, "shape_factor": "original"} | UNCLIPPED,
    b=take("lr", "weight_decay", "beta1"),
    invariant={"m": nesterov},
    lag=mars_lag,
    reading=(None, nesterov),
    failures=(
        GAMMA,
        EXACT,
        CLIP,
        BETA_VARIES,
        Failure("plain momentum", "Muon then orthogonalises e_t", b={"form": "plain"}, first=("zero",)),
    ),
    note=LAG,
)

moonlight = Identity(
    name="moonlight",
    statement="Moonlight's Muon orthogonalises approximate MARS's m_t at gamma = 1 - mu, times 1 / (1 - mu)",
    source=f"{PAPER}, equations 3.20-3.25; arXiv 2502.16982, section 2.2",
    rule_a="mars_m",
    rule_b="moonlight",
    free=STEP | {"beta1": 0.9},
    a=take("lr", "weight_decay", "beta1") | {"gamma": lambda h: 1 - h.beta1} | UNCLIPPED,
    b=take("lr", "weight_decay", "beta1"),
    invariant={"m": lambda h, b, last: (1 - h.beta1) * (last + h.beta1 * b["u"])},
    points=False,
    lag=mars_lag,
    failures=(GAMMA, EXACT, CLIP, BETA_VARIES),
    note=LAG + " The factor 1 / (1 - mu) leaves a polar factor as it is, and with it the point; Newton-Schulz adds eps to the "
    "norm and changes by about eps / |m|.",
)

mars_m_efficient = Identity(
    name="mars_m_efficient",
    statement="Memory-efficient MARS-M is approximate MARS-M without a clip: b_t = (1 - gamma) / beta1 e_t, m_t = gamma g_t + "
    "beta1 b_t",
    source="the released code of arXiv 2510.21800",
    rule_a="mars_m",
    rule_b="mars_m_efficient",
    free=STEP | {"gamma": 0.3, "beta1": 0.9},
    a=take("lr", "weight_decay", "gamma", "beta1") | UNCLIPPED,
    b=take("lr", "weight_decay", "gamma", "beta1"),
    invariant={"m": lambda h, b, last: h.gamma * last + h.beta1 * b["b"]},
    lag=mars_lag,
    failures=(
        Failure("gamma varies", "b keeps the weights of the old gamma", varying=("gamma",)),
        BETA_VARIES,
        GAMMA,
        EXACT,
        CLIP,
    ),
    note=LAG + " gamma and beta1 are constant, beta1 > 0.",
)

FAMILY = (signum, lion, muon, moonlight, mars_m_efficient)
