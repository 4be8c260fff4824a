"""Edge lists in text: blocks of lines into edges.

A block of plain ids is parsed by a kernel, some blocks at a time. Other blocks are cut by the C engine of pandas, which
takes a block as a whole or not at all. The line at fault is found by halves, and named.
"""

import csv
import io
import itertools
import re
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.labels import CONTROL, Interned
from gpukit.graph.lines import MAX_ID, NUMBER, count, decimal_comma, not_a_weight, shown, split
from gpukit.graph.pairs import Chunk, Listing, paired
from gpukit.graph.read.dialect import (
    DIRECTIONS,
    LOOKED_AT,
    MISSING,
    ODD_INTEGER,
    Dialect,
    check_text,
    look,
    named_in_comment,
    uneven_fields,
)
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, both_ways
from gpukit.graph.read.source import Block

_UNDECIDED = "is a comment or an edge; --comment none says that there are no comments, --comment '{}' that this is one"
_HEADER = "--header says that the first line names the columns, --no-header that it is an edge"
_STATED = re.compile(r"nodes:\s*[0-9]+\s+edges:\s*([0-9]+)", re.IGNORECASE)
_SNAP = re.compile(r"[#% ]*(un)?directed(?: graph\b(?!.*unordered pair)|\s*$)", re.IGNORECASE)


def read_text(name: str, blocks: Iterator[Block], options: ReadOptions, weights: float, whole: bool = True) -> EdgeList:
    """Read an edge list in text.

    Parameters
    ----------
    name : str
        The file, for messages.
    blocks : iterator of (int, bytes)
        The text; :meth:`gpukit.graph.read.source.Source.blocks`.
    options : ReadOptions
        What the user says of it.
    weights : float
        The highest weight, 0 to read none.
    whole : bool
        Whether the blocks are the whole text, by which guesses are checked.

    Raises
    ------
    InputError
        If a line is no edge, or a guess does not hold.
    UsageError
        If what the user says does not fit.
    """
    held: list[Block] = []
    comments: list[str] = []
    lines: list[tuple[int, bytes]] = []
    marks = tuple(mark.encode() for mark in options.marks)
    while len(lines) < LOOKED_AT and (block := next(blocks, None)) is not None:
        held.append(block)
        for number, line in enumerate(block[1].split(b"\n"), block[0]):
            start = line.strip(b" \t")
            if start.startswith(marks):
                comments += [] if lines else [start.decode("latin-1")]
            elif start:
                lines.append((number, line))
            if len(lines) == LOOKED_AT:
                break
    if not lines:
        raise InputError(f"{name} has no edges, only comments or blank lines; it needs one 'u v' line an edge")
    dialect = look(name, lines, comments, options, weights)
    if dialect.ids == "text" and options.comment is None and not dialect.names:
        for comment in comments:
            is_edge = not comment[1:2].isspace() and count(comment, dialect.separator) == dialect.width
            if is_edge and not named_in_comment([comment], dialect.separator, dialect.width, options):
                raise InputError(f"{name}: {shown(comment)} {_UNDECIDED.format(comment[0])}")
    listed = TextReader(name, weights, dialect, lines[0][0]).read(itertools.chain(held, blocks))
    return _checked(name, listed, comments) if whole else listed


