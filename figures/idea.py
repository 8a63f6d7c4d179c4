import matplotlib.pyplot as plt
import numpy as np

from marslab import theory
from marslab.plots import COLORS, draw_points, label_ends, label_line, number_axes

EXPERIMENTS = ("rate_exact", "rate_approximate", "rate_sgd", "gamma")
FORMS = {
    "rate_sgd": ("SGD, $t^{-1/2}$", "sgd"),
    "rate_approximate": ("MARS, approximate", "approximate"),
    "rate_exact": ("MARS, exact", "exact"),
}


def make(data):
    """What is predicted (lines) and what is measured (points): the rates, and the effect of gamma."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 2.9))
    rates(left, data)
    gammas(right, data["gamma"])
    number_axes([left, right])
    return figure


def rates(ax, data):
    """Gradient norm against gradient evaluations: exact MARS is charged for both of its gradients."""
    ends, colors = {}, {}
    for name, (text, color) in FORMS.items():
        exact, sampled = data[name]["moments"], data[name]["monte_carlo"]
        cost = 2 if name == "rate_exact" else 1
        curve = np.sqrt(exact.grad_norm_squared.values)
        ax.loglog(exact.step * cost, curve, color=COLORS[color])
        draw_points(ax, sampled.step * cost, sampled.grad_norm, color=COLORS[color], every=6)
        ends[text], colors[text] = curve[-1], COLORS[color]
    ax.set(
        xlabel="gradient evaluations", ylabel=r"root mean square of $|\nabla F|$", title=r"How fast ($\gamma = 1$, quadratic)"
    )
    ax.set_xlim(1, 3e6)
    label_ends(ax, 2e6, ends, colors)


def gammas(ax, data):
    """Stationary gradient norm against gamma with additive noise; a = 0.5, beta = 0.95 as declared."""
    grid = np.r_[0, np.geomspace(1e-3, 1.55, 100)]
    laws = {"exact": theory.stationary_exact, "approximate": theory.stationary_approximate}
    for form, law in laws.items():
        ax.plot(grid, np.sqrt(law(0.5, gamma=grid, beta=0.95)), color=COLORS[form])
        half, whole = (data[f"{form}_additive"].grad_norm_squared_mean.isel(step=i).values for i in (0, -1))
        middle = np.sqrt((2 * whole - half).mean(axis=1))
        ax.plot(data[f"{form}_additive"].gamma, middle, "o", ms=3.5, color=COLORS[form])
    label_line(ax, 0.25, 0.62, "approximate", color=COLORS["approximate"], ha="right", dx=0)
    label_line(ax, 0.12, 0.2, "exact", color=COLORS["exact"], ha="right", dx=0)
    ax.set_xscale("symlog", linthresh=1e-3, linscale=0.5)
    ax.set_xticks([0, 1e-2, 1e-1, 1], ["0", "0.01", "0.1", "1"])
    ax.set(xlabel=r"$\gamma$", ylabel=r"stationary $|\nabla F|$", ylim=(0, None), title=r"Where $\gamma$ helps, and harms")
