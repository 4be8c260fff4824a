"""Listings of their own kind: neighbours of vertices, relations between names, and edge lists whose head says more."""

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.lines import shown
from gpukit.graph.read.dialect import check_text
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, edges_of_columns
from gpukit.graph.read.source import Block
from gpukit.graph.read.text import read_text

_TERM = r'(<[^>]*>|_:\S+|"(?:[^"\\]|\\.)*"\S*)'
_TRIPLE = re.compile(rf"\s*{_TERM}\s+{_TERM}\s+{_TERM}\s*(?:{_TERM}\s*)?\.\s*(?:#.*)?")
_KONECT = re.compile(r"%\s*(sym|asym|bip)\b[^\n]*(?:\n%\s*([0-9]+)(?:\s+([0-9]+)\s+([0-9]+))?)?")
_PROBLEMS = ("sp", "edge", "edges", "col", "max", "asn", "tw")
_DIMACS = re.compile(rb"(?m)^[ \t]*(?:c(?:[ \t].*)?|n[ \t].*|p[ \t]+(\w+)[ \t]+([0-9]+)[ \t]+([0-9]+).*)$")


def _lines(name: str, blocks: Iterator[Block]) -> Iterator[tuple[str, str]]:
    """Yield where each line stands, for messages, and the line without blanks around it."""
    for first, block in blocks:
        for number, line in enumerate(check_text(name, block, first).removesuffix("\n").split("\n"), first):
            yield f"{name}, line {number}", line.strip()


def _whole(where: str, words: list[str]) -> list[int]:
    """Return words as whole numbers; raises InputError where one is none."""
    odd = next((word for word in words if not (word.isascii() and word.isdigit()) or len(word) > 18), None)
    if odd is not None:
        raise InputError(f"{where}: {shown(odd)} is not a whole number")
    return [int(word) for word in words]


def _edges_of_pairs(
    name: str, pairs: list[tuple[str, str]], kind: str, options: ReadOptions, weights: float, notes: dict[str, int]
) -> EdgeList:
    """Return pairs of words as edges: between whole numbers if all of them are, else names; notes count what is not."""
    if weights:
        raise InputError(f"{name} is {kind}, which has no weights; choose another --weights")
    whole = options.ids != "text" and all(re.fullmatch("0|[1-9][0-9]{0,17}", word) for pair in pairs for word in pair)
    ends = [np.array([pair[side] for pair in pairs], np.int64 if whole else object) for side in (0, 1)]
    listed = edges_of_columns(name, ends, options, 0)
    said = {"format": kind, "ids": "integer" if listed.labels is None else "text"}
    return replace(listed, said=said, notes=tuple(f"{count} {what}" for what, count in notes.items() if count))


def read_adjacency(name: str, blocks: Iterator[Block], kind: str, options: ReadOptions, weights: float) -> EdgeList:
    """Read an adjacency list, a vertex and its neighbours a line, or METIS where the first line and all others fit it.

    Neither has weights that are read. An adjacency list does not say whether its edges have a direction.
    """
    if kind == "adjlist" or options.format == "metis":
        options.refuse_text(name, "an adjacency list")
    held = list(blocks)
    rows = [(where, line.split()) for where, line in _lines(name, iter(held)) if not line.startswith(("#", "%"))]
    if not any(words for _, words in rows):
        raise InputError(f"{name} has no edges, only comments or blank lines")
    if options.format != "adjlist":
        metis = _metis(rows, options.format == "metis", weights)
        if metis is not None or kind == "metis":  # a name that ends in .graph says little
            return metis or read_text(name, iter(held), options, weights)
    pairs = [(words[0], word) for _, words in rows for word in words[1:]]
    lone = {words[0] for _, words in rows if len(words) == 1} - {word for pair in pairs for word in pair}
    notes = {"vertices without a neighbour are left out": len(lone)}
    return _edges_of_pairs(name, pairs, "adjacency list", options, weights, notes)


