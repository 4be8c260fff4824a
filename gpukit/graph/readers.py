"""Edge lists in text, compressed or not, and Matrix Market files; other formats are for :mod:`.foreign`."""

import bz2
import gzip
import hashlib
import importlib
import io
import itertools
import lzma
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpukit.errors import InputError, UsageError
from gpukit.files import missing, state_of
from gpukit.graph.columns import read_columns
from gpukit.graph.csr import MAX_VERTICES
from gpukit.graph.delimited import Delimited
from gpukit.graph.dialect import LOOKED_AT, Asked, Dialect, look, text_lines
from gpukit.graph.foreign import TABLES, Found, kind_of, read_foreign
from gpukit.graph.labels import Labels
from gpukit.graph.memory import check_building
from gpukit.graph.parsing import Format, parse_all, shown

BLOCK_BYTES = 1 << 20
"""What is read at a time: a block, its edges and what is next stay in a core's cache."""

LONGEST_LINE = 1 << 20

_REFUSED = {b"PK\x03\x04": "a zip archive", b"\x89HDF": "an HDF5 file"}
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_DAMAGED = (OSError, zlib.error, lzma.LZMAError)
"""What the libraries raise where packed data are wrong; an error of the system has a number."""


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges as they were listed.

    Attributes
    ----------
    u, v : int32 or int64 arrays, shape (lines,)
        Tail and head of each edge: ids of the file, or positions in ``ids`` where that is given. 32 bits if all fit.
    w : float64 array, shape (lines,), or None
        Third column, in [0, 1]; None unless asked for.
    columns : int
        Fields of the first edge.
    labels : Labels or None
        Names of the vertices where ids are text; ``u`` and ``v`` then hold vertices.
    dialect : Dialect or None
        What was understood of a text; None of other formats.
    said : dict
        What was understood, for people and programs; nothing of Matrix Market.
    comments : int
        Lines of a text with names that were left out as comments.
    ids : int64 array or None
        Vertex ids that the file declares, with or without edges (Matrix Market: 1 … n).
    n : int or None
        Number of vertices, where the file says that they are 0 … n-1.
    undirected : bool
        Whether the file says that each edge stands for both directions (Matrix Market ``symmetric``).
    digest : str or None
        SHA-256 of the file as it is stored, of the very bytes that the edges came from; None for a pipe.
    share : float
        The part of the file that was read, by its bytes.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None
    columns: int = 2
    labels: Labels | None = None
    dialect: Dialect | None = None
    comments: int = 0
    ids: np.ndarray | None = None
    n: int | None = None
    undirected: bool = False
    digest: str | None = None
    said: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0


class _Digested(io.FileIO):
    """A file that digests what is read of it: another process may replace it at any time."""

    def __init__(self, path: str | Path) -> None:
        self._is_input = str(path) == "-"
        super().__init__(0 if self._is_input else path, closefd=not self._is_input)
        self.sha256 = hashlib.sha256()
        self._state = state_of(self.fileno())

    def readinto(self, buffer: Any) -> int | None:
        """Read as any file does, by which :class:`io.BufferedReader` gets all it gets."""
        count = super().readinto(buffer)
        if count:
            self.sha256.update(memoryview(buffer)[:count])
        return count

    def place(self) -> str | None:
        """Return the path of the file, which others may open; None where it is none but a pipe, or standard input."""
        regular = not self._is_input and stat.S_ISREG(os.fstat(self.fileno()).st_mode)
        return os.fspath(self.name) if regular else None

    def is_there(self) -> bool:
        """Return whether this file is still at its place, and as it was when it was opened."""
        place = self.place()
        try:
            return place is not None and state_of(place) == self._state
        except OSError:
            return False

    def digest(self) -> str | None:
        """Return the digest of the file, with what was not read for the edges; None where it has no :meth:`place`.

        Of standard input nobody knows whether it was read from the start of a file.
        """
        if self.place() is None:
            return None
        rest = bytearray(1 << 16)
        while self.readinto(rest):
            pass
        return self.sha256.hexdigest()


