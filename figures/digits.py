import matplotlib.pyplot as plt
import numpy as np

from marslab.plots import COLORS, draw_band, label_ends, number_axes
from marslab.tuning import best, reporting, within

NAMES = {
    "adamw": "AdamW (0.9, 0.999)",
    "adamw_betas": "AdamW (0.95, 0.99)",
    "approximate": "MARS-AdamW, approximate",
    "exact": "MARS-AdamW, exact",
}
SHADES = {**COLORS, "adamw_betas": "#56B4E9"}


def make(data):
    """Left: training loss against gradient evaluations at each method's tuned rate; right: final loss against the rate."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0), width_ratios=[1.3, 1])
    ends, colors = {}, {}
    budget = int(data["adamw"].evaluations[-1])
    for method, name in NAMES.items():
        dataset, color = within(data[method], budget), SHADES[method]
        rate, shown = best(dataset), reporting(dataset)
        loss = shown.loss.sel(lr=rate).transpose("seed", "step").values
        draw_band(left, dataset.evaluations, loss, color=color)
        ends[name], colors[name] = np.median(loss[:, -1]), color
        final = shown.loss.isel(step=-1).transpose("seed", "lr").values
        draw_band(right, dataset.lr, final, color=color)
        right.plot(rate, np.median(loss[:, -1]), "o", color=color, ms=5)
    left.set(xscale="log", yscale="log", xlabel="gradient evaluations", title="Training loss, tuned rates", xlim=(8, budget))
    left.set(ylabel="loss on all digits", ylim=(None, 2))
    right.set(xscale="log", yscale="log", xlabel="learning rate", title="Final loss (dot: tuned)")
    rates = dataset.lr.values
    right.set_xticks(rates, [f"{r:g}" for r in rates], minor=False)
    right.minorticks_off()
    label_ends(left, budget, ends, colors)
    number_axes([left, right])
    return figure
