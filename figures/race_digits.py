import matplotlib.pyplot as plt
import numpy as np

from marslab.plots import COLORS, number_axes
from marslab.tuning import best, final_loss, reporting

NAMES = {
    "adamw": "AdamW (0.9, 0.999)",
    "adamw_paper": "AdamW (0.9, 0.95)",
    "mars": "MARS-AdamW",
    "mars_exact": "MARS-AdamW, exact",
    "lion": "Lion",
    "mars_lion": "MARS-Lion",
    "muon": "Muon",
}
SHADES = {
    "adamw": COLORS["adamw"],
    "adamw_paper": "#56B4E9",
    "mars": COLORS["approximate"],
    "mars_exact": COLORS["exact"],
    "lion": "#E69F00",
    "mars_lion": COLORS["curvature"],
    "muon": "#000000",
}


def make(data):
    """Left: final loss at each method's tuned rate, median and quartiles over seeds; right: final loss against the rate."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.2), width_ratios=[1.1, 1])
    for place, method in enumerate(reversed(NAMES)):
        dataset, color = data[method], SHADES[method]
        low, middle, high = np.quantile(final_loss(dataset), [0.25, 0.5, 0.75])
        left.errorbar(middle, place, xerr=[[middle - low], [high - middle]], fmt="o", color=color, ms=5)
        final = np.median(reporting(dataset).loss.isel(step=-1).transpose("seed", "lr").values, axis=0)
        right.plot(dataset.lr / best(dataset), final, "o-", ms=3, color=color)
    left.set(xlabel="loss on all digits after 200 steps", ylabel="method", title="Tuned rates")
    left.set_yticks(range(len(NAMES)), list(reversed(NAMES.values())))
    right.set(xscale="log", yscale="log", xlabel="learning rate / tuned rate", title="Final loss, colours as in a")
    right.set_xticks([0.125, 0.5, 2], ["1/8", "1/2", "2"])
    right.set_xticks([], minor=True)
    number_axes([left, right])
    return figure
