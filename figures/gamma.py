import matplotlib.pyplot as plt
import numpy as np

from marslab import moments
from marslab.plots import COLORS, label_line, number_axes

BETA, RATE, DIMENSION = 0.95, 0.5, 20  # as declared in experiments/gamma.py; curvature 1
TITLES = {"additive": "Additive noise", "curvature": "… and curvature noise", "adamw": "MARS-AdamW on a bowl"}
LEVELS = {"additive": 0.0, "curvature": 1.0}


def make(data):
    """Stationary gradient norm against gamma: points with 99 % intervals, the exact stationary law as lines."""
    figure, axes = plt.subplots(1, 3, figsize=(8.4, 2.8))
    for ax, (kind, title) in zip(axes, TITLES.items(), strict=True):
        for form in ("exact", "approximate"):
            measured(ax, data[f"{form}_{kind}"], form)
            if kind in LEVELS:
                predicted(ax, LEVELS[kind], form)
        ax.set_xscale("symlog", linthresh=1e-3, linscale=0.5)
        ax.set_xticks([0, 1e-2, 1e-1, 1], ["0", "0.01", "0.1", "1"])
        ax.set(title=title, xlabel=r"$\gamma$", ylim=(0, None), xlim=(-3e-4, 2.2))
    axes[0].set_ylabel(r"stationary $|\nabla F|$ (root mean square)")
    label_line(axes[0], 0.25, 0.62, "approximate", color=COLORS["approximate"], ha="right", dx=0)
    label_line(axes[0], 0.12, 0.2, "exact", color=COLORS["exact"], ha="right", dx=0)
    number_axes(axes)
    return figure


def measured(ax, dataset, form):
    """Root mean square over the second half of each run, with the 99 % interval over 16 seeds (delta rule)."""
    half, whole = (dataset.grad_norm_squared_mean.isel(step=i).values for i in (0, -1))
    squares = 2 * whole - half
    middle = np.sqrt(squares.mean(axis=1))
    spread = 2.95 * squares.std(axis=1, ddof=1) / np.sqrt(squares.shape[1]) / (2 * middle)
    marker = "o" if form == "exact" else "s"
    ax.errorbar(dataset.gamma, middle, yerr=spread, fmt=marker, ms=3.5, lw=0.9, color=COLORS[form])


def predicted(ax, level, form):
    """The stationary law of the same rule, no parameter fitted."""
    grid = np.r_[0, np.geomspace(1e-3, 1.55, 80)]
    law = moments.stationary("mars", curvature=1.0, sigma=DIMENSION**-0.5, level=level, exact=form == "exact",
                             gamma=grid.tolist(), beta1=BETA, lr=RATE)  # fmt: skip
    ax.plot(grid, np.sqrt(DIMENSION * np.ravel(law.grad_norm_squared)), color=COLORS[form], lw=1.2)
