"""Where the checkout's folders and the store lie; every path is free of symbolic links."""

from __future__ import annotations

import os
from pathlib import Path

from marslab.errors import UsageError

__all__ = ["CLAIMS", "EXPERIMENTS", "FIGURES", "PACKAGE", "ROOT", "in_checkout", "need", "store"]

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent
EXPERIMENTS = ROOT / "experiments"
FIGURES = ROOT / "figures"
CLAIMS = PACKAGE / "claims"


def in_checkout() -> bool:
    """Whether the package runs from a checkout, where experiments and figures lie beside it."""
    return (ROOT / "pyproject.toml").is_file() and EXPERIMENTS.is_dir()


def need(folder: Path) -> Path:
    """Return `folder` if it exists.

    Raises:
        UsageError: it is missing, as when the package was installed without its checkout.
    """
    if folder.is_dir():
        return folder
    raise UsageError(
        f"there is no folder {folder}: marslab was imported from outside a checkout, so clone the repository "
        "and install it with pip install -e ."
    )


def store() -> Path:
    """Return the store's folder (which need not exist yet): MARSLAB_STORE where it is set, else `.marslab/` in the checkout.

    Raises:
        UsageError: the variable is not set and the package does not run from a checkout.
    """
    moved = os.environ.get("MARSLAB_STORE", "").strip()
    if moved:
        return Path(moved).expanduser().resolve()
    if in_checkout():
        return ROOT / ".marslab"
    raise UsageError(
        f"marslab runs outside a checkout (from {PACKAGE}) and has no store: set MARSLAB_STORE to a folder for results"
    )