def _metis(rows: list[tuple[str, list[str]]], is_sure: bool, weights: float) -> EdgeList | None:
    """Return the edges of METIS: ``n m [format [weights]]``, then the neighbours of each vertex; None of another text.

    A vertex stands in a line of its own, which may be empty, and each edge at both of its ends.
    """
    start = next((place for place, (_, words) in enumerate(rows) if words), 0)
    (where, head), body = rows[start], rows[start + 1 :]
    fits = 2 <= len(head) <= 4 and all(word.isascii() and word.isdigit() and len(word) < 10 for word in head)
    n, m = (int(head[0]), int(head[1])) if fits else (0, 0)
    while len(body) > n and not body[-1][1]:
        body.pop()
    form = (head[2] if len(head) > 2 else "0").zfill(3)[-3:] if fits else ""
    before = form.startswith("1") + (form[1:2] == "1") * int(head[3] if len(head) > 3 else 1) if fits else 0
    step = 1 + form.endswith("1")
    heads = [words[before::step] for _, words in body]
    if not fits or len(body) != n or sum(map(len, heads)) != 2 * m:
        if not is_sure:
            return None
        found = f"{len(body)} lines with {sum(map(len, heads))} neighbours"
        advice = "METIS states the numbers of vertices and edges, and lists each edge at both ends"
        raise InputError(f"{where}: {shown(' '.join(head))} does not fit {found}; {advice}")
    v = np.array([one for (at, _), row in zip(body, heads, strict=True) for one in _whole(at, row)], np.int64)
    u = np.repeat(np.arange(1, n + 1), [len(row) for row in heads])
    if len(v) and not (1 <= v.min() and v.max() <= n and np.array_equal(np.sort(u * n + v), np.sort(v * n + u))):
        raise InputError(f"{where}: a neighbour is outside [1, {n}], or an edge stands at one of its ends alone")
    if weights:
        raise InputError(f"{where}: weights of METIS are not read; choose another --weights")
    said = {"format": "METIS", "ids": "integer"}
    return EdgeList(u[u < v] - 1, v[u < v] - 1, ids=np.arange(1, n + 1), undirected=True, said=said)


def read_relations(name: str, blocks: Iterator[Block], kind: str, options: ReadOptions, weights: float) -> EdgeList:
    """Read SIF, ``source relation target …`` between tabs, or else blanks, or N-Triples; relations are left out."""
    options.refuse_text(name, "a list of relations")
    pairs: list[tuple[str, str]] = []
    literals = alone = 0
    for where, line in _lines(name, blocks):
        if kind == "ntriples" and line and not line.startswith("#"):
            triple = _TRIPLE.fullmatch(line)
            if triple is None:
                raise InputError(f"{where}: {shown(line)} is no triple 'subject predicate object .'")
            is_literal = triple[3].startswith('"')
            literals += is_literal
            pairs += [] if is_literal else [(triple[1].strip("<>"), triple[3].strip("<>"))]
        elif kind == "sif" and line:
            words = [word.strip() for word in line.split("\t")] if "\t" in line else line.split()
            if len(words) == 2:
                raise InputError(f"{where}: {shown(line)} has two fields; SIF has a source, a relation and targets")
            alone += len(words) == 1
            pairs += [(words[0], word) for word in words[2:]]
    notes = {
        "triples have a text as object, which is no edge": literals,
        "vertices stand alone in a line; those without an edge are left out": alone,
    }
    title = "N-Triples" if kind == "ntriples" else "SIF"
    return _edges_of_pairs(name, pairs, title, options, weights, notes)


def read_dictionaries(name: str, blocks: Iterator[Block], kind: str, options: ReadOptions, weights: float) -> EdgeList:
    """Read an edge list of NetworkX, ``u v {'weight': 0.5}``: the data of an edge are a dictionary of Python."""
    if not weights:
        return read_text(
            name, ((at, re.sub(rb"(?m)[ \t,]*\{[^\n]*\}[ \t]*$", b"", text)) for at, text in blocks), options, 0
        )

    def with_weights() -> Iterator[Block]:
        for at, text in blocks:
            lines = [_weighted(f"{name}, line {number}", line) for number, line in enumerate(text.split(b"\n"), at)]
            yield at, b"\n".join(lines)

    return read_text(name, with_weights(), options, weights)


