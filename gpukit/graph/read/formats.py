"""Formats of files: told apart by name, first bytes and shape, and handed to their readers."""

import hashlib
import io
import itertools
import re
import tomllib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import MAX_VERTICES
from gpukit.graph.memory import check_building
from gpukit.graph.read import listings, networks, tables
from gpukit.graph.read.dialect import LOOKED_AT
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, edges_of_matrix, in_one_line
from gpukit.graph.read.pajek import read_pajek
from gpukit.graph.read.source import HEAD_BYTES, Source
from gpukit.graph.read.text import read_text


@dataclass(frozen=True)
class Format:
    """A format: what it is called, the ends of names of its files, and what its content begins with."""

    title: str
    suffixes: tuple[str, ...] = ()
    start: str = "(?!)"

    def fits(self, head: bytes) -> bool:
        """Say whether the start of a content, without blanks before it, is of this format."""
        return re.match(self.start.encode("latin-1"), head, re.IGNORECASE) is not None


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_REFUSED = [Format(one["what"], start=one["start"]) for one in _TABLE.pop("refused")]
FORMATS = {name: Format(**one | {"suffixes": tuple(one.get("suffixes", ()))}) for name, one in _TABLE.items()}
"""The formats that are read, by the names of ``--format``."""


def read_edges(
    path: str | Path,
    weights: float = 0,
    progress: Callable[[int, int], object] | None = None,
    options: ReadOptions | None = None,
    limit: int | None = None,
) -> EdgeList:
    """Read the edges of a file, plain or compressed (recognised by content).

    Parameters
    ----------
    path : str or Path
        The file, which may be a pipe; a folder of Parquet or Arrow files; ``-`` is standard input.
    weights : float
        The highest weight of a column of them, the third if nothing else is said: 1 for probabilities,
        :data:`gpukit.graph.lines.COUNTS` for what is to be scaled; 0: none are read.
    progress : callable, optional
        ``progress(bytes read, size)`` of the file as it is stored, not called for a pipe; of tables in parts.
    options : ReadOptions, optional
        What the user says of the file; nothing by default.
    limit : int, optional
        Blocks of a text in a file to read from its start, which then has no digest; all by default.

    Returns
    -------
    EdgeList

    Raises
    ------
    InputError
        If the file cannot be read, is of none of :data:`FORMATS`, or is no graph; a line at fault is named.
    UsageError
        If what the user says of the file does not fit it.
    """
    options = options or ReadOptions()
    if options.format is not None and options.format not in FORMATS:
        raise UsageError(f"--format is {options.format[:40]!r}; {', '.join(FORMATS)} are allowed")
    if Path(path).is_dir() and any(
        found.suffix in (".parquet", ".arrow", ".feather") for found in Path(path).rglob("*")
    ):
        return _read_folder(Path(path), options, weights)
    with ExitStack() as stack:
        source = Source(path, stack)
        kind = options.format or _format_of(source, options)
        if limit is not None and kind not in ("edges", "konect"):
            raise UsageError(
                f"{source.name} is {FORMATS[kind].title}, and --estimate reads the start of a text; leave it out"
            )
        listed = _READERS.get(kind, _read_text)(source, kind, options, weights, progress, limit)
        if not len(listed.u):
            raise InputError(f"{source.name} has no edges; a graph needs at least one")
        return replace(listed, share=source.share()) if limit is not None else replace(listed, digest=source.digest())


def _format_of(source: Source, options: ReadOptions) -> str:
    """Return the format of a file; raises InputError where it is none that is read, or the shape does not show it."""
    name, head = source.name, source.head
    plain = re.sub(r"\.(gz|bz2|xz|zst)$", "", name.lower())
    if not head:
        raise InputError(f"{name} is empty; an edge list has one 'u v' line an edge")
    if head.startswith(b"PK\x03\x04") and plain.endswith(".npz"):
        return "npz"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    found = next((kind for kind, form in FORMATS.items() if form.fits(start)), None)
    if found is not None:
        return found
    if re.search(r"\.(xls[xm]?|ods)$", plain):
        raise InputError(f"{name} is a spreadsheet; save the sheet of edges as CSV")
    refused = next((form for form in _REFUSED if form.fits(start)), None)
    if refused is not None:
        raise InputError(f"{name} is {refused.title}")
    named = next((kind for kind, form in FORMATS.items() if plain.endswith(form.suffixes)), None)
    if named in ("sif", "adjlist", "matrixmarket") or (named is not None and not head.lstrip()[:1].isdigit()):
        return named
    is_table = options != ReadOptions(ids=options.ids, suspects_first_line=options.suspects_first_line)
    return "edges" if is_table else _shape_of(head, named == "metis")


def _shape_of(head: bytes, is_metis: bool) -> str:
    """Return ``adjlist`` for vertices with their neighbours: lines of several lengths, each begun by another vertex.

    An edge list has such lines only where something is wrong with it. Half of the vertices that begin a line, but for
    the first, are neighbours in another one. ``metis``, which its reader has to confirm, is for lines of numbers behind
    a line of two to four.
    """
    rows = _rows(head)
    firsts, others = [row[0] for row in rows], {word for row in rows for word in row[1:]}
    uneven = len({len(row) for row in rows[len(rows[0]) == 2 if rows else 0 :]}) > 1
    decimal = any(re.fullmatch(r"[-+]?[0-9]*\.[0-9]+", word) for word in others)
    if uneven and not decimal and max(map(len, rows)) > 3 and len(set(firsts)) == len(firsts):
        if 2 * len(others & set(firsts[1:])) >= len(firsts) - 1:
            return "adjlist"
    numbers = all(word.isdigit() for row in rows for word in row) and bool(rows) and 2 <= len(rows[0]) <= 4
    return "metis" if numbers and (uneven or is_metis) else "edges"


