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


def need(condition: object, line: str) -> None:
    """Raise InputError with the line unless the condition holds."""
    if not condition:
        raise InputError(line)


def check_attributes(kind: Kind, attributes: Mapping[str, Any], where: str = "") -> None:
    """Check the content attributes of a kind: none missing, none of a wrong type, none unknown.

    Raises
    ------
    InputError
        With ``where`` as a prefix of the line.
    """
    need(isinstance(attributes, dict), f"{where}the attributes of a {kind.name} must be a JSON object")
    rows = {row.name: row for row in kind.attributes}
    for name, row in rows.items():
        value = attributes.get(name)
        if name not in attributes:
            need(not row.required, f"{where}a {kind.name} needs the attribute {name} ({row.meaning})")
        elif row.type != "any":
            fits = isinstance(value, _JSON_TYPES[row.type]) and (row.type == "bool" or not isinstance(value, bool))
            need(fits, f"{where}attribute {name} of a {kind.name} is {value!r}; type {row.type} is needed")
    unknown = sorted(set(attributes) - set(rows))
    if unknown and not kind.open_attributes:
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
    # A length is known from an attribute of its name, or from the first array that has it.
    lengths = {
        name: value for name, value in attributes.items() if isinstance(value, int) and not isinstance(value, bool)
    }
    source = dict.fromkeys(lengths, "attribute")
    for row in kind.arrays:
        there = not row.required or row.path.endswith("/*") or row.path in shapes
        need(there, f"{where}a {kind.name} needs the dataset {row.path} ({row.meaning})")
    for path, (dtype, shape) in shapes.items():
        found = kind.array(path)
        if found is None:
            raise InputError(f"{where}unknown dataset {path} in a {kind.name}")
        fits = dtype.name in found.dtypes and dtype.isnative
        wanted = " or ".join(found.dtypes)
        need(fits, f"{where}dataset {path} has type {dtype.str}; {wanted} (little-endian) is needed")
        _check_shape(found, path, shape, lengths, source, where)
    for path in shapes:
        found = kind.array(path)
        for name in (found.ends, found.high) if found else ():
            there = name is None or name in lengths
            need(there, f"{where}dataset {path} is there without what it points into ({name})")
    _check_groups(kind, shapes, where)
    return lengths


def _check_shape(row: Array, path: str, shape: tuple[int, ...], lengths: dict, source: dict, where: str) -> None:
    """Check the axes of a dataset; a length that is named for the first time is kept, with where it is from."""
    axes, free = f"{where}dataset {path} has {len(shape)} axes", row.shape == ("*",)
    need(not free or len(shape) in (1, 2), f"{axes}; 1 or 2 are allowed")
    need(free or len(shape) == len(row.shape), f"{axes}; {len(row.shape)} are needed")
    for size, text in zip(shape, () if free else row.shape, strict=not free):
        name, _, more = text.partition("+")
        extra = int(more or 0)
        if name.isdigit():
            wanted, origin = int(name) + extra, "layout"
        else:
            wanted = lengths.setdefault(name, size - extra) + extra
            origin = source.setdefault(name, path)
        need(size == wanted, f"{where}dataset {path} has {size} entries; {wanted} are needed ({text}, by {origin})")


def _check_groups(kind: Kind, shapes: Mapping[str, Any], where: str) -> None:
    """Check that a graph's transpose, where there is one, has just the datasets that the graph has."""
    if kind.name != "graph" or not any(path.startswith("transpose/") for path in shapes):
        return
    for path in ("pointers_to_1", "indices_1", "values", "probabilities"):
        both = (path in shapes) == (f"transpose/{path}" in shapes)
        need(both, f"{where}the transpose and the graph differ in having {path}")


def check_values(
    kind: Kind, arrays: Mapping[str, np.ndarray], lengths: Mapping[str, int], attributes: Mapping[str, Any]
) -> None:
    """Check that row starts and bounded values are such that no kernel can leave its arrays, and the graph's digest.

    Raises
    ------
    InputError
        Naming the dataset or the attribute.
    """
    for path, array in arrays.items():
        row = kind.array(path)
        if row is not None and row.ends is not None:
            end = lengths[row.ends]
            rises = array[0] == 0 and array[-1] == end and not np.any(array[1:] < array[:-1])
            need(rises, f"dataset {path} must rise from 0 to {end} ({row.ends}) without a fall")
        if row is not None and row.high is not None and array.size:
            low, high, end = int(array.min()), int(array.max()), lengths[row.high]
            wrong = low if low < 0 else high
            need(0 <= wrong < end, f"dataset {path} holds {wrong}; values in [0, {end}) are allowed")
    named = any(row.name == "graph" for row in kind.attributes)
    need(not named or is_digest(attributes["graph"]), "the attribute graph must be a SHA-256")


def is_digest(text: object) -> bool:
    """Return whether ``text`` is a SHA-256 in hexadecimal."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) is not None