def _weighted(where: str, line: bytes) -> bytes:
    """Return a line with the weight in the place of its dictionary."""
    start = line.find(b"{")
    if start < 0:
        return line
    try:
        weight = ast.literal_eval(line[start:].decode().strip())["weight"]
    except (ValueError, SyntaxError, KeyError, TypeError):
        raise InputError(
            f"{where}: {shown(line[start:].decode('latin-1'))} has no weight; --weights file needs all"
        ) from None
    return line[:start] + str(weight).encode()


def read_dimacs(name: str, blocks: Iterator[Block], _: str, options: ReadOptions, weights: float) -> EdgeList:
    """Read DIMACS: ``p KIND n m``, then arcs ``a u v w`` or edges ``e u v``; what the problem asks is left out."""
    options.refuse_text(name, "DIMACS")
    found: list[tuple[str, int, int]] = []
    letters: set[bytes] = set()

    def edges() -> Iterator[Block]:
        for at, text in blocks:
            for problem in _DIMACS.finditer(text):
                found.extend([(problem[1].decode(), int(problem[2]), int(problem[3]))] if problem[1] else [])
            text = _DIMACS.sub(b"", text)
            letters.update(re.findall(rb"(?m)^[ \t]*([^\s0-9])", text))
            yield at, re.sub(rb"(?m)^[ \t]*[ae][ \t]+", b"", text)

    listed = read_text(
        name,
        edges(),
        replace(options, format="edges", header=False, ids="integer", columns="1,2,3" if weights else "1,2"),
        weights,
    )
    if len(found) != 1 or len(letters) > 1:
        wrong = f"{len(found)} lines 'p' and edges of {len(letters)} letters"
        raise InputError(f"{name} has {wrong}; DIMACS has one such line and one letter")
    kind, n, m = found[0]
    if kind not in _PROBLEMS:
        raise InputError(f"{name} is a problem {shown(kind)} of DIMACS, and no graph; {', '.join(_PROBLEMS)} are read")
    undirected = letters != {b"a"}
    if len(listed.u) != m and not (undirected and len(listed.u) == 2 * m):
        raise InputError(f"{name} has {len(listed.u):,} edges, and line 'p' states {m:,}; fetch it again")
    return _numbered_from_one(name, listed, n, "DIMACS", undirected)


def _numbered_from_one(name: str, listed: EdgeList, n: int, kind: str, undirected: bool | None) -> EdgeList:
    """Return edges between vertices 1 … n; raises InputError where one is outside."""
    low, high = min(listed.u.min(), listed.v.min()), max(listed.u.max(), listed.v.max())
    if not 1 <= low <= high <= n:
        raise InputError(f"{name}: vertex id {low if low < 1 else high} is outside [1, {n}]")
    said = {"format": kind, "ids": "integer"}
    return replace(
        listed, u=listed.u - 1, v=listed.v - 1, ids=np.arange(1, n + 1), undirected=undirected, said=said, dialect=None
    )


def read_konect(
    name: str, blocks: Iterator[Block], options: ReadOptions, weights: float, whole: bool = True
) -> EdgeList:
    """Read KONECT: the first line says whether edges have a direction, or join two modes with numbers of their own."""
    first = next(blocks)
    head = _KONECT.match(first[1].decode("latin-1"))
    if head is None:
        raise InputError(f"{name} does not begin with '% sym', '% asym' or '% bip', as KONECT does")
    listed = read_text(name, itertools.chain([first], blocks), options, weights, whole)
    if whole and head[2] and int(head[2]) != len(listed.u):
        raise InputError(
            f"{name} has {len(listed.u):,} edges, and its second line states {int(head[2]):,}; fetch it again"
        )
    if head[1] != "bip":
        return replace(listed, undirected=head[1] == "sym")
    if listed.labels is not None:
        raise InputError(f"{name} joins two modes by names; KONECT numbers them, --format edges reads names")
    left = int(head[3]) if head[3] else int(listed.u.max())
    if listed.u.max() > left:
        raise InputError(f"{name}: vertex id {listed.u.max()} is outside [1, {left}] of the first mode")
    note = f"two modes: the second one has the ids from {left + 1} on, {left} more than in the file"
    v = listed.v.astype(np.int64) + left
    return replace(listed, v=v, u=listed.u.astype(np.int64), undirected=True, notes=(*listed.notes, note))
