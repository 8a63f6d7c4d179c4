"""The real data that problems are built on: scikit-learn's bundled sets, read from its package without a network."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import Tensor

from marslab.errors import unknown

__all__ = ["check", "load"]

NAMES = ("breast_cancer", "digits")


def check(name: object) -> str:
    """Return `name` if it is a known data set.

    Raises:
        UsageError: any other name; the message gives the closest.
    """
    if name not in NAMES:
        raise unknown("data set", name, NAMES)
    return name


def load(name: str) -> tuple[Tensor, Tensor]:
    """Return (features, classes) of a data set: float64 (n, p) and int64 (n,).

    Each column has mean 0 and standard deviation 1 over the n rows; constant columns carry nothing and are dropped
    (3 of the 64 pixels of digits). breast_cancer: n = 569, p = 30, 2 classes; digits: n = 1797, p = 61, 10 classes.
    """
    features, classes = _arrays(check(name))
    return torch.from_numpy(features), torch.from_numpy(classes)


@cache
def _arrays(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets  # half a second, which problems without data need not pay

    features, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    features = features[:, np.ptp(features, axis=0) > 0].astype(np.float64)
    return (features - features.mean(0)) / features.std(0), classes.astype(np.int64)
