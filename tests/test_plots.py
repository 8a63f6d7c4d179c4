"""Drawing: what is drawn is the data, files are byte-stable and tell where they come from, diverged lanes are counted."""

import json
import re
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from PIL import Image

from marslab import plots
from marslab.errors import StoreError
from marslab.results import files

STEPS = np.array([1, 10, 100, 1000])


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def curves(seeds=16, lost=()):
    """Norms (seed, step) around 1 / sqrt(step); the seeds in ``lost`` diverge at the third record."""
    values = np.exp(0.3 * np.random.default_rng(0).normal(size=(seeds, 4))) / np.sqrt(STEPS)
    values[list(lost), 2:] = np.inf
    return xr.DataArray(values, dims=("seed", "step"), coords={"step": STEPS})


def points(ax):
    """x, y and the ends of the bars of the one errorbar in the axes."""
    (container,) = ax.containers
    line, _, (bars,) = container.lines
    return *line.get_data(), *np.array([segment[:, 1] for segment in bars.get_segments()]).T


def test_points_are_the_root_mean_square_over_seeds_with_intervals_around_it(ax):
    data = curves()
    assert plots.draw_points(ax, STEPS, data, color="#0072B2") is ax
    x, y, low, high = points(ax)
    np.testing.assert_array_equal(x, STEPS)
    np.testing.assert_allclose(y, np.sqrt((data.values**2).mean(axis=0)), rtol=1e-14)
    assert (low < y).all() and (y < high).all()
    few = plots.interval(curves(6).values ** 2)
    assert (few[1] - few[0] > high - low).all()


def test_points_take_their_data_by_name_and_every_so_many(ax):
    plots.draw_points(ax, STEPS * 2, curves().transpose("step", "seed"), color="k", every=3)
    x, y, *_ = points(ax)
    np.testing.assert_array_equal(x, [2, 2000])
    np.testing.assert_allclose(y, np.sqrt((curves().values ** 2).mean(axis=0))[[0, 3]], rtol=1e-14)


def test_intervals_cover_at_their_level():
    """The root mean square of 40 normal draws, 400 times: the 90 % bootstrap interval covers 1 in 83 to 93 %."""
    random = np.random.default_rng(5)
    ends = plots.interval(random.normal(size=(40, 400)) ** 2, level=0.9)
    assert 0.83 < ((ends[0] <= 1) & (ends[1] >= 1)).mean() < 0.93


def test_a_band_runs_between_the_quartiles_around_the_median(ax):
    values = curves().values
    assert plots.draw_band(ax, STEPS, values, color="k") is ax
    (line,), (band,) = ax.lines, ax.collections
    np.testing.assert_allclose(line.get_ydata(), np.median(values, axis=0), rtol=1e-14)
    ends = band.get_paths()[0].vertices
    for step, low, high in zip(STEPS, *np.quantile(values, [0.25, 0.75], axis=0), strict=True):
        at = ends[ends[:, 0] == step, 1]
        assert at.min() == pytest.approx(low, rel=1e-12) and at.max() == pytest.approx(high, rel=1e-12)


def test_diverged_lanes_are_counted_never_averaged_away_and_raise_no_warning(ax):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plots.draw_points(ax, STEPS, curves(lost=(2, 5, 9)), color="k")
        plots.draw_band(ax, STEPS, curves(lost=(2, 5, 9)).values, color="k")
        plots.draw_band(ax, STEPS, curves(lost=range(10)).values, color="k")
        plots.draw_band(ax, STEPS, np.full((4, 4), np.inf), color="k")
        ax.figure.savefig("/dev/null", format="png")
    np.testing.assert_array_equal(points(ax)[0], STEPS[:2])  # no mean from the third record on
    assert [text.get_text() for text in ax.texts] == ["3 of 16 diverged", "3 of 16 diverged", "10 of 16 diverged"]
    some, most, _ = (line.get_ydata() for line in ax.lines[1:])
    assert np.isfinite(some).all()  # the median of 16 lanes, 3 of them at infinity
    np.testing.assert_allclose(
        some[3], np.sort(curves().values[[i for i in range(16) if i not in (2, 5, 9)], 3])[[7, 8]].mean()
    )
    assert np.isinf(most[2:]).all()


def test_a_lane_about_to_overflow_raises_no_warning(ax):
    data = curves()
    data[0, 3] = 1e200
    plots.draw_points(ax, STEPS, data, color="k")
    assert points(ax)[0].tolist() == [1, 10, 100]


def test_quantiles_with_infinities():
    for infinite in range(6):
        values = np.r_[np.arange(5.0 - min(infinite, 5)), np.full(min(infinite, 5), np.inf)][:, None]
        low, middle, high = plots.quantiles(values, [0.0, 0.5, 1.0])
        assert low == (0 if infinite < 5 else np.inf) and middle == (2 if infinite < 3 else np.inf)
        assert high == (4 if infinite == 0 else np.inf)


def test_a_guide_has_its_slope_and_name(ax):
    ax.set(xscale="log", yscale="log")
    plots.draw_slope(ax, [1e2, 1e6], 0.5, -1 / 3, "slope −1/3")
    x, y = ax.lines[0].get_data()
    assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(-1 / 3) and y[0] == 0.5
    assert ax.texts[0].get_text() == "slope −1/3"


