"""Special listings: neighbours of vertices, relations between names, and edge lists with informative headers."""

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.lines import shown
from gpukit.graph.read.dialect import check_text
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, edges_of_columns, named_by
from gpukit.graph.read.source import Block
from gpukit.graph.read.text import read_text
from gpukit.wording import spelled

_TERM = r'(<[^>]*>|_:\S+|"(?:[^"\\]|\\.)*"\S*)'
_TRIPLE = re.compile(rf"{_TERM}\s+{_TERM}\s+{_TERM}\s*(?:{_TERM}\s*)?\.\s*(?:#.*)?")
_KONECT = re.compile(rb"%\s*(sym|asym|bip)\b[^\n]*(?:\n%\s*([0-9]+)(?:\s+([0-9]+)\s+([0-9]+))?)?")
_PROBLEMS = ("sp", "edge", "edges", "col", "max", "asn", "tw")
_DIMACS = re.compile(rb"(?m)^[ \t]*(?:c(?:[ \t].*)?|n[ \t].*|p[ \t]+(\w+)[ \t]+([0-9]+)[ \t]+([0-9]+).*)$")
_DICTIONARY = re.compile(rb"(?m)([ \t,]*)(\{[^\n]*\})[ \t]*$")
_NUMBERS = re.compile(r"(?:[0-9]{1,18}(?:[ \t]+|$))*")
_NO_METIS = "each edge is listed at both of its ends"
_TITLES = {"adjlist": "adjacency list", "sif": "SIF", "ntriples": "N-Triples"}


def _lines(name: str, blocks: Iterator[Block]) -> Iterator[tuple[str, str]]:
    """Yield the location of each line, for messages, and the line without surrounding blanks."""
    for first, block in blocks:
        for number, line in enumerate(check_text(name, block, first).removesuffix("\n").split("\n"), first):
            yield f"{name}, line {number}", line.strip()


def read_pairs(
    name: str, blocks: Iterator[Block], kind: str, options: ReadOptions, weights: float, whole: bool = True
) -> EdgeList:
    """Read lines that list pairs of vertices: an adjacency list, SIF or N-Triples; relations are ignored.

    These formats have no weights, and do not say whether edges have a direction.
    """
    options.refuse_text(name, _TITLES[kind])
    if weights:
        raise InputError(f"{name} is {_TITLES[kind]}, which has no weights; choose another {spelled('weights')}")
    ends: list[str] = []
    alone = 0
    for where, line in _lines(name, blocks):
        if not line or (kind != "sif" and line[0] in "#%"):
            continue
        words = line.split("\t") if kind == "sif" and "\t" in line else line.split()
        if kind == "ntriples":
            triple = _TRIPLE.fullmatch(line)
            if triple is None:
                raise InputError(f"{where}: {shown(line)} is no triple 'subject predicate object .'")
            words = [term.strip("<>") for term in (triple[1], triple[3]) if term[0] != '"']
        elif kind == "sif":
            if len(words) == 2:
                raise InputError(f"{where}: {shown(line)} has two fields; SIF has a source, a relation and targets")
            del words[1:2]
        alone += len(words) == 1
        ends += [word.strip() for head in words[1:] for word in (words[0], head)]
    values = named_by(ends, options)
    listed = edges_of_columns(name, (values[::2], values[1::2]), options, 0)
    said = {"format": _TITLES[kind], "ids": "integer" if listed.labels is None else "text"}
    what = "some lines have a single vertex; vertices without an edge are left out"
    what = "triples whose object is a text are no edges" if kind == "ntriples" else what
    return replace(listed, said=said, notes=(f"{alone} {what}",) if alone else ())


def read_metis(
    name: str, blocks: Iterator[Block], kind: str, options: ReadOptions, weights: float, whole: bool = True
) -> EdgeList:
    """Read METIS: ``n m [format [weights]]``, then the neighbours of each vertex.

    Each vertex has a line, which may be empty; each edge is listed at both of its ends.
    """
    options.refuse_text(name, "METIS")
    if weights:
        raise InputError(f"{name}: weights of METIS are not read; choose another {spelled('weights')}")
    rows: list[list[int]] = []
    for where, line in _lines(name, blocks):
        if line.startswith("%") or not (line or rows):
            continue
        if not _NUMBERS.fullmatch(line):
            raise InputError(
                f"{where}: {shown(line)} is no line of METIS, which has only whole numbers; {_NO_METIS}; "
                f"{spelled('format', 'edges')} reads an edge list"
            )
        rows.append([*map(int, line.split())])
    head = rows[0] if rows else []
    n, m, form, count = [*head, *(0, 0, 0, 1)[len(head) :]][:4]
    before, step = form // 100 % 10 + form // 10 % 10 * count, 1 + form % 10
    heads = [row[before::step] for row in rows[1 : n + 1]]
    u = np.repeat(np.arange(1, len(heads) + 1), [len(row) for row in heads])
    v = np.array([*itertools.chain(*heads)], np.int64)
    if len(heads) < n or any(rows[n + 1 :]) or len(v) != 2 * m:
        found = f"{len(rows) - 1} lines with {len(v)} neighbours"
        raise InputError(
            f"{name}: its first line states {n} vertices and {m} edges, and {found} follow; {_NO_METIS}; "
            f"{spelled('format', 'edges')} reads an edge list"
        )
    said = {"format": "METIS", "ids": "integer"}
    listed = EdgeList(u, v, undirected=True, said=said).within(n, name)
    u, v = listed.u, listed.v
    if not np.array_equal(np.sort(u * n + v), np.sort(v * n + u)):
        raise InputError(f"{name}: an edge is listed at only one of its ends; METIS lists it at both")
    return replace(listed, u=u[u < v], v=v[u < v])


