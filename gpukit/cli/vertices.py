"""Vertices that people name: ids on the command line or in files, with a weight or cost each."""

import os.path
from collections.abc import Sequence
from decimal import Decimal, DecimalException
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

MAX_ID = 2**63 - 1


def is_vertex_id(word: str) -> bool:
    """Say whether a word is a whole number from 0 to 2^63 - 1."""
    # The length comes first: int() refuses more than 4,300 digits.
    return word.isascii() and word.isdigit() and len(word) < 20 and int(word) <= MAX_ID


def vertex_list(text: str | None, option: str, graph: "Graph", *, none: bool = False) -> list[int]:
    """Return internal ids of ``A,B,…`` or of the lines of a file (``#`` starts a comment), in the given order.

    With ``none`` a file may name no vertices, and so may an empty text.

    Raises
    ------
    UsageError
        If the text is neither ids nor the name of a file, or gives an id twice.
    InputError
        If the file is broken or gives an id twice, or an id is not in the graph.
    """
    if text is None or (none and not text.strip()):
        return []
    words = [word.strip() for word in text.split(",")]
    wrong = [word for word in words if not is_vertex_id(word)]
    # Unlike Path(text).exists(), this takes an empty text and one too long for a name as no file.
    if wrong and os.path.exists(text):
        path = Path(text)
        rows = _lines(path, 1, none)
        lines, ids = [line for line, _ in rows], [vertex_id(word, path, line) for line, (word,) in rows]
        once_each(path, lines, ids)
        return vertices_of(path, lines, ids, graph).tolist()
    if wrong:
        raise UsageError(
            f"{option}: {wrong[0][:40]!r} is neither a vertex id nor a file; give ids (0 to 2^63 - 1) separated by "
            "commas, or a file of them"
        )
    ids = [int(word) for word in words]
    if len(set(ids)) < len(ids):
        again = next(one for place, one in enumerate(ids) if one in ids[:place])
        raise UsageError(f"{option}: vertex {again} is given twice; give each once")
    return graph.internal(ids).tolist()


def vertices_of(path: Path, lines: Sequence[int], ids: Sequence[int], graph: "Graph") -> np.ndarray:
    """Return internal ids (int64) of the ids in the lines of a file; InputError names the line of an unknown one."""
    try:
        return graph.internal(ids)
    except InputError as error:
        unknown = ~np.isin(ids, graph.original(np.arange(graph.n)))
        raise InputError(f"{path}, line {lines[int(unknown.argmax())]}: {error}") from None


def once_each(path: Path, lines: Sequence[int], ids: Sequence[int]) -> None:
    """Check that the lines of a file give each id once; InputError names the line that gives one again."""
    seen: dict[int, int] = {}
    for line, one in zip(lines, ids, strict=True):
        if one in seen:
            raise InputError(
                f"{path}, line {line}: vertex {one} is given twice, first in line {seen[one]}; give it once"
            )
        seen[one] = line


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
    lines: list[int] = []
    ids: list[int] = []
    numbers: list[int] = []
    for line, (word, text) in _lines(path, 2):
        lines.append(line)
        ids.append(vertex_id(word, path, line))
        try:
            number = Decimal(text)
            scaled = number.scaleb(decimals)
            fits = low <= number <= high and scaled == scaled.to_integral_value()
        except DecimalException:
            fits = False
        if not fits:
            digits = f"with at most {decimals} decimals" if decimals else "whole"
            raise InputError(f"{path}, line {line}: {text[:40]!r} is not a number in [{low}, {high}], {digits}")
        numbers.append(int(scaled))
    once_each(path, lines, ids)
    vertices = vertices_of(path, lines, ids, graph)
    if default is None and len(ids) < graph.n:
        missing = np.setdiff1d(np.arange(graph.n), vertices)[0]
        raise InputError(f"{path} does not name vertex {graph.original(missing)}; name every vertex of the graph")
    result = np.full(graph.n, default or 0, np.int64)
    result[vertices] = numbers
    return result


def _lines(path: Path, columns: int, none: bool = False) -> list[tuple[int, list[str]]]:
    """Return (number, fields) of the lines that hold something."""
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
        found.append((number, fields))
    if not found and not none:
        raise InputError(f"{path} names no vertices; give one a line")
    return found


def vertex_id(word: str, path: Path, line: int) -> int:
    """Return the vertex id that a word in a line of a file is; raises InputError if it is none."""
    if not is_vertex_id(word):
        raise InputError(f"{path}, line {line}: {word[:40]!r} is not a vertex id (a whole number from 0 to 2^63 - 1)")
    return int(word)