def read_edges(
    path: str | Path,
    weights: float = 0,
    progress: Callable[[int, int], object] | None = None,
    asked: Asked | None = None,
    limit: int | None = None,
) -> EdgeList:
    """Read an edge list, plain or compressed (recognised by content): text or Matrix Market.

    A line is ``u v [w [...]]`` with whitespace or commas between fields; blank lines and lines that start with ``#`` or
    ``%`` are skipped. Fields after the ones asked for are ignored. Where the first line says otherwise, or ``asked``
    does, the text may have a header, another separator, quotes as in CSV, and names in place of ids
    (:mod:`gpukit.graph.dialect`); then lines have as many fields as the first.

    Parameters
    ----------
    path : str or Path
        The file; it may be a pipe, and ``-`` is standard input.
    weights : float
        The highest weight of a column of them, the third if nothing else is said: 1 for probabilities,
        :data:`gpukit.graph.parsing.COUNTS` for what is to be scaled; 0: none are read.
    progress : callable, optional
        ``progress(bytes read, size)`` of the file as it is stored, not called for a pipe; of tables in parts.
    asked : Asked, optional
        What is said of a text; nothing by default.
    limit : int, optional
        Blocks of a text in a file to read from its start, which then has no digest; all by default.

    Returns
    -------
    EdgeList

    Raises
    ------
    InputError
        If the file cannot be read, is not an edge list, or holds an id outside [0, 2**63 - 1] or a weight outside
        [0, weights]; the line is named.
    UsageError
        If what is said of the text does not fit it.
    """
    name, asked = "standard input" if str(path) == "-" else str(path), asked or Asked()
    with ExitStack() as stack:
        try:
            file = _Digested(path)
            raw: Any = stack.enter_context(io.BufferedReader(file))
            kind, stream = _decompressed(name, raw, stack)
        except OSError as error:
            raise missing(name, f": {error.strerror or error}; give a readable edge list") from None
        foreign = kind_of(name, stream, bool(kind))
        if foreign is not None:
            _need_all(name, foreign, limit)
            if foreign not in TABLES.values():
                return _listed(name, read_foreign(name, foreign, stream, asked, weights), file.digest())
            place = file.place() if stream is raw else None
            found = read_columns(name, foreign, place or stream.read(), asked, weights, progress)
            listed = _listed(name, found, file.digest())
            if place is not None and not file.is_there():  # pyarrow has opened it for itself
                raise InputError(f"{name} was replaced or written to while it was read; try again")
            return listed
        blocks: Iterator[tuple[int, bytes]] = itertools.islice(_numbered(_blocks(name, kind, stream)), limit)
        if progress is not None:
            blocks = _watched(blocks, raw, progress)
        first = next(blocks, None)
        if first is None:
            raise InputError(f"{name} is empty; an edge list has one 'u v' line an edge")
        if first[1].startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{name} is text in UTF-16; convert the file (`iconv -f UTF-16 -t UTF-8`)")
        if first[1].startswith(b"%%MatrixMarket"):
            _need_all(name, "Matrix Market", limit)
            if asked != Asked():
                raise UsageError(f"{name} is a Matrix Market file, which says how to read it; leave the options out")
            return replace(_read_matrix_market(name, first[1], blocks, weights), digest=file.digest())
        if re.sub(r"\.(gz|bz2|xz|zst)$", "", name).endswith(".mtx"):
            raise InputError(f"{name}, line 1: no '%%MatrixMarket' header; add it, or name the file .txt")
        listed = _read_text(Format(name, weights), first, blocks, asked)
        if limit is not None:
            return replace(listed, share=raw.tell() / os.fstat(raw.fileno()).st_size)
        digest = file.digest()
    if not len(listed.u):
        raise InputError(f"{name} has no edges, only comments or blank lines; it needs one 'u v' line an edge")
    return replace(listed, digest=digest)


def _need_all(name: str, kind: str, limit: int | None) -> None:
    """Refuse to read only the start of what is no text; raises UsageError."""
    if limit is not None:
        raise UsageError(f"{name} is a {kind} file, and --estimate reads the start of a text; leave it out")


def _listed(name: str, found: Found, digest: str | None) -> EdgeList:
    """Return what another library has read as an edge list."""
    if not len(found.u):
        raise InputError(f"{name} has no edges; a graph needs at least one")
    return EdgeList(
        found.u, found.v, found.w, labels=found.labels, ids=found.ids, n=found.n, undirected=found.undirected,
        digest=digest, said=found.said,
    )  # fmt: skip


def _read_text(form: Format, first: tuple[int, bytes], blocks: Iterator[tuple[int, bytes]], asked: Asked) -> EdgeList:
    """Read the edges of a text, plain or of another dialect."""
    line, text = first
    lines = list(itertools.islice(text_lines(text, line), LOOKED_AT))
    while len(lines) < LOOKED_AT and (more := next(blocks, None)) is not None:
        text += more[1]
        lines += itertools.islice(text_lines(more[1], more[0]), LOOKED_AT - len(lines))
    first = line, text
    dialect = look(form.name, lines, asked, form.weights) if lines else None
    if dialect is None or dialect.plain:
        edges, columns = parse_all(form, first, blocks)
        return EdgeList(*edges, columns, dialect=dialect, said=dialect.record() if dialect else {})
    reader = Delimited(form, dialect)
    u, v, w = reader.edges(first, blocks)
    labels = None
    if reader.names is not None:
        labels, vertices = reader.names.ordered()
        u, v = vertices[u], vertices[v]
    return EdgeList(u, v, w, dialect.width, labels, dialect, reader.comments, said=dialect.record())


def _decompressed(name: str, raw: io.BufferedReader, stack: ExitStack) -> tuple[str, io.BufferedIOBase]:
    """Return how a file is packed, and the stream of what is in it."""
    head = raw.peek(8)[:8]
    for magic, refused in _REFUSED.items():
        if head.startswith(magic) and not name.lower().endswith(".npz"):
            if re.search(r"\.(xls[xm]|ods)$", name.lower()):
                raise InputError(f"{name} is a spreadsheet; save the sheet of edges as CSV")
            raise InputError(
                f"{name} is {refused}; edge lists are read as text, plain or packed by gzip, bzip2, xz, zstd"
            )
    kind = next((kind for magic, kind in _PACKED.items() if head.startswith(magic)), "")
    if not kind:
        return kind, raw
    opened: Any = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}.get(kind) or _open_zstd(name)
    return kind, stack.enter_context(opened(raw))


