"""Vertices and numbers that users give on the command line or in files. Each file is read once and has a digest.

A file of vertices is text in UTF-8 with lines that end with LF or CR LF. ``#`` starts a comment, and blanks, tabs or
commas separate words. If the graph has labels, these name its vertices: a label may contain blanks, commas separate
labels, quotes work as in CSV, and a comment needs a separate line. If each line has one vertex, the file may also be a
table (:mod:`gpukit.cli.vertices.tables`).
"""

import hashlib
import logging
import os.path
import re
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.api.vertices import (
    COST_DECIMALS,
    SOURCE_WEIGHTS,
    WEIGHT_DECIMALS,
    check_once,
    in_units,
    in_whole_numbers,
    source_weight,
)
from gpukit.cli.options import Queries
from gpukit.cli.vertices.names import with_quotes
from gpukit.cli.vertices.tables import COLUMN, as_text, column, with_numbers
from gpukit.errors import InputError, UsageError
from gpukit.files import missing
from gpukit.graph.lines import NUMBER, decimal_comma, split

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.graph.labels import Labels
    from gpukit.kpar.problem import Sources

MAX_ID = 2**63 - 1

_log = logging.getLogger("gpukit")

IN_QUOTES = "those with a comma in quotes"
"""Advice about names in a list."""

