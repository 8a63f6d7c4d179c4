import matplotlib.pyplot as plt
import numpy as np

from marslab.plots import COLORS, draw_band, label_line, number_axes
from marslab.tuning import best, reporting

NAMES = {"adamw": "AdamW", "mars": "MARS-AdamW"}
SHADES = {"adamw": COLORS["adamw"], "mars": COLORS["approximate"]}
BATCHES = {"small": "Batches of 4", "large": "Batches of 64"}


def make(data):
    """Final loss against the learning rate at two batch sizes, median and quartiles over seeds; dots: the tuned rates."""
    figure, panels = plt.subplots(1, 2, figsize=(7.0, 2.9))
    for ax, (size, title) in zip(panels, BATCHES.items(), strict=True):
        for method, name in NAMES.items():
            dataset, color = data[f"{method}_{size}"], SHADES[method]
            final = reporting(dataset).loss.isel(step=-1).transpose("seed", "lr").values
            draw_band(ax, dataset.lr, final, color=color)
            middle = np.median(final, axis=0)
            ax.plot(best(dataset), middle[dataset.lr.values == best(dataset)], "o", color=color, ms=5)
            label_line(ax, dataset.lr[-1], middle[-1], name, color=color)
        ax.set(xscale="log", yscale="log", xlabel="learning rate", title=title)
        ax.set_xticks(dataset.lr.values, [f"{rate:g}" for rate in dataset.lr.values])
        ax.set_xticks([], minor=True)
    panels[0].set(ylabel="loss on all digits")
    number_axes(panels)
    return figure
