import matplotlib.pyplot as plt
import numpy as np

from marslab.plots import COLORS, draw_points, draw_slope, label_line


def make(data):
    """Gradient norm of SGD with a step size of t^(-1/2): exact moments as a line, Monte Carlo as points."""
    exact, sampled = data["moments"], data["monte_carlo"]
    figure, ax = plt.subplots(figsize=(3.6, 2.8))
    ax.loglog(exact.step, np.sqrt(exact.grad_norm_squared), color=COLORS["sgd"])
    draw_points(ax, sampled.step, sampled.grad_norm, color=COLORS["sgd"], every=5)
    label_line(ax, 20, 0.42, "exact moments;\npoints: 64 seeds, 99 %", color=COLORS["sgd"], dy=10, dx=2)
    draw_slope(ax, [3e3, 1e6], 0.17, -1 / 4, "slope −1/4")
    ax.set(title="SGD, step size $t^{-1/2}$", xlabel="step t", ylabel=r"root mean square of $|\nabla F(x_t)|$")
    return figure
