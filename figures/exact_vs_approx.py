import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

from marslab import theory
from marslab.plots import label_line

BETA = 0.95  # as declared in experiments/exact_vs_approx.py; curvature 1, so the learning rate is eta * lambda
LEVELS = [1.05, 1.5, 3, 8]
SPOTS = [(0.03, 1.0), (0.22, 0.5), (0.42, 0.5), (0.62, 0.7)]  # near these points the contours are named


def make(data):
    """Measured ratio of the stationary E|grad F|^2, approximate over exact; lines: the closed form's ratio."""
    ratio = stationary(data["approximate"]) / stationary(data["exact"])
    rates, gammas = data["exact"].lr.values, data["exact"].gamma.values
    figure, ax = plt.subplots(figsize=(4.8, 3.4))
    shown = ax.pcolormesh(gammas, rates, ratio, cmap="YlOrBr", norm=LogNorm(1, 16), shading="nearest")
    contours(ax)
    ax.set(xscale="log", yscale="log", xlabel=r"$\gamma$", ylabel=r"$\eta\lambda$", title="What the second gradient buys")
    ax.set(xlim=(gammas[0] * 0.75, gammas[-1] * 1.3), ylim=(rates[0] * 0.75, rates[-1] * 1.35))
    bar = figure.colorbar(shown, ax=ax, ticks=[1, 2, 4, 8, 16], extend="both")
    bar.ax.set_yticklabels(["1", "2", "4", "8", "16"])
    bar.ax.minorticks_off()
    bar.set_label(r"stationary $E|\nabla F|^2$: approximate / exact")
    ax.grid(False)
    return figure


def stationary(dataset):
    """Mean over seeds of |grad F|^2 over the second half of the run; nothing is drawn where a lane diverged."""
    half, whole = (dataset.grad_norm_squared_mean.isel(step=i).mean("seed") for i in (0, -1))
    alive = np.isinf(dataset.diverged_at).all("seed") & np.isfinite(whole) & (whole < 1e6)
    return (2 * whole.where(alive) - half.where(alive)).transpose("lr", "gamma").values


def contours(ax):
    """Contours of the closed form's ratio, and the stability limit."""
    gamma, a = np.meshgrid(np.geomspace(1e-3, 1.5, 200), np.geomspace(0.01, 40, 200))
    exact = theory.stationary_exact(a, gamma=gamma, beta=BETA)
    approximate = theory.stationary_approximate(a, gamma=gamma, beta=BETA)
    ratio = np.divide(approximate, exact, out=np.full_like(exact, np.nan), where=np.isfinite(exact))
    lines = ax.contour(gamma, a, ratio, levels=LEVELS, colors="black", linewidths=0.9)
    for text in ax.clabel(lines, fmt=lambda v: f"{v:g}×", fontsize=7.5, manual=SPOTS, inline=False):
        text.set(color="black", rotation=0, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85})
    edge = np.geomspace(1e-3, 1.5, 60)
    ax.plot(edge, theory.stability_limit(gamma=edge, beta=BETA), color="#b00020", lw=1.8)
    label_line(ax, 0.33, 12, "unstable", color="#b00020", dx=0)
