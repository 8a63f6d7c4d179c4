import matplotlib.pyplot as plt
import numpy as np

from marslab.plots import COLORS, draw_points, draw_slope, label_line


def make(data):
    """Approximate MARS at gamma = 1 under the theorem's schedule: error constant, gradient norm like T^(-1/6)."""
    exact, sampled = data["moments"], data["monte_carlo"]
    figure, ax = plt.subplots(figsize=(3.6, 2.8))
    for name, color in (("error", COLORS["guide"]), ("grad_norm", COLORS["approximate"])):
        ax.loglog(exact.step, np.sqrt(exact[f"{name}_squared"]), color=color)
        draw_points(ax, sampled.step, sampled[name], color=color, every=5)
    label_line(ax, 200, 1.0, r"error $|m_t - \nabla F|$: never falls", color=COLORS["guide"], dy=9, dx=0)
    label_line(ax, 8, 0.2, r"gradient $|\nabla F|$", color=COLORS["approximate"], dx=0)
    draw_slope(ax, [1e4, 1e6], 0.26, -1 / 6, "slope −1/6")
    ax.set(title="Approximate MARS, theorem's schedule", xlabel="step t", ylabel="root mean square", ylim=(0.04, 2))
    return figure
