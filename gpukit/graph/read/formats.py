"""File formats: recognised by name, first bytes and shape, and passed to their readers."""

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
from gpukit.graph.memory import check_building
from gpukit.graph.read import listings, networks, tables
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, edges_of_matrix, in_one_line
from gpukit.graph.read.pajek import read_pajek
from gpukit.graph.read.source import Source
from gpukit.graph.read.text import read_text
from gpukit.graph.read.workbook import read_workbook
from gpukit.wording import spelled


@dataclass(frozen=True)
class Format:
    """A format: its title, the suffixes of its files, and a pattern for the start of their content."""

    title: str
    suffixes: tuple[str, ...] = ()
    start: str = "(?!)"

    def fits(self, head: bytes) -> bool:
        """Return whether the start of a content, without leading blanks, has this format."""
        return re.match(self.start.encode("latin-1"), head, re.IGNORECASE) is not None


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_REFUSED = [Format(one["what"], start=one["start"]) for one in _TABLE.pop("refused")]
FORMATS = {name: Format(**one | {"suffixes": tuple(one.get("suffixes", ()))}) for name, one in _TABLE.items()}
"""The supported formats, by the names of ``--format``."""


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
        The file, which may be a pipe; a folder of Parquet or Arrow files; ``-`` for standard input.
    weights : float
        The highest weight: 1 for probabilities, :data:`gpukit.graph.lines.COUNTS` for weights that are scaled later, 0
        to read none. Weights are in the third column by default.
    progress : callable, optional
        ``progress(bytes read, size)`` of the stored file, not called for a pipe; for tables in rows.
    options : ReadOptions, optional
        The user's options for the file; by default everything is detected.
    limit : int, optional
        Number of blocks of a text to read from its start; the result then has no digest. All by default.

    Returns
    -------
    EdgeList

    Raises
    ------
    InputError
        If the file cannot be read, is of none of :data:`FORMATS`, or is no graph; the message names a wrong line.
    UsageError
        If the user's options do not fit the file.
    """
    options = options or ReadOptions()
    if options.format is not None and options.format not in FORMATS:
        raise UsageError(f"{spelled('format')} is {options.format[:40]!r}; {', '.join(FORMATS)} are allowed")
    if Path(path).is_dir() and tables.form_of(Path(path)) is not None:
        return _read_folder(Path(path), options, weights).renamed(str(path), options)
    with ExitStack() as stack:
        source = Source(path, stack, options.encoding)
        kind, name = options.format or _format_of(source, options), source.name
        if options.sheet is not None and kind != "excel":
            raise UsageError(f"{name} is {FORMATS[kind].title}, which has no sheets; leave {spelled('sheet')} out")
        if limit is not None and kind not in ("edges", "konect"):
            raise UsageError(
                f"{name} is {FORMATS[kind].title}, and {spelled('estimate', True)} reads the start of a text; "
                "leave it out"
            )
        if kind in _TEXTS:
            blocks = itertools.islice(source.blocks(progress), limit)
            listed = _TEXTS[kind](name, blocks, kind, options, weights, limit is None)
        else:
            listed = _READERS[kind](source, kind, options, weights, progress)
        listed = listed.renamed(name, options)
        if limit is not None:
            return replace(_not_empty(name, listed), share=source.share())
        return replace(_not_empty(name, listed), digest=source.digest())


def _not_empty(name: str, listed: EdgeList) -> EdgeList:
    if not len(listed.u):
        raise InputError(f"{name} has no edges; a graph needs at least one")
    return listed


def _format_of(source: Source, options: ReadOptions) -> str:
    """Return the format of a file; raises InputError if it is not supported or not recognised."""
    name, head = source.name, source.head
    plain = re.sub(r"\.(gz|bz2|xz|zst)$", "", name.lower())
    if not head:
        raise InputError(f"{name} is empty; an edge list has one 'u v' line an edge")
    if head.startswith(b"PK\x03\x04"):
        packed = (kind for kind in ("npz", "excel") if plain.endswith(FORMATS[kind].suffixes))
        if (kind := next(packed, None)) is not None:
            return kind
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    found = next((kind for kind, form in FORMATS.items() if form.fits(start)), None)
    if found is not None:
        return found
    if re.search(r"\.(xls|ods)$", plain):
        raise InputError(f"{name} is a spreadsheet; save the sheet of edges as .xlsx or CSV")
    refused = next((form for form in _REFUSED if form.fits(start)), None)
    if refused is not None:
        raise InputError(f"{name} is {refused.title}")
    named = next((kind for kind, form in FORMATS.items() if plain.endswith(form.suffixes)), "edges")
    of_numbers = start[:1].isdigit() and named not in ("sif", "adjlist", "matrixmarket")
    return named if not of_numbers or (named == "metis" and not options.of_text) else "edges"


def _read_network(source: Source, kind: str, options: ReadOptions, weights: float, *_: Any) -> EdgeList:
    """Read a file that lists vertices and edges."""
    title = FORMATS[kind].title
    options.refuse_text(source.name, title)
    with in_one_line(source.name, title):
        network = _NETWORKS[kind](source.name, source)
        return network.listed(source.name, title.removeprefix("node-link "), options, weights)


_NETWORKS = networks.READERS | {"pajek": read_pajek}


def _read_matrix(source: Source, kind: str, options: ReadOptions, weights: float, *_: Any) -> EdgeList:
    """Read a sparse matrix: entry (i, j) is the edge i → j; vertices are 0 … n-1, in Matrix Market 1 … n."""
    name = source.name
    options.refuse_text(name, FORMATS[kind].title)
    if options.ids == "text":
        raise UsageError(f"{name} is a matrix, and the vertices of one are numbers; leave {spelled('ids', 'text')} out")
    with in_one_line(name, FORMATS[kind].title):
        if kind == "npz":
            from scipy.sparse import load_npz

            return edges_of_matrix(name, "SciPy", load_npz(io.BytesIO(source.read())), weights)
        from scipy.io import mminfo, mmread

        source.head = re.sub(b"(?i)^%+ *MatrixMarket", b"%%MatrixMarket", source.head)
        n, columns, entries, form, field, symmetry = mminfo(io.BytesIO(source.head))
        if form != "coordinate" or field == "complex" or symmetry not in ("general", "symmetric") or n != columns:
            wanted = "a graph is square, coordinate, real, integer or pattern, general or symmetric"
            raise InputError(f"{name} is {n} by {columns}, {form}, {field}, {symmetry}; {wanted}")
        if weights and field == "pattern":
            raise InputError(f"{name}: a pattern matrix has no weights; use 'real', or another {spelled('weights')}")
        check_building(n, entries, weights > 0)
        listed = edges_of_matrix(name, "Matrix Market", mmread(source), weights)
    keep = listed.u >= listed.v if symmetry == "symmetric" else slice(None)
    u, v, w = listed.u[keep], listed.v[keep], None if listed.w is None else listed.w[keep]
    undirected = True if symmetry == "symmetric" else None
    return replace(listed, u=u, v=v, w=w, n=None, ids=np.arange(1, n + 1), undirected=undirected, said={})


def _read_table(source: Source, kind: str, options: ReadOptions, weights: float, progress: Any) -> EdgeList:
    """Read a table of Parquet or Arrow."""
    title = "Arrow stream" if kind == "stream" else FORMATS[kind].title
    place = source.place
    listed = tables.read_table(source.name, title, place or source.read(), options, weights, progress)
    if place is not None:
        source.check_unchanged(place)  # pyarrow has opened the file itself
    return listed


def _read_workbook(source: Source, kind: str, options: ReadOptions, weights: float, *_: Any) -> EdgeList:
    """Read a sheet of Excel."""
    return read_workbook(source.name, source.read(), options, weights)


def _read_folder(path: Path, options: ReadOptions, weights: float) -> EdgeList:
    """Read a folder of tables; its digest covers the names and digests of its files."""
    digest = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        with file.open("rb") as content:
            digest.update(f"{file.relative_to(path)} {hashlib.file_digest(content, 'sha256').hexdigest()}\n".encode())
    listed = tables.read_table(str(path), "a folder of tables", str(path), options, weights)
    return replace(_not_empty(str(path), listed), digest=digest.hexdigest())


_TEXTS: dict[str, Callable[..., EdgeList]] = {
    "edges": lambda name, blocks, kind, *more: read_text(name, blocks, *more),
    **dict.fromkeys(("adjlist", "sif", "ntriples"), listings.read_pairs),
    "metis": listings.read_metis,
    "dimacs": listings.read_dimacs,
    "konect": listings.read_konect,
    "networkx": listings.read_dictionaries,
}
"""Readers of line-based texts."""

_READERS: dict[str, Callable[..., EdgeList]] = {
    **dict.fromkeys(("matrixmarket", "npz"), _read_matrix),
    **dict.fromkeys(_NETWORKS, _read_network),
    **dict.fromkeys(("parquet", "arrow", "stream"), _read_table),
    "excel": _read_workbook,
}
"""Readers of other files."""
