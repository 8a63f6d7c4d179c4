import matplotlib.pyplot as plt
import numpy as np

from marslab import theory
from marslab.plots import COLORS, draw_points, draw_slope, label_line, number_axes


def make(data):
    """Estimator error and gradient norm of exact MARS at gamma = 1: exact moments, Monte Carlo and closed form."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 2.9), sharex=True)
    error(left, data)
    gradient(right, data)
    number_axes([left, right])
    return figure


def error(ax, data):
    """Panel a: the estimator's error."""
    exact, unit, sampled = data["moments"], data["moments_unit"], data["monte_carlo"]
    ax.loglog(exact.step, np.sqrt(exact.error_squared), color=COLORS["exact"])
    ax.loglog(unit.step, np.sqrt(unit.error_squared), color=COLORS["curvature"])
    draw_points(ax, sampled.step, sampled.error, color=COLORS["exact"], every=5)
    label_line(ax, 30, 0.95, "c = 33, s = 190", color=COLORS["exact"], dx=2, dy=9)
    label_line(ax, 30, 0.2, "c = s = 1", color=COLORS["curvature"], ha="right", dx=-2, dy=-6)
    draw_slope(ax, [2e4, 1e6], 0.3, -1 / 3, "slope −1/3")
    ax.set(title="Estimator error", xlabel="step t", ylabel=r"root mean square of $|m_t - \nabla F(x_t)|$")


def gradient(ax, data):
    """Panel b: the gradient norm with the quasi-static closed form."""
    exact, unit, sampled = data["moments"], data["moments_unit"], data["monte_carlo"]
    ax.loglog(exact.step, np.sqrt(exact.grad_norm_squared), color=COLORS["exact"])
    ax.loglog(unit.step, np.sqrt(unit.grad_norm_squared), color=COLORS["curvature"])
    draw_points(ax, sampled.step, sampled.grad_norm, color=COLORS["exact"], every=5)
    t = np.geomspace(300, 1e6, 60)
    ax.loglog(t, np.sqrt(theory.quasi_static(t, c=33, s=190)), "--", color="black", lw=1)
    label_line(ax, 1.2, 0.012, "dashed: closed form\npoints: 64 seeds, 99 %", color="black", dx=0)
    label_line(ax, 100, 0.12, "c = s = 1", color=COLORS["curvature"], ha="right", dx=-2, dy=-8)
    draw_slope(ax, [2e4, 1e6], 0.24, -1 / 3, "slope −1/3")
    ax.set(title="Gradient norm", xlabel="step t", ylabel=r"root mean square of $|\nabla F(x_t)|$")
