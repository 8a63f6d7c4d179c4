import matplotlib.pyplot as plt
import numpy as np

from marslab.plots import COLORS, draw_band
from marslab.tuning import final_loss


def make(data):
    """Final loss of approximate MARS-AdamW against gamma, each gamma at its own tuned rate; the ring is the published value."""
    runs, color = data["mars"], COLORS["approximate"]
    figure, ax = plt.subplots(figsize=(3.6, 2.8))
    losses = np.stack([final_loss(runs.sel(gamma=gamma)) for gamma in runs.gamma.values], axis=1)
    draw_band(ax, runs.gamma, losses, color=color)
    middle = np.median(losses, axis=0)
    ax.plot(runs.gamma, middle, "o", ms=3, color=color)
    ax.plot(0.025, middle[runs.gamma.values == 0.025], "o", ms=8, mfc="none", color=color)
    ax.set(xscale="log", yscale="log", xlabel=r"$\gamma$", title="MARS-AdamW on digits")
    ax.set(ylabel="loss on all digits")
    return figure
