import matplotlib.pyplot as plt
import numpy as np

from marslab.plots import COLORS, draw_points, draw_slope, label_line


def make(data):
    """Approximate MARS at gamma = 1 under the theorem's schedule: error constant, gradient norm like T^(-1/6)."""
    exact, sampled = data["moments"], data["monte_carlo"]
    figure, ax = plt.subplots(figsize=(3.6, 2.8))
    for name, color, text in (
        ("error", COLORS["guide"], r"error $|m_t - \nabla F|$: never falls"),
        ("grad_norm", COLORS["approximate"], r"gradient $|\nabla F|$"),
    ):
        curve = np.sqrt(exact[f"{name}_squared"])
        ax.loglog(exact.step, curve, color=color)
        draw_points(ax, sampled.step, sampled[name], color=color, every=5)
        label_line(
            ax, 300, float(curve.sel(step=300, method="nearest")), text, color=color, dy=9 if name == "error" else -11, dx=-8
        )
    draw_slope(ax, [1e4, 1e6], 0.26, -1 / 6, "slope −1/6")
    ax.set(title="Approximate MARS, theorem's schedule", xlabel="step t", ylabel="root mean square", ylim=(0.04, 2))
    return figure
