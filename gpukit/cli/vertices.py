"""Vertices that people name: ids on the command line or in files, with a weight or cost each."""

import os.path
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpukit.cli.numbers import in_units
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

MAX_ID = 2**63 - 1

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


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
        rows = columns_of(path, path.read_bytes(), 1, none=none)
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
    path: Path, content: bytes, graph: "Graph", *, default: int | None, decimals: int, low: Decimal, high: Decimal
) -> np.ndarray:
    """Return a number a vertex (int64, in units of 10**-decimals) from lines ``id number``.

    Parameters
    ----------
    path : Path
        The file, for messages.
    content : bytes
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
    for line, (word, text) in columns_of(path, content, 2):
        lines.append(line)
        ids.append(vertex_id(word, path, line))
        units = in_units(text, decimals)
        if units is None or not low <= Decimal(units).scaleb(-decimals) <= high:
            digits = f"with at most {decimals} decimals" if decimals else "whole"
            raise InputError(f"{path}, line {line}: {text[:40]!r} is not a number in [{low}, {high}], {digits}")
        numbers.append(units)
    once_each(path, lines, ids)
    vertices = vertices_of(path, lines, ids, graph)
    if default is None and len(ids) < graph.n:
        missing = np.setdiff1d(np.arange(graph.n), vertices)[0]
        raise InputError(f"{path} does not name vertex {graph.original(missing)}; name every vertex of the graph")
    result = np.full(graph.n, default or 0, np.int64)
    result[vertices] = numbers
    return result


def text_lines(path: Path, content: bytes, *, none: bool = False) -> list[tuple[int, str]]:
    """Return (number, text) of the lines of a file that hold something; ``#`` starts a comment.

    Lines end with LF or CR LF, and with nothing else, in every file that names vertices.

    Raises
    ------
    InputError
        If it is not UTF-8 text, holds a control character other than tabs, or, without ``none``, holds nothing.
    """
    found = []
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            line = raw.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{path}, line {number}: not text in UTF-8; give lines of vertex ids") from None
        if control := _CONTROL.search(line):
            raise InputError(
                f"{path}, line {number}: not text, it holds the control character {control[0]!r}; give vertex ids in "
                "lines that end with LF or CR LF"
            )
        text = line.partition("#")[0].strip(" \t")
        if words_of(text):
            found.append((number, text))
    if not found and not none:
        raise InputError(f"{path} names no vertices; give one a line")
    return found


def words_of(text: str) -> list[str]:
    """Return the words of a line: what stands between blanks, tabs and commas."""
    return re.findall(r"[^ \t\r\n,]+", text)


def columns_of(path: Path, content: bytes, columns: int, *, none: bool = False) -> list[tuple[int, list[str]]]:
    """Return (number, words) of the lines that hold something; InputError names a line with more or fewer words."""
    found = [(number, words_of(text)) for number, text in text_lines(path, content, none=none)]
    for number, words in found:
        if len(words) != columns:
            raise InputError(f"{path}, line {number}: {len(words)} columns, {columns} are needed")
    return found


def vertex_id(word: str, path: Path, line: int) -> int:
    """Return the vertex id that a word in a line of a file is; raises InputError if it is none."""
    if not is_vertex_id(word):
        raise InputError(f"{path}, line {line}: {word[:40]!r} is not a vertex id (a whole number from 0 to 2^63 - 1)")
    return int(word)
