r"""Theorem B.5 prints rho c^2 sigma^2 / (4 L^2) where its proof gives rho^2: as printed the bound is false.

Rescale x = a x': F, eta, beta, c, s and G stay, while L, sigma, rho and the error become a^2 L, a sigma, a^2 rho and a
times themselves. The bounded quantity E|e_t|^2 thus gains a^2, as do 2 rho G and rho^2 sigma^2 / L^2; the printed term rho
sigma^2 / L^2 gains nothing, so that a stretched problem violates it. Take rho = L = 1000, so c = 33, s = 189, with H =
1.001 rho I (strictly above rho I), the start at the minimum (G = rho s^(1/3) sigma^2 / (16 L^2)) and additive noise of
sigma = 1. The noise cancels in the correction: e_{t+1} = beta e_t + (1 - beta) z whatever the curvature, hence E|e_t|^2 ~ c
eta_t^2 sigma^2 / 2 and the mean is about (3 c / 2) T^(-2/3) = 49.5 T^(-2/3), against the printed [s^(1/3) / 8 + 0.27 log(s
+ T)] T^(-2/3), which is near 3 T^(-2/3). With rho^2 the bound holds on the same data. For rho < 1 the printed bound is the
weaker one and holds. Held against exact moments at every recorded T >= s.
"""

import sympy

from marslab.claims._theorem import Setting, curves, running_mean
from marslab.claims.base import Claim, Finding, Plant
from marslab.experiment import Budget
from marslab.noise import additive
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import PowerLaw
from marslab.verdicts import Measurement

STRETCHED = Setting(L=1000.0, rho=1000.0, gap=0.0)
ABOVE = 1.001  # H = 1.001 rho I lies strictly above rho I


def gained(power: int) -> sympy.Expr:
    """What rho^power sigma^2 / L^2 gains under x = a x'; the bounded quantity gains a^2."""
    a, L, sigma, rho = sympy.symbols("a L sigma rho", positive=True)
    term = rho**power * sigma**2 / L**2
    stretched = term.subs({L: a**2 * L, sigma: a * sigma, rho: a**2 * rho}, simultaneous=True)
    return sympy.simplify(stretched / term)


def measure(data, rule, noise, exact, power, steps):
    """The largest ratio of the mean squared error to the bound with rho^power."""
    schedules = STRETCHED.schedules | {"lr": PowerLaw(1 / (ABOVE * STRETCHED.rho), 1 / 3, STRETCHED.s)}
    still = quadratic(spectrum=(STRETCHED.L,), start_scale=0.0)
    found = curves(rule, problem=still, noise=noise, exact=exact, steps=steps, gamma=1.0, **schedules)
    covered = found["t"] >= STRETCHED.s
    mean, t = running_mean(found["t"], found["error_squared"])[covered], found["t"][covered]
    ratio = float((mean / STRETCHED.error_bound(t, power)).max())
    other = float((mean / STRETCHED.error_bound(t, 3 - power)).max())
    note = (
        f"with rho^{3 - power}: {other:.3g}; under x = a x' the error gains a**2, the term gains "
        f"{gained(1)} as printed and {gained(2)} with rho^2"
    )
    return Finding(Measurement(ratio, kind="exact"), steps=steps, evaluations=2 * steps - 1, note=note)


theorem_b5_rho_power = Claim(
    name="theorem_b5_rho_power",
    statement="Theorem B.5's bound on the mean squared error holds as printed, with ρ c²σ²/(4L²), where ρ = L = 1000.",
    source="arXiv 2411.10438, theorem B.5",
    kind="exact",
    unit="largest ratio to the bound",
    side="below",
    predict=lambda: 1.0,
    measure=measure,
    settings={"rule": mars, "noise": additive(sigma=1.0), "exact": True, "power": 1, "steps": Budget(100_000, 1_000_000)},
    plants={"prev is of another sample": Plant({"exact": False})},
)
