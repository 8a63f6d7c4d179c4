"""Figures: every one draws its experiments' data, is labelled, byte-stable, and drawn again only where something changed."""

import ast
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from PIL import Image

from marslab import draw, experiment, paths, plots, results, theory, tuning
from marslab.errors import StoreError, UsageError

pytest_plugins = ("quick_data",)
pytestmark = pytest.mark.usefixtures("one_thread")

HOME = Path(__file__).resolve().parents[1]
NAMES = draw.names()


@pytest.fixture
def folder(monkeypatch, tmp_path, quick):
    """The figures' sources in a folder of their own, so that nothing is drawn into the checkout."""
    target = tmp_path / "figures"
    target.mkdir()
    for source in (HOME / "figures").glob("*.py"):
        (target / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr(paths, "FIGURES", target)
    (tmp_path / "coarse.mplstyle").write_text(plots.STYLE.read_text().replace("savefig.dpi: 200", "savefig.dpi: 50"))
    monkeypatch.setattr(plots, "STYLE", tmp_path / "coarse.mplstyle")
    return target


FIGURES = {}


@pytest.fixture
def made(folder):
    """Call a figure's make on the quick data (once, since nothing changes it); returns (figure, data)."""

    def make(name):
        if name not in FIGURES:
            module = experiment.load_file(folder / f"{name}.py")
            found = {each: experiment.load(each).find()[0] for each in getattr(module, "EXPERIMENTS", (name,))}
            data = found if hasattr(module, "EXPERIMENTS") else found[name]
            with plots.style():
                figure = module.make(data)
                figure.canvas.draw()
            FIGURES[name] = figure, data
            plt.close(figure)
        return FIGURES[name]

    return make


# contracts over every figure


def test_the_figures_are_those_of_the_folder():
    assert sorted(path.stem for path in (HOME / "figures").glob("*.py")) == NAMES
    assert set(experiment.names()) <= set(NAMES)  # every experiment has the figure of its name


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_a_function_of_its_data_alone(name):
    tree = ast.parse((HOME / "figures" / f"{name}.py").read_text("utf-8"))
    made = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "make")
    assert [a.arg for a in made.args.args] == ["data"] and ast.get_docstring(made).endswith(".")
    # nothing is drawn, read or set while the file is imported
    assert all(isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.FunctionDef) for node in tree.body)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.Import) for alias in node.names}
    assert imported.isdisjoint({"results", "open", "Path", "os", "run"})


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_is_labelled_and_legible(name, made):
    figure, _ = made(name)
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert panels
    for ax in panels:
        assert ax.get_title(loc="left") and ax.get_xlabel()
        assert ax.get_ylabel() or ax is not panels[0]
        assert ax.get_legend() is None  # direct labels
        assert ax.lines or ax.collections
    if len(panels) > 1:
        assert [ax.get_title(loc="left")[:2] for ax in panels] == [f"{letter} " for letter in "abcdef"[: len(panels)]]
    assert figure.get_size_inches()[0] <= 8.5
    shown = figure.findobj(lambda thing: hasattr(thing, "get_fontsize") and thing.get_visible() and thing.get_text())
    assert min(text.get_fontsize() for text in shown) >= 7.5


@pytest.mark.parametrize("name", NAMES)
def test_no_label_leaves_the_figure_and_none_lies_on_another(name, made):
    figure, _ = made(name)
    whole = figure.bbox
    for ax in figure.axes:
        boxes = [(text.get_text(), text.get_window_extent()) for text in ax.texts if text.get_text() and text.get_visible()]
        for words, box in boxes:
            assert whole.x0 - 1 <= box.x0 and box.x1 <= whole.x1 + 1 and whole.y0 - 1 <= box.y0 and box.y1 <= whole.y1 + 1, (
                words
            )
        for i, (words, one) in enumerate(boxes):
            for others, other in boxes[:i]:
                apart = one.x1 < other.x0 or other.x1 < one.x0 or one.y1 < other.y0 + 2 or other.y1 < one.y0 + 2
                assert apart, (words, others)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_once_byte_stable_and_tells_its_provenance(name, folder):
    first = draw.draw(name)
    files = [folder / f"{name}.png", folder / f"{name}.pdf"]
    assert first.fresh and first.path == files[0] and all(path.is_file() for path in files)
    told = plots.provenance_of(first.path)
    assert told["mode"] == "quick" and told["data"] == first.origins
    for each, origin in first.origins.items():
        assert origin == f"computed here, key {experiment.load(each).identity().key[:12]}"
    keywords = re.search(rb"/Keywords \((.*?[^\\])\)", files[1].read_bytes(), re.DOTALL)[1].decode()
    assert json.loads(keywords.replace("\\(", "(").replace("\\)", ")")) == told
    bytes_before = [path.read_bytes() for path in files]
    stamps = [(path.stat().st_ino, path.stat().st_mtime_ns) for path in files]
    assert not draw.draw(name).fresh
    assert [(path.stat().st_ino, path.stat().st_mtime_ns) for path in files] == stamps  # not even written
    for path in files:
        path.unlink()
    assert draw.draw(name).fresh and [path.read_bytes() for path in files] == bytes_before
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".py") == sorted(path.name for path in files)
    with Image.open(files[0]) as image:
        assert first.caption.endswith(".") and first.width == round(image.width * draw.PIXELS)