def test_labels_at_the_ends_stand_apart_in_the_order_of_their_curves(ax):
    ends = {"low": 1.0, "middle": 1.001, "high": 1.002}
    ax.set(ylim=(0, 2))
    plots.label_ends(ax, 1.0, ends, dict.fromkeys(ends, "k"), gap=10)
    ax.figure.canvas.draw()
    scale = 72 / ax.figure.dpi
    heights = [text.get_window_extent().y0 * scale for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == list(ends)
    assert (np.diff(heights) > 9.9).all()


def test_panels_are_lettered():
    figure, axes = plt.subplots(1, 2)
    axes[0].set_title("one", loc="left")
    axes[1].set_title("two", loc="left")
    plots.number_axes(axes)
    assert [ax.get_title(loc="left") for ax in axes] == ["a  one", "b  two"]
    plots.close(figure)
    assert not plt.fignum_exists(figure.number)


def test_the_style_holds_inside_and_nothing_is_left_outside():
    before = dict(matplotlib.rcParams)
    with plots.style():
        assert matplotlib.rcParams["axes.spines.top"] is False and matplotlib.rcParams["savefig.dpi"] == 200
    assert dict(matplotlib.rcParams) == before


def test_every_colour_is_okabe_and_ito_s_or_grey():
    table = {"#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000"}
    assert set(plots.COLORS.values()) <= table | {"#777777"}
    cycle = {f"#{one}" for one in re.findall(r"'([0-9A-F]{6})'", plots.STYLE.read_text())}
    assert cycle <= table and len(cycle) == 7


# files


def draw(value=1.0):
    with plots.style():
        figure, ax = plt.subplots(figsize=(2, 2))
        ax.plot([0, value], [0, 1])
        ax.set(xlabel=r"$\gamma$ (größer ≤ 1)", ylabel="y")
    return figure


PROVENANCE = {"data": {"one": "computed here, key abc"}, "code": "0123", "mode": "quick", "odd": 'ü"<&>'}


def test_files_are_byte_stable_and_carry_their_provenance(tmp_path):
    paths = plots.save(draw(), tmp_path / "one.png", PROVENANCE)
    assert [path.name for path in paths] == ["one.pdf", "one.png"]
    first = [path.read_bytes() for path in paths]
    plots.save(draw(), tmp_path / "one.png", PROVENANCE)
    assert [path.read_bytes() for path in paths] == first
    assert plots.provenance_of(tmp_path / "one.png") == PROVENANCE
    with Image.open(tmp_path / "one.png") as image:
        assert set(image.info) == {"Description", "dpi"}  # no software, no date
    assert b"CreationDate" not in first[0] and b"/Producer" not in first[0]
    keywords = re.search(rb"/Keywords \((.*?[^\\])\)", first[0], re.DOTALL)[1]
    assert b"computed here, key abc" in keywords
    plots.save(draw(2.0), tmp_path / "one.png", PROVENANCE)
    assert [path.read_bytes() != old for path, old in zip(paths, first, strict=True)] == [True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.pdf", "one.png"]


def test_the_pdf_embeds_its_letters(tmp_path):
    with plots.style():
        pdf, _ = plots.save(draw(), tmp_path / "one.png", {})
    assert b"/Subtype /CIDFontType2" in pdf.read_bytes() and b"/Type3" not in pdf.read_bytes()


def test_provenance_of_what_is_no_figure_of_ours(tmp_path):
    Image.new("RGB", (2, 2)).save(tmp_path / "plain.png")
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "folder.png").mkdir()
    for name in ("plain", "text", "folder", "missing"):
        assert plots.provenance_of(tmp_path / f"{name}.png") == {}
    plots.save(draw(), tmp_path / "one.png", PROVENANCE)
    whole = (tmp_path / "one.png").read_bytes()
    (tmp_path / "one.png").write_bytes(whole[:30])
    assert plots.provenance_of(tmp_path / "one.png") == {}


def test_an_interrupted_save_leaves_a_png_that_does_not_vouch_for_the_new_pdf(tmp_path, monkeypatch):
    plots.save(draw(), tmp_path / "one.png", PROVENANCE)
    old = (tmp_path / "one.png").read_bytes()
    real = plots.write

    def stop(path, blob, remedy):
        if path.suffix == ".png":
            raise KeyboardInterrupt
        real(path, blob, remedy)

    monkeypatch.setattr(plots, "write", stop)
    with pytest.raises(KeyboardInterrupt):
        plots.save(draw(2.0), tmp_path / "one.png", PROVENANCE | {"mode": "full"})
    assert (tmp_path / "one.png").read_bytes() == old and plots.provenance_of(tmp_path / "one.png")["mode"] == "quick"


def test_an_unwritable_folder_is_told_with_the_remedy(tmp_path, monkeypatch):
    with pytest.raises(StoreError, match=r"cannot write .*one\.pdf .*make the checkout's figures folder writable$"):
        plots.save(draw(), tmp_path / "missing" / "one.png", {})
    assert list(tmp_path.iterdir()) == []


def test_strays_beside_a_figure_are_swept(tmp_path):
    stray = tmp_path / ".one.png.999999999-1.0badcafe.tmp"
    stray.write_bytes(b"half")
    assert files.TEMPORARY.fullmatch(stray.name)
    plots.save(draw(), tmp_path / "one.png", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.pdf", "one.png"]


def test_the_looks_follow_style_sheet_and_matplotlib(tmp_path, monkeypatch):
    before = plots.looks()
    assert json.loads(json.dumps(before)) == before and before["matplotlib"] == matplotlib.__version__
    (tmp_path / "other.mplstyle").write_text(plots.STYLE.read_text() + "\nlines.linewidth: 3\n")
    monkeypatch.setattr(plots, "STYLE", tmp_path / "other.mplstyle")
    assert plots.looks()["style"] != before["style"]