def _checked(name: str, listed: EdgeList, comments: Sequence[str]) -> EdgeList:
    """Return edges of which all guesses hold; raises InputError where one does not, or stated sizes do not fit."""
    dialect, u, v, labels = listed.dialect, listed.u, listed.v, listed.labels
    for comment in comments:
        stated, direction = _STATED.search(comment), _SNAP.match(comment)
        if stated is not None and int(stated[1]) != len(u):
            advice = "fetch it again, or take the comment out"
            raise InputError(f"{name} has {len(u):,} edges, and a comment states {int(stated[1]):,}; {advice}")
        if direction is not None:
            listed = replace(listed, undirected=direction[1] is not None)
    if dialect.sizes is not None:
        listed = _without_sizes(name, listed, *dialect.sizes)
    if labels is not None and dialect.header and dialect.names and dialect.options.header is None:
        titles = [dialect.names[place] for place in dialect.columns[:2]]
        again = [title for title in titles if title and labels.find([title])[0] >= 0]
        if len(again) > (0 if dialect.guessed else 1):
            raise InputError(f"{name}: {shown(again[0])} in the first line is a vertex below; {_HEADER}")
    suspected = dialect.options.suspects_first_line and dialect.options.header is None and not dialect.names
    if labels is not None and suspected and len(u) > 2:
        if all((u == end).sum() + (v == end).sum() == 1 for end in (u[0], v[0])):
            first = " and ".join(labels.texts([u[0], v[0]]))
            raise InputError(f"{name}: the first line names {first}, which no other line does; {_HEADER}")
    if dialect.index and dialect.options.columns is None:
        advice = "--columns 2,3 leaves it out, --columns 1,2 reads it"
        raise InputError(f"{name}: the first of its {dialect.width} columns counts up, as an index does; {advice}")
    is_matrix = labels is None and not dialect.names and 2 < dialect.width == len(u) and max(u.max(), v.max()) < 2
    if is_matrix and dialect.options.columns is None:
        raise InputError(f"{name} looks like a matrix, 0 and 1 in rows; list its edges, or name two --columns")
    return listed


def _without_sizes(name: str, listed: EdgeList, n: int, m: int) -> EdgeList:
    """Return edges without the first line, if that states the numbers of vertices and edges and both fit."""
    first = 0 if listed.dialect.header else 1
    u, v, w = listed.u[first:], listed.v[first:], None if listed.w is None else listed.w[first:]
    low, high = (int(min(u.min(), v.min())), int(max(u.max(), v.max()))) if len(u) else (0, 0)
    exact = high == n or (low == 0 and high == n - 1)
    is_edge = n < high or (m != len(u) and not (exact and (m > n or len(u) == 2 * m)))
    if first and is_edge:
        return listed
    if m != len(u) or n < high or (first and not exact):
        stated = f"the first line may state {n} vertices and {m} edges; {len(u)} edges of ids to {high} follow"
        raise InputError(f"{name}: {stated}; --header leaves it out, --no-header reads it as an edge")
    if first and n == m and _is_metis(u, v):
        raise InputError(f"{name} can be METIS or an edge list; --format metis or --format edges says which")
    listed = replace(listed, u=u, v=v, w=w, notes=(*listed.notes, f"the first line states {n} vertices and {m} edges"))
    if high == n:
        return replace(listed, u=u - 1, v=v - 1, ids=np.arange(1, n + 1))
    return replace(listed, n=n) if low == 0 else listed


def _is_metis(u: np.ndarray, v: np.ndarray) -> bool:
    """Say whether lines of two numbers are the neighbours of vertices 1, 2, …, each edge at both of its ends."""
    rows = np.arange(1, len(u) + 1)
    listed = {*zip(rows.tolist(), u.tolist(), strict=True), *zip(rows.tolist(), v.tolist(), strict=True)}
    return all(a != b and (b, a) in listed for a, b in listed)