# the data drawn are the data stored


def line(ax, x, y):
    """Whether a line or a set of points in these axes has exactly these data."""
    drawn = [*ax.get_lines(), *(container.lines[0] for container in ax.containers)]
    wanted = np.array([np.atleast_1d(x), np.atleast_1d(y)])
    shown = [np.array(each.get_data(), dtype=float) for each in drawn]
    return any(each.shape == wanted.shape and np.allclose(each, wanted, rtol=1e-12) for each in shown)


def root(data, name):
    return np.sqrt((data[name] ** 2).mean("seed").values)


@pytest.mark.parametrize("name, panels", [("rate_exact", ("error", "grad_norm")), ("rate_sgd", ("grad_norm",))])
def test_rates_show_moments_as_lines_and_every_fifth_mean_as_points(name, panels, made):
    figure, data = made(name)
    for ax, variable in zip(figure.axes, panels, strict=True):
        for label in set(data) - {"monte_carlo"}:
            assert line(ax, data[label].step, np.sqrt(data[label][f"{variable}_squared"]))
        run = data["monte_carlo"]
        assert line(ax, run.step[::5], root(run, variable)[::5])
        assert not line(ax, run.step[::5], 1.001 * root(run, variable)[::5])


def test_the_closed_form_is_drawn_beside_the_measured_gradient_norm(made):
    figure, _ = made("rate_exact")
    (dashed,) = [each for each in figure.axes[1].get_lines() if each.get_linestyle() == "--"]
    np.testing.assert_allclose(dashed.get_ydata(), np.sqrt(theory.quasi_static(dashed.get_xdata(), c=33, s=190)))


def test_approximate_shows_both_curves_in_one_panel(made):
    figure, data = made("rate_approximate")
    for variable in ("error", "grad_norm"):
        assert line(figure.axes[0], data["moments"].step, np.sqrt(data["moments"][f"{variable}_squared"]))
        assert line(figure.axes[0], data["monte_carlo"].step[::5], root(data["monte_carlo"], variable)[::5])


def stationary(dataset):
    half, whole = (dataset.grad_norm_squared_mean.transpose(..., "seed", "step").values[..., i] for i in (0, 1))
    with np.errstate(invalid="ignore"):  # diverged lanes
        return (2 * whole - half).mean(axis=-1)


def test_gamma_shows_measured_points_with_intervals_and_the_law_through_them(made):
    figure, data = made("gamma")
    for ax, kind in zip(figure.axes, ("additive", "curvature", "adamw"), strict=True):
        assert len(ax.containers) == 2
        for form in ("exact", "approximate"):
            run = data[f"{form}_{kind}"]
            assert line(ax, run.gamma, np.sqrt(stationary(run)))
    for ax in figure.axes[:2]:
        curves = {each.get_color(): each for each in ax.get_lines() if len(each.get_xdata()) > 50}
        assert set(curves) == {plots.COLORS["exact"], plots.COLORS["approximate"]}
        for container in ax.containers:
            points, law = container.lines[0], curves[container.lines[0].get_color()]
            x, y = np.array(points.get_data(), dtype=float)
            there = np.interp(x, *np.array(law.get_data(), dtype=float))
            np.testing.assert_allclose(y, there, rtol=0.05)  # the prediction is met


def test_the_map_shows_the_ratio_of_stationary_norms_and_hides_diverged_cells(made):
    figure, data = made("exact_vs_approx")
    (mesh,) = [each for each in figure.axes[0].collections if isinstance(each, QuadMesh)]
    shown = np.ma.filled(mesh.get_array().reshape(len(data["exact"].lr), -1), np.nan)
    ratio = stationary(data["approximate"].transpose("lr", "gamma", ...)) / stationary(
        data["exact"].transpose("lr", "gamma", ...)
    )
    a, gamma = np.meshgrid(data["exact"].lr, data["exact"].gamma, indexing="ij")
    stable = a < theory.stability_limit(gamma=gamma, beta=0.95)
    np.testing.assert_allclose(shown[stable], ratio[stable], rtol=1e-12)
    far = a > 1.3 * theory.stability_limit(gamma=gamma, beta=0.95)
    assert far.any() and np.isnan(shown[far]).all()
    a, gamma, shown = (each[a < 0.8 * theory.stability_limit(gamma=gamma, beta=0.95)] for each in (a, gamma, shown))
    closed = theory.stationary_approximate(a, gamma=gamma, beta=0.95) / theory.stationary_exact(a, gamma=gamma, beta=0.95)
    np.testing.assert_allclose(shown, closed, rtol=0.25)


