r"""With the printed coefficient of M the error bound of theorem B.5 becomes negative.

Printed: mean E|m_t - grad F(x_t)|^2 <= B T^(-2/3) - rho^2/(8 L^2 T^(1/3)) sum M_{t+1}. (C.8) subtracts rho/(16 L^2 eta_t)
M_{t+1} from the Lyapunov function, and division by T eta_T/rho makes it rho^2/(16 L^2 T eta_T) sum M_{t+1}/eta_t. Compare
the weights of one M_{t+1} >= 0: (s + T)^(1/3) (s + t)^(1/3)/(16 T) against 1/(8 T^(1/3)). Their ratio (s + T)^(1/3) (s +
t)^(1/3)/(2 T^(2/3)) is largest at t = T = s, where it is 2^(2/3)/2 = 0.79: the chain never gives the printed coefficient,
for no t <= T and no T >= s. (In the second bound the chain's weight, against 1/(6 L^2 T^(1/3)), is likewise smaller while
(s + t)(s + T) < T^2.)

Counterexample. A single M_{t+1} > 0 that does not depend on T is subtracted with T^(-1/3), while the rest falls like
T^(-2/3) log T: the printed right side is negative from some T on, and the left side is a mean of squares. Take F = L x^2/2
from its minimum, additive noise, rho = 1, L = 0.1, c = 32 L^2 + 1, s = 10^4, gamma_2 at its optimum 1 + 1/(eta_1 L) and
gamma_t = 1 later (M = 0 there). With m_1 = g_1 the first difference is -L eta_1 m_1 and M_2 = beta^2 E<Delta,
eps_1>^2/E|Delta|^2 = beta^2 sigma^2. Here M_2 is measured: the fall of E|m_2 - grad F(x_2)|^2 from gamma = 1 to the
optimum, over all sign sequences. Claimed: the bound is at least 0 at T = 10^6; it is given in units of its part without M.
"""

from marslab.claims._audit import Coins, error_bound, every, walk
from marslab.claims.base import Claim, Finding, Plant
from marslab.optimizers import mars
from marslab.problems import quadratic
from marslab.schedules import theorem
from marslab.verdicts import Measurement

STEPS, L = 1_000_000, 0.1
C = 32 * L**2 + 1


def printed(steps, s):
    """What the theorem subtracts for M_2 = 1, over rho^2 / L^2."""
    return steps ** (-1 / 3) / 8


def derived(steps, s):
    """What (C.8) subtracts for M_2 = 1, over rho^2 / L^2."""
    return ((s + steps) * (s + 1)) ** (1 / 3) / (16 * steps)


def best_gain(rule, sigma: float, s: float) -> float:
    """M_2 at the optimal gamma_2, from three values of the parabola E|m_2 - grad F(x_2)|^2 in gamma."""
    run = dict(problem=quadratic([L], start_scale=0.0), noise=Coins(sigma), steps=2, seeds=every(2), exact=True)
    gammas = [0.0, 1.0, 1001.0]
    *_, second = walk(rule, **run, gamma=gammas, **theorem(C, s))
    errors = (second.states["x"]["m"] - L * second.x["x"]).square().mean(dim=(1, 2)).tolist()
    return errors[1] - lowest(gammas, errors)


def lowest(points, values) -> float:
    """The smallest value of the parabola through three points."""
    (a, b, c), (x, y, z) = points, values
    first, second = (y - x) / (b - a), (z - y) / (c - b)
    bend = (second - first) / (c - a)
    slope = first + bend * (b - a)  # at the second point
    return y - slope**2 / (4 * bend)


def measure(data, rule, coefficient, sigma, s):
    """The whole bound at T = STEPS, over its part without M."""
    base = error_bound(STEPS, L=L, rho=1.0, sigma=sigma, c=C, s=s)
    gain = best_gain(rule, sigma, s)
    parts = {weight.__name__: 1 - weight(STEPS, s) * gain / L**2 / base for weight in (printed, derived)}
    note = f"M₂ = {gain / sigma**2:.4f} σ²; bound with the chain's coefficient {parts['derived']:.4f}; "
    note += f"the chain's coefficient is at most 2^(2/3)/2 = {2 ** (2 / 3) / 2:.3f} of the printed one"
    return Finding(Measurement(1 - coefficient(STEPS, s) * gain / L**2 / base, kind="exact"), 2, 3, note)


audit_coefficient_of_m = Claim(
    name="audit_coefficient_of_m",
    statement="Theorem B.5's error bound with its printed −ρ²ΣM/(8L²T^(1/3)) is not below 0, as a bound on squares must be.",
    source="arXiv 2411.10438, theorem B.5 and (C.8)",
    kind="exact",
    unit="bound / its part without M",
    side="above",
    predict=lambda: 0.0,
    measure=measure,
    settings={"rule": mars, "coefficient": printed, "sigma": 1.0, "s": 1e4},
    plants={
        "the noise is ten times as strong": Plant({"sigma": 10.0}),
        "the schedule starts later": Plant({"s": 2e4}),
    },
)