class TextReader:
    """A reader of one text.

    Parameters
    ----------
    name : str
        The file, for messages.
    weights : float
        The highest weight, 0 to read none.
    dialect : Dialect
        How to read it.
    first : int
        Number of the first line that is neither blank nor a comment.
    """

    def __init__(self, name: str, weights: float, dialect: Dialect, first: int = 1) -> None:
        self.name, self.weights, self.dialect, self.first = name, weights, dialect, first
        self.names = Interned() if dialect.ids == "text" else None
        self.both: list[np.ndarray] = []
        self.bad: list[str] = []
        self.even = dialect.options.format is None and (dialect.separator is None or not dialect.names)
        between = rf"[{re.escape(dialect.separator or ' ')}\t]".encode()
        self._quoted = re.compile(rb'(?m)(^|%s)[ \t]*"(?:[^"\n]|"")*"(?=[ \t]*(?:%s|$))' % (between, between))
        self._open = re.compile(rb'(?m)(?:^|%s)[ \t]*"' % between)

    def read(self, blocks: Iterator[Block]) -> EdgeList:
        """Return the edges of all blocks."""
        listing, line, text = Listing(self.weights > 0), 1, b""
        for line, text, found in self._ahead(blocks):
            for chunk in self._parse(line, text) if found is None else [found]:
                listing.add(chunk)
        u, v, w = listing.edges()
        skipped = line - 1 + text.count(b"\n") - len(u) - (self.dialect.header > 0) - len(self.bad)
        labels = undirected = None
        if self.names is not None:
            labels, vertices = self.names.ordered()
            u, v = vertices[u], vertices[v]
        if self.both:
            u, v, w, undirected = both_ways(u, v, w, np.concatenate(self.both))
        bad = f"{len(self.bad)} lines are no edges and were skipped: {'; '.join(self.bad)[:300]}"
        said, notes = self.dialect.record(), (bad,) if self.bad else ()
        known = EdgeList(u, v, w, labels, undirected=undirected, said=said, notes=notes)
        return replace(known, dialect=self.dialect, skipped=skipped)

    def _ahead(self, blocks: Iterator[Block]) -> Iterator[tuple[int, bytes, Chunk | None]]:
        """Yield the blocks in their order with what :func:`_parse_plain` made of each.

        The threads parse some blocks while the next is read, digested and unpacked. What is wrong with a block is told
        after what is wrong with those before it.
        """
        import numba

        threads = numba.get_num_threads()
        waiting: deque[tuple[Block, Future[Chunk | None]]] = deque()
        failure, more = None, True
        with ThreadPoolExecutor(threads) as pool:
            while more or waiting:
                try:
                    block = next(blocks, None) if more else None
                except InputError as error:
                    block, failure = None, error
                more = block is not None
                if block is not None:
                    block = block[0], self._without_header(*block)
                    waiting.append((block, pool.submit(_parse_plain, block[1], self.dialect, self.weights)))
                if waiting and (len(waiting) > threads or not more):
                    (line, text), found = waiting.popleft()
                    yield line, text, found.result()
        if failure is not None:
            raise failure

    def _without_header(self, line: int, text: bytes) -> bytes:
        before = self.dialect.header - line
        if not 0 <= before < text.count(b"\n"):
            return text
        return b"\n" * (before + 1) + text.split(b"\n", before + 1)[-1]

    def _parse(self, line: int, text: bytes) -> list[Chunk]:
        """Return the edges of a block, in pieces."""
        check_text(self.name, text, line)
        marks = "".join(map(re.escape, self.dialect.options.marks))
        if any(mark.encode() in text for mark in self.dialect.options.marks):
            text = re.sub(rf"(?m)^[ \t]*[{marks}].*$".encode(), lambda found: self._marked(line, found), text)
        return self._parse_halves(line, text)

    def _marked(self, line: int, found: re.Match[bytes]) -> bytes:
        """Return what a line that begins as a comment does is read as: nothing, or itself."""
        said, text = self.dialect, found[0].decode()
        if self.names is None or said.options.comment is not None or count(text, said.separator) != said.width:
            return b""
        number = line + found.string.count(b"\n", 0, found.start())
        if number < self.first:
            return b""
        if not said.names:
            raise InputError(f"{self.name}, line {number}: {shown(text)} {_UNDECIDED.format(text.strip()[0])}")
        return found[0]

    def _parse_halves(self, line: int, text: bytes) -> list[Chunk]:
        """Return the edges of some lines, without the lines at fault if these may be skipped."""
        if not text.strip(b" \t\n"):
            return []
        chunk = self._cut(text)
        if chunk is not None:
            return [chunk]
        lines = text.removesuffix(b"\n").split(b"\n")
        half = len(lines) // 2
        if half:
            parts = (line, lines[:half]), (line + half, lines[half:])
            return [chunk for at, part in parts for chunk in self._parse_halves(at, b"\n".join(part) + b"\n")]
        fault = f"line {line}: {self._fault(lines[0].decode())}"
        if len(self.bad) >= self.dialect.options.skip_bad:
            raise InputError(f"{self.name}, {fault}")
        self.bad.append(fault)
        return []

    def _cut(self, text: bytes) -> Chunk | None:
        """Return the edges of some lines; None if one of them is at fault."""
        import pandas as pd

        said, quotes = self.dialect, b'"' in text
        if quotes and self._open.search(self._quoted.sub(rb"\1x", text)):
            return None
        if self.weights and any(part in text for part in (b"rue", b"RUE", b"alse", b"ALSE")):
            return None  # asked for a float, pandas also takes truth values
        as_text = self.names is not None or (said.options.ids is None and _may_be_odd(text, said.separator or " "))
        source, target, *weight = said.columns
        kinds: dict[int, Any] = {said.width - 1: object, said.width: object}
        kinds |= {} if said.direction is None else {said.direction: object}
        for place in (source, target):
            kinds.pop(place, None)
            kinds |= {place: object} if as_text else {}  # "category" would make numbers of "007"
        kinds |= {place: np.float64 for place in weight}
        # A line of one field more than there are columns makes room for the field that a longer line would have.
        longest = (said.separator or " ").join("0" * (said.width + 1)).encode()
        try:
            table = pd.read_csv(
                io.BytesIO(longest + b"\n" + text),
                sep=said.separator or r"\s+",
                header=None,
                names=list(range(said.width + 1)),
                usecols=sorted({source, target, *kinds}),
                dtype=kinds,
                na_filter=False,
                quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
                skipinitialspace=True,
                engine="c",
                index_col=False,
                low_memory=False,
                **nearest_floats(),
            )[1:]
        except (ValueError, OverflowError):
            return None
        if (table[said.width] != "").any() and (said.separator is not None or self.even):
            return None
        if self.even and said.width - 1 in kinds and (table[said.width - 1] == "").any():
            lines = (line for line in text.decode().split("\n") if line.strip(" \t"))
            if any(count(line, said.separator) != said.width for line in lines):
                return None
        w = np.ascontiguousarray(table[weight[0]].to_numpy(np.float64)) if weight else None
        if w is not None and not (w.min() >= 0 and w.max() <= self.weights):
            return None
        u, v = (table[place].to_numpy() for place in (source, target))
        if self.names is not None:
            numbers = self._numbers(np.concatenate([u, v]))
            if numbers is None:
                return None
            u, v = numbers[: len(table)], numbers[len(table) :]
        elif as_text:
            if any(ODD_INTEGER.fullmatch(end.strip()) for end in {*u, *v}):
                return None
            u, v = (pd.to_numeric(pd.Series(end), errors="coerce").to_numpy() for end in (u, v))
        if self.names is None and (not u.dtype == v.dtype == np.int64 or min(u.min(), v.min()) < 0):
            return None
        if said.direction is not None:
            both = table[said.direction].str.strip().str.casefold().map(DIRECTIONS)
            if both.isna().any():
                return None
            self.both.append(both.to_numpy(bool))
        narrow = np.int32 if max(u.max(), v.max()) < 2**31 else np.int64
        return u.astype(narrow, copy=False), v.astype(narrow, copy=False), w

    def _numbers(self, column: np.ndarray) -> np.ndarray | None:
        """Return the numbers of the names in a column; None if one is none."""
        import pandas as pd

        assert self.names is not None
        codes, found = pd.factorize(column)
        texts = [text.strip() for text in found]
        gaps = self.dialect.options.ids is None and any(text.casefold() in MISSING for text in texts)
        if "" in texts or gaps or any(map(CONTROL.search, texts)):
            return None
        return self.names.numbers(texts)[codes]

    def _fault(self, line: str) -> str:
        """Return what is wrong with a line: the definition of the format."""
        said, width, options = self.dialect, self.dialect.width, self.dialect.options
        try:
            fields = split(line, said.separator)
        except ValueError as error:
            return str(error)
        if said.separator is not None and not any(fields[width:]):
            fields = fields[:width]
        longer = said.separator is not None and len(fields) > width and fields[width]
        if self.even and len(fields) != width:
            return uneven_fields(len(fields), width, said.separator)
        if longer:
            advice = "quote names that hold the separator, or name it by --sep"
            return f"{len(fields)} fields, {width} in the first line; {advice}"
        if max(said.columns[:2]) >= len(fields):
            return f"{len(fields)} fields, {shown(line.strip())}; {width} are needed"
        for text in (fields[place] for place in said.columns[:2]):
            if self.names is not None and not text:
                return "a name is empty; every line needs two"
            if self.names is not None and options.ids is None and text.casefold() in MISSING:
                return f"{shown(text)} stands for a missing name; --skip-bad N skips such lines, --ids text keeps it"
            if self.names is not None and CONTROL.search(text):
                return f"the name {shown(text)} holds a control character; take it out"
            if self.names is None and not re.fullmatch("[-+]?[0-9]+", text):
                return f"{shown(text)} is not a vertex id; ids are whole numbers, --ids text takes names"
            if self.names is None and options.ids is None and ODD_INTEGER.fullmatch(text):
                return (
                    f"{shown(text)} is no usual number; --ids text keeps it as it stands, --ids integer reads a number"
                )
            if self.names is None and (len(text) > 40 or not 0 <= int(text) <= MAX_ID):
                return f"vertex id {shown(text)} is outside [0, 2**63 - 1]"
        if self.weights and said.columns[2] >= len(fields):
            return "no weight; with weights from the file a line is 'u v p'"
        text = fields[said.columns[2]] if self.weights else "0"
        if not NUMBER.fullmatch(text) or not 0 <= float(text) <= self.weights:
            comma = "has a comma; decimals begin with a point, as in 0.5"
            return f"weight {shown(text)} {comma if decimal_comma(text) else not_a_weight(self.weights)}"
        return f"{shown(line.strip())} is no edge; its type is one of {', '.join(DIRECTIONS)}"


