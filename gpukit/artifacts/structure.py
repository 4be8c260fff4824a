"""Checks of names, types, shapes and values against the layout table; cheap enough for every read."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpukit.artifacts.layout import Array, Kind
from gpukit.errors import InputError

Shapes = Mapping[str, tuple[np.dtype, tuple[int, ...]]]

_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "object": (dict,),
}


def check_attributes(kind: Kind, attributes: Mapping[str, Any], where: str = "") -> None:
    """Check the content attributes of a kind: none missing, none of a wrong type, none unknown.

    Raises
    ------
    InputError
        With ``where`` as a prefix of the line.
    """
    if not isinstance(attributes, dict):
        raise InputError(f"{where}the attributes of a {kind.name} must be a JSON object")
    rows = {row.name: row for row in kind.attributes}
    for name, row in rows.items():
        if name not in attributes:
            if row.required:
                raise InputError(f"{where}a {kind.name} needs the attribute {name} ({row.meaning})")
        elif row.type != "any":
            value = attributes[name]
            if not isinstance(value, _JSON_TYPES[row.type]) or (isinstance(value, bool) and row.type != "bool"):
                raise InputError(f"{where}attribute {name} of a {kind.name} is {value!r}; type {row.type} is needed")
    if not kind.open_attributes and (unknown := sorted(set(attributes) - set(rows))):
        raise InputError(f"{where}unknown attribute {unknown[0]} in a {kind.name}")


def check_arrays(kind: Kind, shapes: Shapes, attributes: Mapping[str, Any], where: str = "") -> dict[str, int]:
    """Check names, types and shapes of the arrays of a kind.

    Returns
    -------
    dict of str to int
        The value of each name in the shapes, integer attributes included.

    Raises
    ------
    InputError
        With ``where`` as a prefix of the line.
    """
    lengths = {
        name: value for name, value in attributes.items() if isinstance(value, int) and not isinstance(value, bool)
    }
    source = dict.fromkeys(lengths, "attribute")
    for row in kind.arrays:
        if row.required and not row.path.endswith("/*") and row.path not in shapes:
            raise InputError(f"{where}a {kind.name} needs the dataset {row.path} ({row.meaning})")
    for path, (dtype, shape) in shapes.items():
        found = kind.array(path)
        if found is None:
            raise InputError(f"{where}unknown dataset {path} in a {kind.name}")
        if dtype.name not in found.dtypes or not dtype.isnative:
            raise InputError(
                f"{where}dataset {path} has type {dtype.str}; {' or '.join(found.dtypes)} (little-endian) is needed"
            )
        _check_shape(found, path, shape, lengths, source, where)
    for path in shapes:
        found = kind.array(path)
        for name in (found.ends, found.high) if found else ():
            if name is not None and name not in lengths:
                raise InputError(f"{where}dataset {path} is there without what it points into ({name})")
    _check_groups(kind, shapes, where)
    return lengths


def _check_shape(row: Array, path: str, shape: tuple[int, ...], lengths: dict, source: dict, where: str) -> None:
    if row.shape == ("*",):
        if len(shape) not in (1, 2):
            raise InputError(f"{where}dataset {path} has {len(shape)} axes; 1 or 2 are allowed")
        return
    if len(shape) != len(row.shape):
        raise InputError(f"{where}dataset {path} has {len(shape)} axes; {len(row.shape)} are needed")
    for size, text in zip(shape, row.shape, strict=True):
        name, _, extra = text.partition("+")
        if name.isdigit():
            value, origin = int(name), "layout"
        else:
            value = lengths.setdefault(name, size - int(extra or 0))
            origin = source.setdefault(name, path)
        if size != value + int(extra or 0):
            raise InputError(
                f"{where}dataset {path} has {size} entries; {value + int(extra or 0)} are needed ({text}, by {origin})"
            )


def _check_groups(kind: Kind, shapes: Mapping[str, Any], where: str) -> None:
    """Check that a graph's transpose, where there is one, has just the datasets that the graph has."""
    if kind.name != "graph" or not any(path.startswith("transpose/") for path in shapes):
        return
    for path in ("pointers_to_1", "indices_1", "values", "probabilities"):
        if (path in shapes) != (f"transpose/{path}" in shapes):
            raise InputError(f"{where}the transpose and the graph differ in having {path}")


def check_values(kind: Kind, arrays: Mapping[str, np.ndarray], lengths: Mapping[str, int]) -> None:
    """Check that row starts and bounded values are such that no kernel can leave its arrays.

    Raises
    ------
    InputError
        Naming the dataset.
    """
    for path, array in arrays.items():
        row = kind.array(path)
        if row is None:
            continue
        if row.ends is not None:
            if array[0] != 0 or array[-1] != lengths[row.ends] or np.any(array[1:] < array[:-1]):
                raise InputError(f"dataset {path} must rise from 0 to {lengths[row.ends]} ({row.ends}) without a fall")
        if row.high is not None and array.size:
            low, high = int(array.min()), int(array.max())
            if low < 0 or high >= lengths[row.high]:
                wrong = low if low < 0 else high
                raise InputError(f"dataset {path} holds {wrong}; values in [0, {lengths[row.high]}) are allowed")


def is_digest(text: object) -> bool:
    """Return whether ``text`` is a SHA-256 in hexadecimal."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) is not None
