"""Checks of names, types, shapes and values against the layout table; fast enough for every reading."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.layout import Kind
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
    """Raise InputError with the given line unless the condition holds."""
    if not condition:
        raise InputError(line)


def need_none(found: np.ndarray, line: str) -> None:
    """Raise InputError if any item was found; the first one replaces ``{}`` in the line."""
    if len(found):
        raise InputError(line.format(found[0]))


def check_attributes(kind: Kind, attributes: Mapping[str, Any], where: str = "") -> None:
    """Check the content attributes of a kind: none may be missing, of a wrong type, or unknown.

    Raises
    ------
    InputError
        With ``where`` as prefix of the message.
    """
    rows = {row.name: row for row in kind.attributes}
    for name, row in rows.items():
        value = attributes.get(name)
        if name not in attributes:
            need(not row.required, f"{where}a {kind.name} needs the attribute {name} ({row.meaning})")
        elif row.type != "any":
            need(
                type(value) in _JSON_TYPES[row.type],
                f"{where}attribute {name} of a {kind.name} is {value!r}; type {row.type} is needed",
            )
    unknown = sorted(set(attributes) - set(rows))
    need(kind.open_attributes or not unknown, f"{where}unknown attribute {', '.join(unknown)} in a {kind.name}")


def check_arrays(kind: Kind, shapes: Shapes, attributes: Mapping[str, Any], where: str = "") -> dict[str, int]:
    """Check names, types and shapes of the arrays of a kind.

    Returns
    -------
    dict of str to int
        The value of each name in the shapes, plus integer attributes.

    Raises
    ------
    InputError
        With ``where`` as prefix of the message.
    """
    # A length is given by the attribute of the same name, or else by the first array that has it.
    lengths = {name: value for name, value in attributes.items() if type(value) is int}
    for row in kind.arrays:
        there = not row.required or row.path.endswith("/*") or row.path in shapes
        need(there, f"{where}a {kind.name} needs the dataset {row.path} ({row.meaning})")
    for path, (dtype, shape) in shapes.items():
        found = kind.array(path)
        if found is None:
            raise InputError(f"{where}unknown dataset {path} in a {kind.name}")
        fits, wanted = dtype.name in found.dtypes and dtype.isnative, " or ".join(found.dtypes)
        need(fits, f"{where}dataset {path} has type {dtype.str}; {wanted} (little-endian) is needed")
        axes = ("*",) * max(1, min(len(shape), 2)) if found.shape == ("*",) else found.shape
        need(len(shape) == len(axes), f"{where}dataset {path} has {len(shape)} axes; {len(axes)} are needed")
        for size, text in zip(shape, axes, strict=True):
            name, _, more = text.partition("+")
            extra = int(more or 0)
            length = int(name) if name.isdigit() else size if name == "*" else lengths.setdefault(name, size - extra)
            need(
                size == length + extra,
                f"{where}dataset {path} has {size} entries; {length + extra} are needed ({text})",
            )
    for path in shapes:
        found = kind.array(path)
        for into in (found.ends, found.high) if found else ():
            there = into is None or into in lengths
            need(there, f"{where}dataset {path} needs the dataset that it refers to ({into})")
    return lengths


def rows_ascend(starts: np.ndarray, values: np.ndarray, what: str) -> None:
    """Check that values rise strictly within each row; raises InputError that names the first row where they do not."""
    falls = values[1:] <= values[:-1]
    falls[starts[(starts > 0) & (starts < len(values))] - 1] = False
    if falls.any():
        place = int(falls.argmax())
        row = int(np.searchsorted(starts, place, side="right")) - 1
        raise InputError(f"{what} of row {row} do not ascend (… {values[place]}, {values[place + 1]} …)")


def check_values(kind: Kind, artifact: Artifact, lengths: Mapping[str, int]) -> None:
    """Check that row starts and indices stay within the arrays they refer to, and that attributes have allowed values.

    Raises
    ------
    InputError
        With the name of the dataset or attribute.
    """
    arrays, attributes = artifact.arrays, artifact.attributes
    for path, array in arrays.items():
        row = kind.array(path)
        assert row is not None  # :func:`check_arrays` has checked this
        if row.ends:
            end = lengths[row.ends]
            rises = array[0] == 0 and array[-1] == end and not np.any(array[1:] < array[:-1])
            need(rises, f"dataset {path} must rise from 0 to {end} ({row.ends}) and never fall")
        within = (0, lengths[row.high] - 1) if row.high else row.within
        if within and array.size:
            low, high = within
            wrong = array.min() if array.min() < low else array.max()
            need(low <= wrong <= high, f"dataset {path} holds {wrong}; {low} to {high} is allowed")
    for path, array in arrays.items():
        row = kind.array(path)
        if row and row.rises is not None:
            rows_ascend(arrays.get(row.rises, np.array([0, len(array)])), array, path)
    for said in kind.attributes:
        value = attributes.get(said.name)
        if said.allowed and value is not None:
            need(value in said.allowed, f"unknown {said.name} {value!r}; {' and '.join(said.allowed)} are allowed")
        if said.inside and value is not None:
            need(said.inside[0] < value < said.inside[1], f"{said.name} is {value}; {said.inside} is allowed")
        if said.name == "graph":
            need(re.fullmatch("[0-9a-f]{64}", str(value)), "the attribute graph must be a SHA-256")
    there = {*attributes, *artifact.checksums}
    for name, only in [(one.name, one.only) for one in kind.attributes] + [(one.path, one.only) for one in kind.arrays]:
        if only:
            value = attributes.get(only[0])
            need(
                (name in there) == (value is not None if only[1] is None else value in only[1]),
                f"{name} and {only[0]} {value!r} do not go together",
            )
