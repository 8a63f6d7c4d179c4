"""What netCDF cannot say by itself: the exact types and attributes of a dataset, as JSON, and the values to store."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

from marslab.errors import UsageError

__all__ = ["describe", "native", "plain", "restore", "stored_values"]


def describe(dataset: xr.Dataset) -> dict:
    """Return sizes, attributes and variables (dims, dtype, coordinate or not, attributes) of a dataset, JSON-able.

    Raises:
        UsageError: a name that is no string or holds '/', a type or an attribute that could not be read back exactly.
    """
    for name in [*dataset.variables, *dataset.sizes]:
        if not isinstance(name, str) or not name or "/" in name:
            raise UsageError(f"the name {name!r} cannot stand in a netCDF file: use a word without '/'")
    variables = {
        name: {
            "dims": list(variable.dims),
            "dtype": _dtype(variable, name),
            "coordinate": name in dataset.coords,
            "attrs": plain(variable.attrs, name),
        }
        for name, variable in dataset.variables.items()
    }
    return {"sizes": dict(dataset.sizes), "attrs": plain(dataset.attrs, "the dataset"), "variables": variables}


def _dtype(variable: xr.Variable, name: str) -> str:
    dtype = np.asarray(variable.values).dtype
    if dtype.kind == "O" and all(isinstance(value, str) for value in variable.values.flat):
        return "object"
    if dtype.kind in "biuUmM" or dtype in (np.float32, np.float64):
        return dtype.newbyteorder("=").str
    raise UsageError(f"the variable {name} has the type {dtype}, which netCDF does not hold exactly: cast it to float64")


def stored_values(variable: xr.DataArray) -> np.ndarray:
    """Return the values as netCDF holds them: bool as int8, dates and durations as int64, text as objects."""
    values = np.asarray(variable.values)
    if values.dtype.kind in "UO":
        return _check_text(values.astype(object), variable.name)
    if values.dtype.kind == "b":
        return values.astype(np.int8)
    return values.view(np.int64) if values.dtype.kind in "mM" else values.astype(values.dtype.newbyteorder("="))


def _check_text(values: np.ndarray, name: str) -> np.ndarray:
    for value in values.flat:
        if not _is_text(value):
            raise UsageError(f"the variable {name} holds the text {value!r}, which netCDF does not hold exactly")
    return values


def restore(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return stored values in the type recorded by `describe`."""
    wanted = np.dtype(dtype)
    return values.view(wanted) if wanted.kind in "mM" else values.astype(wanted)


def plain(value: object, where: str) -> object:
    """Return an attribute (or a dictionary of them) made of JSON's types; arrays and tuples become lists.

    Raises:
        UsageError: it holds an object of another type.
    """
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(item, f"the attribute {key} of {where}") for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item, where) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UsageError(f"{where} is of type {type(value).__name__}, which a result cannot hold: use text or numbers")


def native(value: object) -> object:
    """Return an attribute as a netCDF tool should see it: text and numbers as they are, the rest as JSON text."""
    if isinstance(value, str) and _is_text(value):
        return value
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63):
        return value
    return json.dumps(value)


def _is_text(value: str) -> bool:
    return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
