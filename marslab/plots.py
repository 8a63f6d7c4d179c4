"""Drawing: ``draw_x(ax, data) -> ax`` for what recurs, one style sheet, and figures saved with their provenance.

Colours are Okabe and Ito's, which colour-blind readers tell apart; a method keeps its colour in every figure. Predictions
are drawn as lines, measurements as points with intervals or as bands.
"""

import hashlib
import io
import json
from contextlib import contextmanager
from pathlib import Path

import matplotlib
import matplotlib.style
import numpy as np
import xarray as xr

from marslab.results.files import sweep, write

__all__ = ["COLORS", "draw_band", "draw_points", "draw_slope", "label_ends", "label_line", "number_axes"]
__all__ += ["close", "looks", "provenance_of", "save", "style"]

REMEDY = "figures are written beside their sources, so make the checkout's figures folder writable"
FAR = 1e300  # stands for +inf where inf - inf would be NaN
STYLE = Path(__file__).with_name("marslab.mplstyle")
COLORS = {
    "exact": "#0072B2",
    "approximate": "#D55E00",
    "sgd": "#009E73",
    "adamw": "#009E73",
    "curvature": "#CC79A7",
    "guide": "#777777",
}


def looks() -> dict[str, str]:
    """What decides how a figure looks besides data and code: digest of the style sheet, version of matplotlib."""
    return {"style": hashlib.sha256(STYLE.read_bytes()).hexdigest()[:16], "matplotlib": matplotlib.__version__}


@contextmanager
def style():
    """Draw inside this context to get the house style, and nothing else changed."""
    with matplotlib.rc_context():
        matplotlib.style.use(STYLE)
        yield


def quantiles(values: np.ndarray, levels) -> np.ndarray:
    """Quantiles over the first axis; a diverged lane's +inf is larger than all else, and never turns into NaN."""
    found = np.quantile(np.minimum(values, FAR), levels, axis=0)
    return np.where(found > FAR / 1e100, np.inf, found)


def interval(squares: np.ndarray, level: float = 0.99, resamples: int = 400) -> np.ndarray:
    """Bootstrap interval, over seeds (the first axis), of the root mean square at every recorded step."""
    rows = np.random.default_rng(0).integers(0, len(squares), (resamples, len(squares)))
    return quantiles(np.sqrt(squares[rows].mean(axis=1)), [(1 - level) / 2, (1 + level) / 2])


def draw_points(ax, x, data: xr.DataArray, *, color, every: int = 1, label: str = ""):
    """Root mean square over seeds as points with their 99 % intervals; ``x`` are the steps or evaluations."""
    with np.errstate(over="ignore"):  # a lane shortly before it diverges
        squares = data.transpose("seed", "step").values ** 2
    middle = np.sqrt(squares.mean(axis=0))
    there = np.flatnonzero(np.isfinite(middle))[::every]
    low, high = interval(squares)[:, there]
    bars = np.stack([middle[there] - low, high - middle[there]]).clip(min=0)
    x = np.asarray(x)
    ax.errorbar(x[there], middle[there], yerr=bars, fmt="o", ms=3, mew=0, lw=0.9, color=color, zorder=3, label=label)
    return count_diverged(ax, x, squares, middle, color)


def draw_band(ax, x, values: np.ndarray, *, color, label: str = "", alpha: float = 0.2):
    """Median over the first axis (seeds) with the band between the quartiles."""
    low, middle, high = quantiles(values, [0.25, 0.5, 0.75])
    ax.fill_between(x, low, high, color=color, alpha=alpha, lw=0)
    ax.plot(x, middle, color=color, label=label)
    return count_diverged(ax, np.asarray(x), values, middle, color)


def count_diverged(ax, x, values: np.ndarray, curve: np.ndarray, color):
    """How many lanes (the first axis of ``values``) diverged, beside the last point of the curve that is drawn."""
    lost, last = int(np.isinf(values).any(axis=1).sum()), np.flatnonzero(np.isfinite(curve))
    if lost and last.size:
        label_line(ax, x[last[-1]], curve[last[-1]], f"{lost} of {len(values)} diverged", color=color)
    return ax


def draw_slope(ax, x, y, exponent: float, text: str, *, color=COLORS["guide"]):
    """A dotted guide of the given slope over (x[0], x[1]) from (x[0], y), named above its left end."""
    x = np.asarray(x, float)
    ax.plot(x, y * (x / x[0]) ** exponent, ":", color=color, lw=1.1, zorder=1)
    return label_line(ax, x[0], y, text, color=color, dx=5, dy=1, va="bottom")


def label_line(ax, x, y, text: str, *, color, dx: float = 4, dy: float = 0, ha: str = "left", va: str = "center"):
    """A direct label at a curve's point, in place of a legend."""
    ax.annotate(text, (x, y), xytext=(dx, dy), textcoords="offset points", color=color, fontsize=8, ha=ha, va=va)
    return ax


def label_ends(ax, x, ends: dict, colors: dict, *, gap: float = 10.0) -> None:
    """Direct labels ``{text: y}`` at the right end of curves, moved apart to at least ``gap`` points."""
    ax.figure.canvas.draw()
    scale = 72 / ax.figure.dpi
    at = {text: ax.transData.transform((x, y))[1] * scale for text, y in ends.items()}
    last = -np.inf
    for text in sorted(at, key=at.get):
        last = max(at[text], last + gap * (1 + text.count("\n")))
        label_line(ax, x, ends[text], text, color=colors[text], dy=last - at[text])


def number_axes(axes) -> None:
    """Letters a, b, c, ... before the panels' titles."""
    for letter, ax in zip("abcdefgh", np.ravel(axes), strict=False):
        ax.set_title(f"{letter}  {ax.get_title(loc='left')}", loc="left")


def save(figure, path: Path, provenance: dict, suffixes=(".pdf", ".png")) -> list[Path]:
    """Write PDF and PNG beside each other, atomically, byte-stable on one machine, provenance embedded.

    ``provenance`` is a dict of plain values (key, origin, code digest, versions, seeds). The PNG comes last: where it tells
    of its provenance, the PDF is of the same.
    """
    text = json.dumps(provenance, sort_keys=True)
    sweep(path.parent)
    fields = {
        ".png": {"Software": None, "Description": text},
        ".pdf": {"Creator": None, "Producer": None, "CreationDate": None, "Keywords": text},
    }
    for suffix in suffixes:
        drawn = io.BytesIO()
        figure.savefig(drawn, format=suffix[1:], metadata=fields[suffix])
        write(path.with_suffix(suffix), drawn.getvalue(), REMEDY)
    return [path.with_suffix(suffix) for suffix in suffixes]


def provenance_of(path: Path) -> dict:
    """The provenance that a PNG written by ``save`` carries; {} if it has none or cannot be read."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            return json.loads(image.info.get("Description", "{}"))
    except (OSError, ValueError):
        return {}


def close(figure) -> None:
    """Forget a figure, so that a long session keeps none open."""
    import matplotlib.pyplot as plt

    plt.close(figure)