def _open_zstd(name: str) -> Any:
    """Return what opens zstd: Python's own from 3.14 on, or the same as a package."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(module).open
        except ImportError:
            continue
    raise InputError(f"{name} is zstd; install the package backports.zstd, or unpack the file (`unzstd`)")


def _blocks(name: str, kind: str, stream: io.BufferedIOBase) -> Iterator[bytes]:
    """Yield the text in blocks of whole lines, each ended by a line feed."""
    rest = b""
    while True:
        try:
            data = _read(stream)
        except EOFError:
            raise InputError(f"{name} is a truncated {kind} file; fetch or compress it again") from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise InputError(f"{name}: {error.strerror}") from None
            if isinstance(error, _DAMAGED) or type(error).__name__ == "ZstdError":
                raise InputError(f"{name} is a damaged {kind} file ({error}); fetch or compress it again") from None
            raise
        if not data:
            break
        end = data.rfind(b"\n") + 1
        if end:
            yield _clean(b"".join((rest, memoryview(data)[:end])))
            rest = data[end:]
        else:
            rest += data
        if len(rest) > LONGEST_LINE and b"\r" not in rest:
            raise InputError(f"{name} has a line of more than {LONGEST_LINE} bytes; this is not an edge list")
    if rest:
        yield _clean(rest + b"\n")


def _read(stream: io.BufferedIOBase) -> bytes:
    """Return the next block; Python sees to signals between the pieces of a pipe, so that Ctrl-C ends the wait."""
    pieces, room = [], BLOCK_BYTES
    while room and (piece := stream.read1(room)):
        pieces.append(piece)
        room -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _clean(block: bytes) -> bytes:
    """Make every line end a line feed (the other two conventions are CR LF and a bare CR)."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return block


def _watched(
    blocks: Iterator[tuple[int, bytes]], raw: io.BufferedReader, progress: Callable[[int, int], object]
) -> Iterator[tuple[int, bytes]]:
    """Pass the blocks through and tell how far the file has been read; a pipe has no place to tell."""
    size = os.fstat(raw.fileno()).st_size
    for block in blocks:
        if raw.seekable():
            progress(raw.tell(), size)
        yield block


def _numbered(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, block) and take a byte order mark off the first."""
    line = 1
    for block in blocks:
        if line == 1:
            block = block.removeprefix(b"\xef\xbb\xbf")
        yield line, block
        # bytes.count looks for one line feed after another, which takes three times as long
        line += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def _read_matrix_market(name: str, first: bytes, blocks: Iterator[tuple[int, bytes]], weights: float) -> EdgeList:
    """Read a square coordinate matrix: entry (i, j) is the edge i → j, ids are 1 … n."""
    header, size_line, size, body = _matrix_header(name, first)
    words = header.lower().split()
    allowed = "'%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric'"
    if (
        len(words) != 5
        or words[1:3] != ["matrix", "coordinate"]
        or words[3] not in ("pattern", "real", "integer")
        or words[4] not in ("general", "symmetric")
    ):
        raise InputError(f"{name}, line 1: header {shown(header)}; it must be {allowed}")
    if weights and words[3] == "pattern":
        raise InputError(f"{name}, line 1: a pattern matrix has no weights; use 'real', or another --weights")
    if not re.fullmatch(r"[0-9]{1,18}\s+[0-9]{1,18}\s+[0-9]{1,18}", size):
        raise InputError(f"{name}, line {size_line}: size {shown(size)}; it must be 'rows columns entries'")
    rows, columns, entries = map(int, size.split())
    if rows != columns or not 0 < rows <= MAX_VERTICES:
        raise InputError(f"{name}, line {size_line}: {rows} by {columns}; a graph is square, with 1 … 2**31 - 1 rows")
    check_building(rows, 0, weights > 0)
    form = Format(name, weights, 1, rows)
    (u, v, w), fields = parse_all(form, (size_line + 1, body), blocks)
    if len(u) != entries:
        raise InputError(f"{name} has {len(u)} entries, line {size_line} promises {entries}; fetch or write it again")
    if not len(u):
        raise InputError(f"{name} has no entries; a graph needs at least one edge")
    u -= 1
    v -= 1
    ids = np.arange(1, rows + 1, dtype=np.int64)
    return EdgeList(u, v, w, fields, ids=ids, undirected=words[4] == "symmetric")


def _matrix_header(name: str, block: bytes) -> tuple[str, int, str, bytes]:
    """Return the header, the number and text of the size line, and the bytes after it."""
    start = number = 0
    header = ""
    while start < len(block):
        end = block.index(b"\n", start) + 1
        text = block[start:end].decode("latin-1").strip()
        start, number = end, number + 1
        if number == 1:
            header = text
        elif text and not text.startswith("%"):
            return header, number, text, block[start:]
    raise InputError(f"{name}: no size line 'rows columns entries' after the Matrix Market header")