def test_digits_shows_reporting_seeds_at_tuned_rates_within_the_budget(made):
    figure, data = made("digits")
    left, right = figure.axes
    budget = int(data["adamw"].evaluations[-1])
    for run in data.values():
        cut = tuning.within(run, budget)
        loss = tuning.reporting(cut).loss.sel(lr=tuning.best(cut)).transpose("seed", "step").values
        assert line(left, cut.evaluations, np.median(loss, axis=0))
        assert line(right, [tuning.best(cut)], [np.median(tuning.final_loss(cut))])
    assert len(data["exact"].step) > len(tuning.within(data["exact"], budget).step)  # the second gradient is charged


def test_the_idea_charges_exact_mars_for_both_gradients(made):
    figure, data = made("idea")
    for name, cost in (("rate_exact", 2), ("rate_sgd", 1), ("rate_approximate", 1)):
        moments, run = data[name]["moments"], data[name]["monte_carlo"]
        assert line(figure.axes[0], moments.step * cost, np.sqrt(moments.grad_norm_squared))
        assert line(figure.axes[0], run.step[::6] * cost, root(run, "grad_norm")[::6])
    for form in ("exact", "approximate"):
        run = data["gamma"][f"{form}_additive"]
        assert line(figure.axes[1], run.gamma, np.sqrt(stationary(run)))


# drawing again


def test_a_figure_is_drawn_again_when_data_code_style_or_file_changed(folder, monkeypatch, tmp_path):
    name, source = "rate_sgd", folder / "rate_sgd.py"
    draw.draw(name)
    assert not draw.draw(name).fresh
    (folder / f"{name}.pdf").unlink()
    before = (folder / f"{name}.png").stat().st_ino
    assert draw.draw(name).fresh and (folder / f"{name}.png").stat().st_ino == before  # the tracked PNG stays as it is
    source.write_text(source.read_text() + "\n# a remark\n")
    assert not draw.draw(name).fresh
    source.write_text(source.read_text().replace('xlabel="step t"', 'xlabel="time"'))
    assert draw.draw(name).fresh
    (tmp_path / "other.mplstyle").write_text(plots.STYLE.read_text() + "\nlines.linewidth: 3\n")
    with monkeypatch.context() as patch:
        patch.setattr(plots, "STYLE", tmp_path / "other.mplstyle")
        assert draw.draw(name).fresh and not draw.draw(name).fresh
    assert draw.draw(name).fresh
    (folder / f"{name}.png").write_bytes(b"broken")
    assert draw.draw(name).fresh and plots.provenance_of(folder / f"{name}.png")["mode"] == "quick"
    load = experiment.load
    assert not draw.draw(name).fresh

    def other(wanted):
        declared = load(wanted)
        monkeypatch.setattr(
            type(declared), "find", lambda self, mode="quick": (declared_data, "published with the repository, key 0")
        )
        return declared

    declared_data = load(name).find()[0]
    monkeypatch.setattr(experiment, "load", other)
    assert draw.draw(name).fresh  # and says so
    assert plots.provenance_of(folder / f"{name}.png")["data"] == {name: "published with the repository, key 0"}


def test_full_figures_lie_beside_the_quick_ones(folder, monkeypatch):
    data = experiment.load("rate_sgd").find()[0]
    with pytest.raises(StoreError, match="rate_sgd has no full result yet: run 'python -m marslab run rate_sgd --full'"):
        draw.draw("rate_sgd", "full")
    results.save(experiment.load("rate_sgd").identity("full").key, data, name="rate_sgd-full")
    assert draw.draw("rate_sgd", "full").path == folder / "rate_sgd-full.png"
    assert not (folder / "rate_sgd.png").exists()


def test_what_cannot_be_drawn_is_refused_in_one_sentence(folder):
    with pytest.raises(UsageError, match=r"unknown figure 'rate_exakt': did you mean 'rate_exact'\?"):
        draw.chosen(["rate_exakt"])
    assert draw.chosen() == NAMES and draw.chosen(("gamma",)) == ["gamma"]
    (folder / "gamma.py").write_text("make = 3\n")
    with pytest.raises(UsageError, match=r"gamma\.py defines no make\(data\)"):
        draw.draw("gamma")
    assert not (folder / "gamma.png").exists()


def test_a_figure_leaves_no_open_window_and_no_style(folder):
    before, windows = dict(plt.rcParams), plt.get_fignums()
    draw.draw("rate_sgd")
    assert plt.get_fignums() == windows and dict(plt.rcParams) == before
