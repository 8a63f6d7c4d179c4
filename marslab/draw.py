"""Figures from stored data: one file in ``figures/`` each, drawn again only where its data or its code changed."""

from collections.abc import Iterable
from pathlib import Path

from marslab import experiment, fingerprint, paths
from marslab.errors import UsageError, unknown

__all__ = ["Drawn", "check_writable", "draw", "names"]


PIXELS = 0.62  # CSS pixels for one pixel of the PNG (200 dots an inch)


class Drawn:
    """A drawn figure: its name, its PNG, the experiments it shows and where their data come from."""

    def __init__(self, name: str, path: Path, caption: str, origins: dict[str, str], fresh: bool):
        self.name, self.path, self.caption, self.origins, self.fresh = name, path, caption, origins, fresh

    @property
    def width(self) -> int:
        """Width on a page in CSS pixels, so that all figures have letters of one size."""
        from PIL import Image

        with Image.open(self.path) as image:
            return round(image.width * PIXELS)


def names() -> list[str]:
    """The figures: the file names in ``figures/``."""
    return sorted(p.stem for p in paths.need(paths.FIGURES).glob("*.py") if not p.stem.startswith("_"))


def chosen(wanted: Iterable[str] = ()) -> list[str]:
    """These figures, or all; an unknown name is refused with the closest one."""
    known = names()
    for name in wanted:
        if name not in known:
            raise unknown("figure", name, known)
    return list(wanted) or known


def check_writable() -> None:
    """Raise a StoreError unless figures can be written."""
    from marslab import plots
    from marslab.results import files

    files.check_writable(paths.need(paths.FIGURES), plots.REMEDY)


def draw(name: str, mode: str = "quick") -> Drawn:
    """Draw one figure as PNG and PDF from the newest of stored and committed data, unless it is drawn already."""
    from marslab import plots

    source = paths.FIGURES / f"{name}.py"
    module = experiment.load_file(source)
    if not callable(getattr(module, "make", None)):
        raise UsageError(f"{source} defines no make(data); give it one that returns a figure.")
    shown = getattr(module, "EXPERIMENTS", (name,))
    found = {each: experiment.load(each).find(mode) for each in shown}
    origins = {each: origin for each, (_, origin) in found.items()}
    target = paths.FIGURES / f"{name}{'' if mode == 'quick' else '-full'}.png"
    provenance = {"data": origins, "code": fingerprint.fingerprint([source, "marslab.plots"])[0], "mode": mode} | plots.looks()
    caption = (module.make.__doc__ or "").strip()
    current = plots.provenance_of(target) == provenance
    if current and target.with_suffix(".pdf").is_file():
        return Drawn(name, target, caption, origins, False)
    data = {each: runs for each, (runs, _) in found.items()}
    with plots.style():
        figure = module.make(data if hasattr(module, "EXPERIMENTS") else data[name])
        plots.save(figure, target, provenance, [".pdf"] if current else [".pdf", ".png"])  # the README's PNG is tracked
        plots.close(figure)
    return Drawn(name, target, caption, origins, True)