_LAST_WORD = re.compile(r"(.*?)[ \t]*[,;\t ][ \t]*([^,;\t ]+)")
_NAME_AND_WEIGHT = re.compile(r'[ \t]*(?:"((?:[^"]|"")*)"[ \t]*(?::([^,]*))?|((?:[^,"][^,]*)?))(,|$)')
_TITLE = re.compile(r'"?[^\W\d]\w*"?')
"""A possible name of a column of numbers: a word that is no number."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


def content_of(path: Path) -> bytes:
    """Return the content of a file, or standard input for ``-``."""
    return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()


def read_once(path: Path, name: str, inputs: dict[str, str]) -> bytes:
    """Return the content of a file or of standard input, and add its digest to ``inputs`` under a name."""
    try:
        content = content_of(path)
    except FileNotFoundError:
        raise missing(path, " does not exist; check the path") from None
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


# Vertices, and a number for each


def is_vertex_id(word: str) -> bool:
    """Return whether a word is a whole number from 0 to 2^63 - 1."""
    # The length comes first: int() refuses more than 4,300 digits.
    return word.isascii() and word.isdigit() and len(word) < 20 and int(word) <= MAX_ID


def vertex_list(text: str | None, option: str, graph: "Graph", *, none: bool = False) -> list[int]:
    """Return internal ids of ``A,B,…`` or of the lines of a file (``#`` starts a comment), in the given order.

    With ``none`` a file may name no vertices, and so may an empty text.

    Raises
    ------
    UsageError
        If the text is neither vertices nor the name of a file, or names one twice.
    InputError
        If the file is broken or names a vertex twice, or an id is not in the graph.
    """
    if text is None or (none and not text.strip()):
        return []
    words, wrong = _given(text, option, graph)
    # Unlike Path(text).exists(), this treats an empty text, and one too long for a name, as no file.
    if wrong and os.path.exists(text):
        path = Path(text)
        return listed_vertices(path, path.read_bytes(), graph, none=none).tolist()
    if wrong and graph.labels is not None:
        raise UsageError(
            f"{option}: {wrong[0][:40]!r} is neither a vertex of the graph nor a file; "
            f"{graph.labels.advice(wrong[0], 'give names')} separated by commas, {IN_QUOTES}, or a file with one a line"
        )
    if wrong:
        raise UsageError(
            f"{option}: {wrong[0][:40]!r} is neither a vertex id nor a file; give ids (0 to 2^63 - 1) separated by "
            "commas, or a file of them"
        )
    found = graph.internal(words if graph.labels is not None else [int(word) for word in words]).tolist()
    check_once(graph, found, option)
    return found


def _given(text: str, option: str, graph: "Graph") -> tuple[list[str], list[str]]:
    """Return the words of ``A,B,…``, and the words among them that cannot be vertices."""
    if graph.labels is None:
        words = [word.strip() for word in text.split(",")]
        return words, [word for word in words if not is_vertex_id(word)]
    try:
        words = split(with_quotes(text, graph.labels), ",") or [""]
    except ValueError as error:
        if os.path.exists(text):
            return [], [text]
        raise UsageError(f"{option}: {error}") from None
    return words, [word for word, found in zip(words, graph.labels.find(words).tolist(), strict=True) if found < 0]


def listed_vertices(path: Path, content: bytes, graph: "Graph", *, none: bool = False) -> np.ndarray:
    """Return internal ids (int64) of the vertices that a file names, one per line, each once.

    ``none``: the file may name no vertex.
    """
    return named_vertices(path, names_in(path, content, graph, none=none), graph)


def names_in(path: Path, content: bytes, graph: "Graph", *, none: bool = False) -> list[tuple[int, Any]]:
    """Return line and id or label of each vertex that a file names, whether it is in the graph or not."""
    content, labels = as_text(path, content), graph.labels
    lines = text_lines(path, content, none=none, labels=labels is not None)
    named = _in_table(path, lines, graph)
    if named is None and labels is not None:
        named = [(line, _label(text, path, line)) for line, text in lines]
    elif named is None:
        named = [(line, vertex_id(word, path, line)) for line, (word,) in columns_of(path, content, 1, none=none)]
    return named


def _in_table(path: Path, lines: Sequence[tuple[int, str]], graph: "Graph") -> list[tuple[int, Any]] | None:
    """Return line and id or label of each vertex of a table, or None if the lines are no table."""
    rows = column(path, lines, graph.labels)
    if rows is None or graph.labels is not None:
        return rows
    return [(line, vertex_id(one, path, line)) for line, one in rows]


def named_vertices(path: Path, named: Sequence[tuple[int, Any]], graph: "Graph") -> np.ndarray:
    """Return internal ids (int64) of ids or labels, each with its line; InputError names the first wrong line."""
    lines, ids = [line for line, _ in named], [one for _, one in named]
    vertices = vertices_of(path, lines, ids, graph)
    once_each(path, lines, graph.original(vertices).tolist())
    return vertices


def vertices_of(path: Path, lines: Sequence[int], ids: Sequence[Any], graph: "Graph") -> np.ndarray:
    """Return internal ids (int64) of the ids in the lines of a file; InputError names the line of an unknown one."""
    try:
        return graph.internal(ids)
    except InputError as error:
        if graph.labels is not None:
            unknown = graph.labels.find(ids) < 0
        else:
            unknown = ~np.isin(ids, graph.original(np.arange(graph.n)))
        place, *more = np.flatnonzero(unknown).tolist()
        hint = "" if place else f"; of a table the header calls the column {COLUMN}"
        if more:
            hint += f"; so it is in line {', '.join(str(lines[i]) for i in more[:9])}{', …' * (len(more) > 9)}"
        raise InputError(f"{path}, line {lines[place]}: {error}{hint}") from None


def once_each(path: Path, lines: Sequence[int], ids: Sequence[Any]) -> None:
    """Check that the lines of a file give each id once; InputError names the line that gives one again."""
    seen: dict[Any, int] = {}
    for line, one in zip(lines, ids, strict=True):
        if one in seen:
            raise InputError(
                f"{path}, line {line}: vertex {one} is given twice, first in line {seen[one]}; give it once"
            )
        seen[one] = line


def vertices_in(text: str, path: Path, line: int, graph: "Graph") -> list[Any]:
    """Return the ids or the labels in a line of a file, which may hold several; InputError names the line."""
    if graph.labels is None:
        return [vertex_id(word, path, line) for word in words_of(text)]
    try:
        return split(text, ",")
    except ValueError as error:
        raise InputError(f"{path}, line {line}: {error}") from None


def _label(text: str, path: Path, line: int) -> str:
    """Return the label that a whole text is, with or without quotes; InputError names the line."""
    if not text.startswith('"'):
        return text
    try:
        fields = split(text, ",")
    except ValueError as error:
        raise InputError(f"{path}, line {line}: {error}") from None
    if len(fields) > 1:
        raise InputError(f"{path}, line {line}: {len(fields)} names; give one a line")
    return fields[0]


def vertex_numbers(
    path: Path, content: bytes, graph: "Graph", *, default: int, decimals: int, low: Decimal, high: Decimal
) -> np.ndarray:
    """Return a number for each vertex (int64, in units of 10**-decimals) from lines ``id number``.

    Parameters
    ----------
    path : Path
        The file, for messages.
    content : bytes
        Text with two columns; ``#`` starts a comment.
    graph : Graph
    default : int
        The number of vertices that the file does not name, in the same unit.
    decimals : int
        Most decimals.
    low, high : Decimal
        The allowed range of a number.

    Raises
    ------
    InputError
        If a line does not fit, or names an unknown vertex or one named before.
    """
    lines: list[int] = []
    ids: list[Any] = []
    numbers: list[int] = []
    for line, one, text in _rows(path, content, graph):
        lines.append(line)
        ids.append(one)
        units = in_units(text, decimals)
        if units is None or not low <= Decimal(units).scaleb(-decimals) <= high:
            digits = f"with at most {decimals} decimals" if decimals else "whole"
            advice = "; write a point for the decimal comma" * decimal_comma(text)
            raise InputError(f"{path}, line {line}: {text[:40]!r} is not a number in [{low}, {high}], {digits}{advice}")
        numbers.append(units)
    vertices = vertices_of(path, lines, ids, graph)
    once_each(path, lines, graph.original(vertices).tolist())
    result = np.full(graph.n, default, np.int64)
    result[vertices] = numbers
    return result


def _rows(path: Path, content: bytes, graph: "Graph") -> Iterator[tuple[int, Any, str]]:
    """Yield line, id or label, and number of lines ``vertex number``; InputError names the first line of another form.

    A first line is a header if it has two words, the first no vertex and the second no number. A table may have more
    columns.
    """
    content = as_text(path, content, None)
    rows = with_numbers(path, text_lines(path, content, labels=True), graph.labels)
    if rows is not None:
        for line, word, text in rows:
            yield line, vertex_id(word, path, line) if graph.labels is None else word, text
    elif graph.labels is None:
        for place, (line, (word, text)) in enumerate(columns_of(path, content, 2)):
            if place or is_vertex_id(word.strip('"')) or not _TITLE.fullmatch(text):
                yield line, vertex_id(word, path, line), text
    else:
        yield from _labelled_rows(path, content, graph.labels)


def _labelled_rows(path: Path, content: bytes, labels: "Labels") -> Iterator[tuple[int, str, str]]:
    """Yield line, label and number of lines ``name number``."""
    for place, (line, text) in enumerate(text_lines(path, content, labels=True)):
        found = _LAST_WORD.fullmatch(text)
        if found is None:
            raise InputError(f"{path}, line {line}: one column, 2 are needed: a name and a number")
        name = _label(found[1], path, line)
        known = labels.find([name])[0] >= 0
        if not known and (labels.find([found[1].split(mark)[0].strip() for mark in ";\t,"]) >= 0).any():
            raise InputError(
                f"{path}, line {line}: {text[:40]!r} has three columns, or a decimal comma; give a name and a number "
                "with a point, and put names with commas in quotes"
            )
        if place or known or not _TITLE.fullmatch(found[2]):
            yield line, name, found[2]


def vertex_weights(path: Path, graph: "Graph", inputs: dict[str, str]) -> tuple[np.ndarray, int]:
    """Return the weights of vertices in units of 10**-decimals (0 if not named), and the least sufficient decimals.

    The digest of the file is added to ``inputs`` as that of the targets; errors are those of :func:`vertex_numbers`.
    """
    content = read_once(path, "targets", inputs)
    words = (text for _, _, text in _rows(path, content, graph))
    needed = range(WEIGHT_DECIMALS + 1)
    fits = (next((i for i in needed if in_units(word, i) is not None), WEIGHT_DECIMALS) for word in words)
    decimals = max(fits, default=0)
    high = Decimal(2**53).scaleb(-decimals)
    numbers = vertex_numbers(path, content, graph, default=0, decimals=decimals, low=Decimal(0), high=high)
    return numbers, decimals


def vertex_costs(path: Path, graph: "Graph", inputs: dict[str, str]) -> tuple[np.ndarray, int]:
    """Return the cost of each vertex as a seed, in units of 10**-6, and the number of unnamed vertices, which cost 1.

    The digest of the file is added to ``inputs`` as that of the costs; errors are those of :func:`vertex_numbers`.
    """
    unit = Decimal(1).scaleb(-COST_DECIMALS)
    content = read_once(path, "costs", inputs)
    costs = vertex_numbers(
        path, content, graph, default=10**COST_DECIMALS, decimals=COST_DECIMALS, low=unit, high=(2**31 - 1) * unit
    )
    named = sum(1 for _ in _rows(path, content, graph))
    if named < graph.n:
        _log.info("%s names %s of %s vertices; each of the others costs 1", path, f"{named:,}", f"{graph.n:,}")
    return costs, graph.n - named


def text_lines(path: Path, content: bytes, *, none: bool = False, labels: bool = False) -> list[tuple[int, str]]:
    """Return (number, text) of the nonempty lines of a file.

    ``#`` starts a comment (with labels, only at the start of a line).

    In every file that names vertices, lines end with LF or CR LF, and with nothing else.

    Raises
    ------
    InputError
        If it is not UTF-8 text, has a control character other than a tab, or is empty although ``none`` is false.
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
        if labels:
            text = "" if line.lstrip(" \t").startswith("#") else line.strip()
        if text if labels else words_of(text):
            found.append((number, text))
    if not found and not none:
        raise InputError(f"{path} names no vertices; give one a line")
    return found


def words_of(text: str) -> list[str]:
    """Return the words of a line, which blanks, tabs and commas separate."""
    return re.findall(r"[^ \t\r\n,]+", text)


def columns_of(path: Path, content: bytes, columns: int, *, none: bool = False) -> list[tuple[int, list[str]]]:
    """Return (number, words) of the nonempty lines; InputError names a line with more or fewer words."""
    found = [(number, words_of(text)) for number, text in text_lines(path, content, none=none)]
    for number, words in found:
        if len(words) != columns:
            raise InputError(f"{path}, line {number}: {len(words)} columns, {columns} are needed")
    return found


def vertex_id(word: str, path: Path, line: int) -> int:
    """Return a word of a line as a vertex id; raises InputError if it is none."""
    if not is_vertex_id(word):
        raise InputError(
            f"{path}, line {line}: {word[:40]!r} is not a vertex id (a whole number from 0 to 2^63 - 1)"
            + (f"; of a table the header calls the column {COLUMN}" if _TITLE.fullmatch(word) else "")
        )
    return int(word)


# Queries


def read_sources(graph: "Graph", asked: Queries, seed: int, inputs: dict[str, str]) -> "Sources":
    """Return the queries of ``--source``, ``--sources`` or ``--random``; the digest of a file is added to ``inputs``.

    Raises
    ------
    UsageError
        If not exactly one of them is given, or a word of ``--source`` is not ``ID`` or ``ID:WEIGHT``.
    InputError
        If the file is broken or an id is not in the graph.
    """
    from gpukit.kpar.problem import Sources

    source, file, random = asked.source, asked.sources_file, asked.random
    if sum(given is not None for given in (source, file, random)) != 1:
        raise UsageError("give the sources by one of --source, --sources and --random")
    if random is not None:
        from gpukit.kpar.problem import random_vertices

        if not asked.able:
            return Sources.single(random_vertices(graph.n, random, seed))
        able = np.flatnonzero(np.diff(graph.indptr))
        if not len(able):
            raise InputError("no vertex of the graph has an out-edge to ask from; leave --out-edges out")
        return Sources.single(able[random_vertices(len(able), random, seed)])
    if asked.able:
        raise UsageError("--out-edges is about --random; leave it out, or give --random N")
    if source is not None:
        try:
            given = source if graph.labels is None else with_quotes(source, graph.labels, weights=True)
            sets = [_pairs(given, graph)]
        except ValueError as error:
            raise UsageError(f"--source: {error}") from None
    else:
        assert file is not None
        lines, sets = _read(file, read_once(file, "sources", inputs), graph)
    vertices = _starts(sets, graph, file, lines if file is not None else [])
    place, queries = 0, []
    for one in sets:
        weights = in_whole_numbers([weight for _, weight in one])
        queries.append(Sources.weighted(vertices[place : place + len(one)], weights))
        place += len(one)
    return Sources.joined(queries)


def check_sources(path: Path, content: bytes, graph: "Graph") -> None:
    """Check that a file of queries, with this content, names vertices of a graph; errors as :func:`read_sources`."""
    lines, sets = _read(path, content, graph)
    _starts(sets, graph, path, lines)


def _starts(
    sets: list[list[tuple[Any, Fraction]]], graph: "Graph", file: Path | None, lines: Sequence[int]
) -> list[int]:
    """Return the internal ids of the sources of queries; errors name the line of a file."""
    ids = [vertex for one in sets for vertex, _ in one]
    try:
        if file is None:
            return graph.internal(ids).tolist()
        places = [line for line, one in zip(lines, sets, strict=True) for _ in one]
        return vertices_of(file, places, ids, graph).tolist()
    except InputError as error:
        # Add advice about names with commas.
        raise (error if graph.labels is None else InputError(f"{error}, {IN_QUOTES}")) from None


def _read(path: Path, content: bytes, graph: "Graph") -> tuple[list[int], list[list[tuple[Any, Fraction]]]]:
    """Return the line numbers of the queries in a file, and the queries, one per line or row.

    ``#`` starts a comment.
    """
    lines, sets = [], []
    read = text_lines(path, as_text(path, content), labels=graph.labels is not None)
    if (rows := _in_table(path, read, graph)) is not None:
        return [line for line, _ in rows], [[(one, Fraction(1))] for _, one in rows]
    for number, text in read:
        try:
            sets.append(_pairs(text, graph))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        lines.append(number)
    return lines, sets


def _pairs(text: str, graph: "Graph") -> list[tuple[Any, Fraction]]:
    """Return (vertex, weight) of words ``ID`` or ``ID:WEIGHT`` between blanks or commas; raises ValueError."""
    pairs = _labelled_pairs(text, graph.labels) if graph.labels is not None else _numbered_pairs(text)
    if not pairs:
        raise ValueError("no vertex is named")
    if not any(weight for _, weight in pairs):
        raise ValueError("every weight is 0; give a vertex a weight above 0")
    return pairs


def _numbered_pairs(text: str) -> list[tuple[Any, Fraction]]:
    pairs: list[tuple[Any, Fraction]] = []
    for word in words_of(text):
        name, colon, given = word.partition(":")
        weight = source_weight(given if colon else "1")
        if not is_vertex_id(name) or weight is None:
            raise ValueError(f"{word[:40]!r} is not ID or ID:WEIGHT (ids 0 to 2^63 - 1, weights {SOURCE_WEIGHTS})")
        pairs.append((int(name), weight))
    return pairs


def _labelled_pairs(text: str, labels: "Labels") -> list[tuple[Any, Fraction]]:
    """Return the pairs of names.

    Without quotes, a text that is a name as a whole has no weight, even if it has colons.
    """
    pairs: list[tuple[Any, Fraction]] = []
    at, more = 0, ","
    while more:
        found = _NAME_AND_WEIGHT.match(text, at)
        if found is None:
            raise ValueError("text goes on behind a closing quote, or a quote is not closed")
        at, more = found.end(), found[4]
        name, given = (found[1] or "").replace('""', '"').strip(), (found[2] or "1").strip()
        if found[1] is None:
            word = found[3].strip()
            name, colon, given = word.rpartition(":")
            if not colon or labels.find([word])[0] >= 0:
                name, given = word, "1"
        weight = source_weight(given)
        if weight is None:
            shown = found[0].strip(" \t,")[:40]
            raise ValueError(f"{shown!r} is neither a name nor NAME:WEIGHT (weights {SOURCE_WEIGHTS})")
        pairs.append((name, weight))
    return pairs
