"""The bytes of one result: a netCDF file made in memory, followed by a seal over every byte before it.

HDF5 reads most single-bit flips back as other numbers without complaint, so nothing is parsed whose seal is broken. The
seal stands behind the end that HDF5 records, so any netCDF tool opens the file. What conventions would decode differently
(bool, strings, dates, attributes) is restored from the `layout` attribute instead.
"""

from __future__ import annotations

import hashlib
import io
import json

import h5netcdf
import h5py
import numpy as np
import xarray as xr

from marslab.errors import UsageError
from marslab.results.layout import describe, native, plain, restore, stored_values

__all__ = ["SCHEMA", "SEAL_BYTES", "Damaged", "decode", "encode", "seal", "unseal"]

SCHEMA = 1
MAGIC = b"marslab\x01"
SEAL_BYTES = len(MAGIC) + 8 + 32

Data = xr.Dataset | dict[str, xr.Dataset]


class Damaged(Exception):
    """What stands under a result's name is no intact result; the message is the reason, a few words."""


def seal(payload: bytes) -> bytes:
    """Return `payload` followed by its magic word, its length (8 bytes, little-endian) and the sha256 of all of that."""
    body = payload + MAGIC + len(payload).to_bytes(8, "little")
    return body + hashlib.sha256(body).digest()


def unseal(blob: bytes) -> bytes:
    """Return the payload of `seal`.

    Raises:
        Damaged: any byte is missing, added or changed, or the file was never sealed.
    """
    check_tail(blob[-SEAL_BYTES:], len(blob))
    if hashlib.sha256(blob[:-32]).digest() != blob[-32:]:
        raise Damaged("its checksum does not fit its content")
    return blob[:-SEAL_BYTES]


def check_tail(tail: bytes, size: int) -> None:
    """Refuse, from its last SEAL_BYTES alone, a file of `size` bytes that is truncated or was not written by marslab."""
    if size == 0:
        raise Damaged("it is empty")
    if tail[: len(MAGIC)] != MAGIC:
        raise Damaged("it is truncated, or was not written by marslab")
    if int.from_bytes(tail[len(MAGIC) : len(MAGIC) + 8], "little") + SEAL_BYTES != size:
        raise Damaged("its length is not the one recorded")


def encode(data: Data, attributes: dict[str, object]) -> bytes:
    """Return the netCDF bytes of `data` (several datasets: one group each, named by label) with the root's `attributes`.

    Raises:
        UsageError: something that netCDF cannot hold exactly; the message names it.
    """
    groups = {"": data} if isinstance(data, xr.Dataset) else check_labels(data)
    layout = {"attributes": plain(attributes, "the result"), "groups": {k: describe(v) for k, v in groups.items()}}
    memory = io.BytesIO()
    with h5netcdf.File(memory, "w") as file:
        for name, value in {**layout["attributes"], "layout": json.dumps(layout)}.items():
            file.attrs[name] = native(value)
        for label, dataset in groups.items():
            _write_group(file.create_group(label) if label else file, dataset, layout["groups"][label])
    return memory.getvalue()


def decode(payload: bytes) -> tuple[dict[str, object], Data]:
    """Return (root attributes, data) of `encode`, each dataset's attributes being its own and the root's.

    Raises:
        Damaged: another schema, or variables, dimensions or types other than recorded.
    """
    try:
        with h5netcdf.File(io.BytesIO(payload), "r", decode_vlen_strings=True) as file:
            layout = json.loads(file.attrs["layout"])
            attributes = _check_attributes(layout["attributes"])
            groups = {k: _read_group(file.groups[k] if k else file, v) for k, v in layout["groups"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, OSError, RuntimeError) as problem:
        raise Damaged(f"its content cannot be read ({problem})") from problem
    groups = {label: dataset.assign_attrs(attributes) for label, dataset in groups.items()}
    return attributes, groups.get("", groups)


def _check_attributes(attributes: dict[str, object]) -> dict[str, object]:
    if attributes["schema"] != SCHEMA:
        raise Damaged(f"it has schema {attributes['schema']}, this marslab reads {SCHEMA}")
    if not {"key", "name"} <= attributes.keys():
        raise Damaged("it does not say what it is")
    return attributes


def check_labels(data: object) -> dict[str, xr.Dataset]:
    """Return `data` if it is a dictionary of labelled datasets, else refuse it with the reason."""
    if not isinstance(data, dict) or not all(isinstance(dataset, xr.Dataset) for dataset in data.values()):
        raise UsageError(f"a result is an xarray.Dataset or a dictionary of them, not {type(data).__name__}")
    for label in data:
        if not isinstance(label, str) or not label or "/" in label or label in (".", ".."):
            raise UsageError(f"the label {label!r} cannot name a group of a netCDF file: use a word without '/'")
    if not data:
        raise UsageError("the result is an empty dictionary: return at least one dataset")
    return data


def _write_group(group: h5netcdf.Group, dataset: xr.Dataset, layout: dict) -> None:
    group.dimensions = layout["sizes"]
    for name, value in layout["attrs"].items():
        if name not in group.attrs:
            group.attrs[name] = native(value)
    for name, spec in layout["variables"].items():
        values = stored_values(dataset[name])
        # a compressed variable costs 2 to 4 kB of index, so small ones lie open
        packed = values.dtype.kind != "O" and values.nbytes > 4096
        options = {"compression": "gzip", "compression_opts": 4, "shuffle": True} if packed else {}
        dtype = h5py.string_dtype() if values.dtype == np.dtype(object) else values.dtype
        variable = group.create_variable(name, tuple(spec["dims"]), dtype, data=values, **options)
        for key, value in spec["attrs"].items():
            variable.attrs[key] = native(value)


def _read_group(group: h5netcdf.Group, layout: dict) -> xr.Dataset:
    if set(group.variables) != set(layout["variables"]):
        raise Damaged("its variables are not those recorded")
    variables = {name: _read_variable(group.variables[name], spec, layout) for name, spec in layout["variables"].items()}
    coordinates = {name: v for name, v in variables.items() if layout["variables"][name]["coordinate"]}
    rest = {name: v for name, v in variables.items() if name not in coordinates}
    return xr.Dataset(rest, coordinates, attrs=layout["attrs"])


def _read_variable(variable: h5netcdf.Variable, spec: dict, layout: dict) -> xr.Variable:
    shape = tuple(layout["sizes"][name] for name in spec["dims"])
    if list(variable.dimensions) != spec["dims"] or variable.shape != shape:
        raise Damaged(f"its variable {variable.name} has not the shape recorded")
    return xr.Variable(spec["dims"], restore(np.asarray(variable[...]), spec["dtype"]), spec["attrs"])