def _parse_plain(text: bytes, dialect: Dialect, weights: float) -> Chunk | None:
    """Parse a block of nothing but ids; None if weights are wanted, or it is not plainly well-formed."""
    options = dialect.options
    if weights or not dialect.plain or options.comment is not None or options.skip_bad:
        return None
    from gpukit.graph.parsing_cpu import TOO_WIDE, parse_ids

    words = eight_bytes(text)
    width = 0 if dialect.separator is None and options.format is not None else dialect.width
    for kind in (np.int32, np.int64):
        u, v = paired(len(text) // 4 + 1, kind)  # the shortest line is "1 2" and its end
        highest, comma = int(np.iinfo(kind).max), dialect.separator == ","
        edges = parse_ids(np.frombuffer(text, np.uint8), words, u, v, highest, width, comma)
        if edges != TOO_WIDE:
            break
    return None if edges < 0 else (u[:edges], v[:edges], None)


def _may_be_odd(text: bytes, separator: str) -> bool:
    """Say whether a field may begin with a plus, or with a zero before another digit."""
    found = np.frombuffer(b"\n" + text, np.uint8)
    before, first, second = found[:-2], found[1:-1], found[2:]
    begins = (before == 10) | (before == 32) | (before == 9) | (before == 34) | (before == ord(separator))
    return bool((begins & ((first == 43) | ((first == 48) & (second >= 48) & (second <= 57)))).any())


def eight_bytes(text: bytes | np.ndarray) -> np.ndarray:
    """Return the ``words`` of a text for :func:`gpukit.graph.parsing_cpu.parse_ids`; none if high bytes come first."""
    places = max(len(text) - 7, 0) if sys.byteorder == "little" else 0
    return np.ndarray(places, np.uint64, text, strides=(1,))


def nearest_floats() -> dict[str, Any]:
    """Return what pandas needs to read a decimal as the nearest float, as Python does; 3.1 does so by itself."""
    import pandas as pd

    return {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
