"""Vertices that people name: ids on the command line or in files, with a weight or cost each."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

MAX_ID = 2**63 - 1


def vertex_list(text: str | None, option: str, graph: "Graph", *, none: bool = False) -> list[int]:
    """Return internal ids of ``A,B,…`` or of the lines of a file (``#`` starts a comment), in the given order.

    With ``none`` a file may name no vertices.

    Raises
    ------
    UsageError
        If an id is given twice, or the text is neither ids nor the name of a file.
    InputError
        If the file is broken or an id is not in the graph.
    """
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    if all(word.isascii() and word.isdigit() for word in words):
        ids = [int(word) for word in words]
        if max(ids) > MAX_ID:
            raise UsageError(f"{option}: {max(ids)} is not a vertex id (0 to 2^63 - 1)")
    elif not Path(text).exists():
        raise UsageError(f"{option}: {text!r} is neither vertex ids separated by commas nor a file; give one of them")
    else:
        ids = [_id(fields[0], where) for where, fields in _lines(Path(text), 1, none)]
    if len(set(ids)) < len(ids):
        again = next(one for place, one in enumerate(ids) if one in ids[:place])
        raise UsageError(f"{option}: vertex {again} is given twice; give each once")
    return graph.internal(ids).tolist()


def vertex_numbers(
    path: Path, graph: "Graph", *, default: int | None, decimals: int, low: Decimal, high: Decimal
) -> np.ndarray:
    """Return a number a vertex (int64, in units of 10**-decimals) from lines ``id number``.

    Parameters
    ----------
    path : Path
        Text with two columns; ``#`` starts a comment.
    graph : Graph
    default : int or None
        For vertices that the file does not name, in the same unit; None: it must name all.
    decimals : int
        Digits after the point that are allowed.
    low, high : Decimal
        The allowed range of a number.

    Raises
    ------
    InputError
        If a line does not fit, names an unknown vertex or one named before, or a vertex is missing.
    """
    ids: list[int] = []
    numbers: list[int] = []
    for where, (word, text) in _lines(path, 2):
        ids.append(_id(word, where))
        try:
            number = Decimal(text)
            scaled = number.scaleb(decimals)
            fits = low <= number <= high and scaled == scaled.to_integral_value()
        except InvalidOperation:
            fits = False
        if not fits:
            digits = f"with at most {decimals} decimals" if decimals else "whole"
            raise InputError(f"{where}: {text[:40]!r} is not a number in [{low}, {high}], {digits}")
        numbers.append(int(scaled))
    vertices = graph.internal(ids)
    if default is None and len(ids) < graph.n:
        missing = np.setdiff1d(np.arange(graph.n), vertices)[0]
        raise InputError(f"{path} does not name vertex {graph.original(missing)}; name every vertex of the graph")
    result = np.full(graph.n, default or 0, np.int64)
    if len(np.unique(vertices)) < len(vertices):
        again = next(one for place, one in enumerate(ids) if one in ids[:place])
        raise InputError(f"{path}: vertex {again} is given twice; give each once")
    result[vertices] = numbers
    return result


def _lines(path: Path, columns: int, none: bool = False) -> list[tuple[str, list[str]]]:
    """Return (place, fields) of the lines that hold something."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text; give lines of {columns} columns") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.partition("#")[0].replace(",", " ").split()
        if not fields:
            continue
        if len(fields) != columns:
            raise InputError(f"{path}, line {number}: {len(fields)} columns, {columns} are needed")
        found.append((f"{path}, line {number}", fields))
    if not found and not none:
        raise InputError(f"{path} names no vertices; give one a line")
    return found


def _id(word: str, where: str) -> int:
    if not (word.isascii() and word.isdigit() and int(word[:20]) <= MAX_ID and len(word) < 20):
        raise InputError(f"{where}: {word[:40]!r} is not a vertex id (a whole number from 0 to 2^63 - 1)")
    return int(word)