def _rows(head: bytes) -> list[list[str]]:
    """Return the words of the first whole lines that are no comments; none where something else stands between them."""
    lines = head.decode("latin-1").replace("\r", "\n").split("\n")
    lines = [line for line in lines[: -1 if len(head) >= HEAD_BYTES else None] if line.strip()]
    lines = [line for line in lines if not line.lstrip().startswith(("#", "%"))][:LOOKED_AT]
    return [] if any(mark in line for line in lines for mark in ',;|"') else [line.split() for line in lines]


def _read_text(
    source: Source, kind: str, options: ReadOptions, weights: float, progress: Any, limit: int | None
) -> EdgeList:
    """Read what is a text of lines."""
    blocks = itertools.islice(source.blocks(progress), limit)
    if kind in ("edges", "konect"):
        read = read_text if kind == "edges" else listings.read_konect
        return read(source.name, blocks, options, weights, limit is None)
    reader = {"dimacs": listings.read_dimacs, "networkx": listings.read_dictionaries}.get(kind)
    if reader is None:
        reader = listings.read_adjacency if kind in ("adjlist", "metis") else listings.read_relations
    return reader(source.name, blocks, kind, options, weights)


def _read_network(source: Source, kind: str, options: ReadOptions, weights: float, *_: Any) -> EdgeList:
    """Read what lists vertices and edges."""
    title = FORMATS[kind].title
    options.refuse_text(source.name, title)
    with in_one_line(source.name, title):
        network = (read_pajek if kind == "pajek" else networks.READERS[kind])(source.name, source.stream)
        return network.listed(source.name, _SAID.get(kind, title), options, weights)


_SAID = {"json": "JSON"}


def _read_matrix(source: Source, kind: str, options: ReadOptions, weights: float, *_: Any) -> EdgeList:
    """Read a sparse matrix: entry (i, j) is the edge i → j; vertices are 0 … n-1, those of Matrix Market 1 … n."""
    name = source.name
    options.refuse_text(name, FORMATS[kind].title)
    if options.ids == "text":
        raise UsageError(f"{name} is a matrix, and the vertices of one are numbers; leave --ids text out")
    with in_one_line(name, FORMATS[kind].title):
        if kind == "npz":
            from scipy.sparse import load_npz

            return edges_of_matrix(name, "SciPy", load_npz(io.BytesIO(source.stream.read())), weights)
        from scipy.io import mminfo, mmread

        header = re.sub(b"^%+ *MatrixMarket", b"%%MatrixMarket", source.head, count=1, flags=re.IGNORECASE)
        n, columns, entries, form, field, symmetry = mminfo(io.BytesIO(header))
        if form != "coordinate" or field == "complex" or symmetry not in ("general", "symmetric") or n != columns:
            wanted = "a graph is square, coordinate, real, integer or pattern, general or symmetric"
            raise InputError(f"{name} is {n} by {columns}, {form}, {field}, {symmetry}; {wanted}")
        if weights and field == "pattern":
            raise InputError(f"{name}: a pattern matrix has no weights; use 'real', or another --weights")
        if n > MAX_VERTICES:
            raise InputError(f"{name} has {n} rows; a graph has at most 2**31 - 1 vertices")
        check_building(n, entries, weights > 0)
        same = source.head.startswith(b"%%MatrixMarket")
        content = source.stream if same else io.BytesIO(header + source.stream.read()[len(source.head) :])
        listed = edges_of_matrix(name, "Matrix Market", mmread(content), weights)
    u, v, w = listed.u, listed.v, listed.w
    if symmetry == "symmetric":
        lower = u >= v
        u, v, w = u[lower], v[lower], None if w is None else w[lower]
    ids, undirected = np.arange(1, n + 1), True if symmetry == "symmetric" else None
    return replace(listed, u=u, v=v, w=w, n=None, ids=ids, undirected=undirected, said={})


def _read_table(source: Source, kind: str, options: ReadOptions, weights: float, progress: Any, limit: Any) -> EdgeList:
    """Read a table of Parquet or Arrow."""
    place = source.place()
    title = {"parquet": "Parquet", "arrow": "Arrow", "stream": "Arrow stream"}[kind]
    listed = tables.read_table(source.name, title, place or source.stream.read(), options, weights, progress)
    if place is not None:
        source.check_unchanged()  # pyarrow has opened it for itself
    return listed


def _read_folder(path: Path, options: ReadOptions, weights: float) -> EdgeList:
    """Read a folder of tables; its digest is that of the names and digests of its files."""
    digest = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        with file.open("rb") as content:
            digest.update(f"{file.relative_to(path)} {hashlib.file_digest(content, 'sha256').hexdigest()}\n".encode())
    listed = tables.read_table(str(path), "a folder of tables", str(path), options, weights)
    if not len(listed.u):
        raise InputError(f"{path} has no edges; a graph needs at least one")
    return replace(listed, digest=digest.hexdigest())


_READERS: dict[str, Callable[..., EdgeList]] = {
    **dict.fromkeys(("matrixmarket", "npz"), _read_matrix),
    **dict.fromkeys(("pajek", "graphml", "gexf", "gml", "json"), _read_network),
    **dict.fromkeys(("parquet", "arrow", "stream"), _read_table),
}
"""What reads a format, where that is no text of lines."""
