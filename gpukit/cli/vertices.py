"""Vertices and numbers that people name: on the command line, or in files that are read once and told by their digest.

Every file that names vertices is text in UTF-8 with lines that end with LF or CR LF; ``#`` starts a comment, and words
stand between blanks, tabs or commas.
"""

import hashlib
import os.path
import re
from collections.abc import Sequence
from decimal import Decimal, DecimalException, Inexact, localcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.cli.options import Queries
from gpukit.errors import InputError, UsageError
from gpukit.graph.parsing import NUMBER

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.kpar.problem import Sources

MAX_ID = 2**63 - 1
MAX_WEIGHT = 10**9
MAX_QUERIES = 10**7
COST_DECIMALS = 6
"""Digits after the point of a cost or a budget."""

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


def read_once(path: Path, name: str, inputs: dict[str, str]) -> bytes:
    """Return what a file holds; the digest of just that joins ``inputs`` under a name."""
    content = path.read_bytes()
    inputs[name] = hashlib.sha256(content).hexdigest()
    return content


# Numbers


def number(text: str, option: str, kind: Any) -> Any:
    """Return an item of a list option as a number.

    Raises
    ------
    UsageError
        If it is not one.
    """
    try:
        if NUMBER.fullmatch(text.strip(" ")):
            return kind(text)
    except ValueError:
        pass
    raise UsageError(f"{option}: {text!r} is not a number")


def in_units(text: str, decimals: int) -> int | None:
    """Return a decimal number in units of 10**-decimals; None if it is none, or not a whole number of them."""
    if not NUMBER.fullmatch(text):
        return None
    with localcontext() as context:
        context.traps[Inexact] = True  # else more than 28 digits are rounded first, and then found to fit
        try:
            units = Decimal(text).scaleb(decimals)
            return int(units) if units.adjusted() < context.prec and units == units.to_integral_value() else None
        except DecimalException:
            return None


def at_most(given: int | None, default: int, n: int) -> int:
    """Return what was given, whatever it is; nothing given, the default, or n where there are fewer vertices."""
    return min(default, n) if given is None else given


# Vertices, and a number for each


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
        lines, ids = listed_ids(path, path.read_bytes(), none=none)
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


def listed_ids(path: Path, content: bytes, *, none: bool = False) -> tuple[list[int], list[int]]:
    """Return the line and the value of each vertex id in a file, one a line and each once; ``none``: or none."""
    rows = columns_of(path, content, 1, none=none)
    lines, ids = [line for line, _ in rows], [vertex_id(word, path, line) for line, (word,) in rows]
    once_each(path, lines, ids)
    return lines, ids


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


def vertex_costs(path: Path, graph: "Graph", inputs: dict[str, str], *, default: int | None) -> np.ndarray:
    """Return what each vertex costs as a seed, in units of 10**-6; arguments as of :func:`vertex_numbers`.

    The digest of the file joins ``inputs`` as that of the costs.
    """
    unit = Decimal(1).scaleb(-COST_DECIMALS)
    content = read_once(path, "costs", inputs)
    return vertex_numbers(
        path, content, graph, default=default, decimals=COST_DECIMALS, low=unit, high=(2**31 - 1) * unit
    )


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


# Queries


def read_sources(graph: "Graph", asked: Queries, seed: int, k: int, inputs: dict[str, str]) -> "Sources":
    """Return the queries of one of ``--source``, ``--sources`` and ``--random``; a file's digest joins ``inputs``.

    Raises
    ------
    UsageError
        If not exactly one is given, a word of ``--source`` is not ``ID`` or ``ID:WEIGHT``, or k does not fit the graph.
    InputError
        If the file is broken or an id is not in the graph.
    """
    from gpukit.kpar.problem import Sources, check_k

    source, file, random = asked.source, asked.sources_file, asked.random
    if sum(given is not None for given in (source, file, random)) != 1:
        raise UsageError("give the sources by one of --source, --sources and --random")
    check_k(k, graph.n)
    if random is not None:
        if not 1 <= random <= MAX_QUERIES:
            raise UsageError(f"--random is {random}; 1 to {MAX_QUERIES} are allowed")
        from gpukit.kpar.problem import random_vertices

        return Sources.single(random_vertices(graph.n, random, seed))
    if source is not None:
        try:
            sets = [_pairs(source)]
        except ValueError as error:
            raise UsageError(f"--source: {error}") from None
        vertices = graph.internal([vertex for vertex, _ in sets[0]]).tolist()
    else:
        assert file is not None
        lines, sets = _read(file, read_once(file, "sources", inputs))
        ids = [vertex for one in sets for vertex, _ in one]
        places = [line for line, one in zip(lines, sets, strict=True) for _ in one]
        vertices = vertices_of(file, places, ids, graph).tolist()
    place, queries = 0, []
    for one in sets:
        queries.append(Sources.weighted(vertices[place : place + len(one)], [weight for _, weight in one]))
        place += len(one)
    return Sources.together(queries)


def _read(path: Path, content: bytes) -> tuple[list[int], list[list[tuple[int, int]]]]:
    """Return the lines of a text file that hold a query, and the queries, one a line; ``#`` starts a comment."""
    lines, sets = [], []
    for number, text in text_lines(path, content):
        try:
            sets.append(_pairs(text))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        lines.append(number)
    return lines, sets


def _pairs(text: str) -> list[tuple[int, int]]:
    """Return (vertex, weight) of words ``ID`` or ``ID:WEIGHT`` between blanks or commas; raises ValueError."""
    pairs = []
    for word in words_of(text):
        name, colon, weight = word.partition(":")
        for part, low, high in ((name, 0, MAX_ID), (weight if colon else "1", 1, MAX_WEIGHT)):
            if not (part.isascii() and part.isdigit() and len(part) < 20 and low <= int(part) <= high):
                raise ValueError(f"{word[:40]!r} is not ID or ID:WEIGHT (whole numbers, weights 1 to {MAX_WEIGHT})")
        pairs.append((int(name), int(weight) if colon else 1))
    if not pairs:
        raise ValueError("no vertex is named")
    return pairs