def read_dictionaries(
    name: str, blocks: Iterator[Block], kind: str, options: ReadOptions, weights: float, whole: bool = True
) -> EdgeList:
    """Read an edge list of NetworkX, ``u v {'weight': 0.5}``: the data of an edge are a Python dictionary."""

    def plain() -> Iterator[Block]:
        for at, text in blocks:

            def weight_of(found: re.Match[bytes], at: int = at) -> bytes:
                try:
                    return found[1] + str(ast.literal_eval(found[2].decode())["weight"]).encode() if weights else b""
                except (ValueError, SyntaxError, KeyError, TypeError):
                    line, data = at + found.string.count(b"\n", 0, found.start()), shown(found[2].decode("latin-1"))
                    raise InputError(
                        f"{name}, line {line}: {data} has no weight; {spelled('weights', 'file')} needs all"
                    ) from None

            yield at, _DICTIONARY.sub(weight_of, text)

    return read_text(name, plain(), options, weights)


def read_dimacs(
    name: str, blocks: Iterator[Block], kind: str, options: ReadOptions, weights: float, whole: bool = True
) -> EdgeList:
    """Read DIMACS: ``p KIND n m``, then arcs ``a u v w`` or edges ``e u v``; the problem itself is ignored."""
    options.refuse_text(name, "DIMACS")
    found: list[tuple[bytes, bytes, bytes]] = []
    letters: set[bytes] = set()

    def edges() -> Iterator[Block]:
        for at, text in blocks:
            found.extend(problem for problem in _DIMACS.findall(text) if problem[0])
            text = _DIMACS.sub(b"", text)
            letters.update(re.findall(rb"(?m)^[ \t]*([^\s0-9])", text))
            yield at, re.sub(rb"(?m)^[ \t]*[ae][ \t]+", b"", text)

    plain = replace(options, format="edges", header=False, ids="integer", columns="1,2,3" if weights else "1,2")
    listed = read_text(name, edges(), plain, weights)
    if len(found) != 1 or len(letters) > 1:
        wrong = f"{len(found)} lines 'p' and edges of {len(letters)} letters"
        raise InputError(f"{name} has {wrong}; DIMACS has one such line and one letter")
    problem, n, m = found[0]
    if problem.decode() not in _PROBLEMS:
        what = shown(problem.decode())
        raise InputError(f"{name} is a DIMACS problem {what}, and no graph; {', '.join(_PROBLEMS)} are read")
    undirected = letters != {b"a"}
    listed.check_stated(name, int(m) * (1 + (undirected and len(listed.u) == 2 * int(m))), "line 'p'")
    said = {"format": "DIMACS", "ids": "integer"}
    return listed.within(int(n), name, undirected=undirected, said=said, dialect=None)


def read_konect(
    name: str, blocks: Iterator[Block], kind: str, options: ReadOptions, weights: float, whole: bool = True
) -> EdgeList:
    """Read KONECT: its first line says whether edges have a direction, or join two modes with separate numbering."""
    first = next(blocks)
    head = _KONECT.match(first[1])
    if head is None:
        raise InputError(f"{name} does not begin with '% sym', '% asym' or '% bip', as KONECT does")
    listed = read_text(name, itertools.chain([first], blocks), options, weights, whole)
    if whole and head[2]:
        listed.check_stated(name, int(head[2]), "its second line")
    if head[1] != b"bip":
        return replace(listed, undirected=head[1] == b"sym")
    if listed.labels is not None:
        raise InputError(
            f"{name} names the vertices of two modes; KONECT numbers them, {spelled('format', 'edges')} reads names"
        )
    left = int(head[3] or listed.u.max())
    if listed.u.max() > left:
        raise InputError(f"{name}: vertex id {listed.u.max()} is outside [1, {left}] of the first mode")
    note = f"two modes: the second one has the ids from {left + 1} on, {left} more than in the file"
    v = listed.v.astype(np.int64) + left
    return replace(listed, v=v, u=listed.u.astype(np.int64), undirected=True, notes=(*listed.notes, note))
