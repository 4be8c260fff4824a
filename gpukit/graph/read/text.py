"""Text edge lists: from blocks of lines to edges.

A kernel parses blocks of plain ids, several blocks at a time. Other blocks are parsed by the C engine of pandas, which
accepts or rejects a block as a whole. Then each line is checked, and an error names the wrong one.
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
    INTEGER,
    LOOKED_AT,
    MISSING,
    ODD_INTEGER,
    Dialect,
    check_text,
    header_advice,
    look,
    uneven_fields,
)
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, both_ways
from gpukit.graph.read.source import Block
from gpukit.wording import counted, spelled

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
        The user's options.
    weights : float
        The highest weight, 0 to read none.
    whole : bool
        Whether the blocks are the whole text; only then can guesses be checked.

    Raises
    ------
    InputError
        If a line is no edge, or a guess turns out wrong.
    UsageError
        If the user's options do not fit.
    """
    held: list[Block] = []
    comments: list[str] = []
    lines: list[tuple[int, bytes]] = []
    marks = tuple(mark.encode() for mark in options.marks)
    for block in blocks:
        held.append(block)
        for number, line in enumerate(block[1].split(b"\n"), block[0]):
            start = line.strip(b" \t")
            if start and not start.startswith(marks):
                lines.append((number, line))
            elif start and not lines:
                comments.append(start.decode("latin-1"))
        if len(lines) >= LOOKED_AT:
            break
    if not lines:
        raise InputError(f"{name} has no edges, only comments or blank lines; it needs one 'u v' line an edge")
    dialect = look(name, lines[:LOOKED_AT], comments, options, weights)
    listed = TextReader(name, weights, dialect, lines[0][0]).read(itertools.chain(held, blocks))
    return _checked(name, listed, comments) if whole else listed


def _checked(name: str, listed: EdgeList, comments: Sequence[str]) -> EdgeList:
    """Check all guesses and return the edges; raises InputError if a guess is wrong or stated sizes do not fit."""
    dialect, u, v, labels = listed.dialect, listed.u, listed.v, listed.labels
    options = dialect.options
    for comment in comments:
        stated, direction = _STATED.search(comment), _SNAP.match(comment)
        if stated is not None:
            listed.check_stated(name, int(stated[1]), "a comment")
        if direction is not None:
            listed = replace(listed, undirected=direction[1] is not None)
    if dialect.sizes is not None:
        listed = _without_sizes(name, listed, *dialect.sizes)
    if labels is not None and options.header is None:
        titles = [dialect.names[place] for place in dialect.columns[:2] if dialect.header and dialect.names]
        again = next((title for title in titles if title and labels.find([title])[0] >= 0), None)
        if again is not None:
            raise InputError(
                f"{name}: {shown(again)} in the first line is also a vertex further down; {header_advice()}"
            )
        if options.suspects_first_line and not dialect.names and len(u) > 2:
            if all((u == end).sum() + (v == end).sum() == 1 for end in (u[0], v[0])):
                first = " and ".join(labels.texts([u[0], v[0]]))
                raise InputError(f"{name}: the first line names {first}, which no other line does; {header_advice()}")
    return listed


def _without_sizes(name: str, listed: EdgeList, n: int, m: int) -> EdgeList:
    """Return the edges without the first line if that line states the numbers of vertices and edges, and both fit."""
    dialect, is_header = listed.dialect, listed.dialect.header > 0
    rest = slice(0 if is_header else 1, None)
    u, v, w = listed.u[rest], listed.v[rest], None if listed.w is None else listed.w[rest]
    ends = np.concatenate([u, v])
    low, high, count = (int(ends.min()), int(ends.max()), len(ends) // 2) if len(ends) else (0, 0, 0)
    named = listed.labels is not None  # the number of a named vertex has no meaning
    vertices = high + (low == 0)
    exact, near = not named and n == vertices, named or n in (high, vertices)
    may_be = (m == count and n >= high) or (near and m in (count, count / 2)) or (near and not named and m > n)
    if not is_header and not may_be:
        return listed
    if m != count or not (exact or (is_header and (named or n > vertices))):
        stated = f"the first line may state {n} vertices and {m} edges; {count} edges of ids to {high} follow"
        raise InputError(
            f"{name}: {stated}; {spelled('header', True)} leaves it out, {spelled('header', False)} reads it as an edge"
        )
    if n == m and low > 0 and dialect.width == 2 and dialect.options.format is None:
        raise InputError(
            f"{name} can be METIS or an edge list; {spelled('format', 'metis')} or "
            f"{spelled('format', 'edges')} says which"
        )
    listed = replace(listed, u=u, v=v, w=w, notes=(*listed.notes, f"the first line states {n} vertices and {m} edges"))
    if exact and low > 0:
        return listed.within(n, name)
    return replace(listed, n=n) if not named and low == 0 else listed


class TextReader:
    """Reads one text.

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
        for line, text, found in self._prefetched(blocks):
            chunk = found.result() or self._parse(line, text)
            if chunk is not None:
                listing.add(chunk)
        u, v, w = listing.edges()
        skipped = line - 1 + text.count(b"\n") - len(u) - (self.dialect.header > 0) - len(self.bad)
        labels = undirected = None
        if self.names is not None:
            labels, vertices = self.names.ordered()
            u, v = vertices[u], vertices[v]
        if self.both:
            u, v, w, undirected = both_ways(u, v, w, np.concatenate(self.both))
        known = EdgeList(u, v, w, labels, undirected=undirected, said=self.dialect.record())
        return replace(known, dialect=self.dialect, skipped=skipped, bad=tuple(self.bad))

    def _prefetched(self, blocks: Iterator[Block]) -> Iterator[tuple[int, bytes, Future[Chunk | None]]]:
        """Yield the blocks in order, each with the pending result of :func:`_parse_plain`.

        Threads parse some blocks while the next one is read, digested and decompressed. An error in a block is reported
        after errors in earlier blocks.
        """
        import numba

        threads = numba.get_num_threads()
        waiting: deque[tuple[int, bytes, Future[Chunk | None]]] = deque()
        with ThreadPoolExecutor(threads) as pool:
            try:
                for line, text in blocks:
                    text = self._without_header(line, text)
                    waiting.append((line, text, pool.submit(_parse_plain, text, self.dialect, self.weights)))
                    if len(waiting) > threads:
                        yield waiting.popleft()
            except InputError:
                yield from waiting
                raise
            yield from waiting

    def _without_header(self, line: int, text: bytes) -> bytes:
        before = self.dialect.header - line
        if not 0 <= before < text.count(b"\n"):
            return text
        return b"\n" * (before + 1) + text.split(b"\n", before + 1)[-1]

    def _parse(self, line: int, text: bytes) -> Chunk | None:
        """Return the edges of a block, without invalid lines if these may be skipped; None if there are none."""
        check_text(self.name, text, line)
        marks = "".join(map(re.escape, self.dialect.options.marks))
        if any(mark.encode() in text for mark in self.dialect.options.marks):
            text = re.sub(rf"(?m)^[ \t]*[{marks}].*$".encode(), lambda found: self._marked(line, found), text)
        chunk = self._cut(text)
        if chunk is not None or not text.strip(b" \t\n"):
            return chunk
        lines = text.decode().removesuffix("\n").split("\n")
        for place, one in enumerate(lines):
            fault = self._fault(one) if one.strip(" \t") else None
            if fault is not None:
                lines[place], fault = "", f"line {line + place}: {fault}"
                if len(self.bad) >= self.dialect.options.skip_bad:
                    raise InputError(f"{self.name}, {fault}{self._skipping(fault)}")
                self.bad.append(fault)
        text = "\n".join([*lines, ""]).encode()
        chunk = self._cut(text)
        if chunk is None and text.strip(b" \t\n"):
            raise InputError(f"{self.name}: lines from {line} on cannot be read; save the table as CSV again")
        return chunk

    def _skipping(self, fault: str) -> str:
        """Return the end of an error message about a line: how to skip it, and how many lines were skipped before."""
        if self.bad:
            limit = spelled("skip_bad", self.dialect.options.skip_bad)
            return f"; {counted(len(self.bad) + 1, 'bad line')} so far, more than {limit} skips"
        return "" if spelled("skip_bad") in fault else f"; {spelled('skip_bad')} N skips up to N bad lines"

    def _marked(self, line: int, found: re.Match[bytes]) -> bytes:
        """Return the replacement of a line that looks like a comment: nothing, or the line itself."""
        said, text = self.dialect, found[0].decode().strip()
        if self.names is None or said.options.comment is not None or count(text, said.separator) != said.width:
            return b""
        number = line + found.string.count(b"\n", 0, found.start())
        if number < self.first and (said.names or text[1:2].isspace()):
            return b""
        if not said.names:
            raise InputError(
                f"{self.name}, line {number}: {shown(text)} is a comment or an edge; {spelled('comment', 'none')} says "
                f"that there are no comments, {spelled('comment')} {text[0]!r} that this is one"
            )
        return found[0]

    def _cut(self, text: bytes) -> Chunk | None:
        """Return the edges of some lines; None if one of them is invalid, or all are blank."""
        import pandas as pd

        said, quotes = self.dialect, b'"' in text
        if quotes and self._open.search(self._quoted.sub(rb"\1x", text)):
            return None
        if self.weights and any(part in text for part in (b"rue", b"RUE", b"alse", b"ALSE")):
            return None  # for a float column pandas also accepts truth values
        as_text = self.names is not None or (said.options.ids is None and _may_be_odd(text, said.separator or " "))
        ends, weight = said.columns[:2], said.columns[2:]
        kinds: dict[int, Any] = dict.fromkeys((said.width - 1, said.width, *filter(None, [said.direction])), object)
        for place in ends:
            kinds.pop(place, None)
        kinds |= dict.fromkeys(ends if as_text else (), object)  # "category" would turn "007" into a number
        kinds |= dict.fromkeys(weight, np.float64)
        # A first line with one field too many reserves a column for the extra field of longer lines.
        longest = (said.separator or " ").join("0" * (said.width + 1)).encode()
        try:
            table = pd.read_csv(
                io.BytesIO(longest + b"\n" + text),
                sep=said.separator or r"\s+",
                header=None,
                names=list(range(said.width + 1)),
                usecols=sorted({*ends, *kinds}),
                dtype=kinds,
                na_filter=False,
                quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
                skipinitialspace=True,
                engine="c",
                index_col=False,
                low_memory=False,
                decimal=said.options.decimal or ".",
                **nearest_floats(),
            )[1:]
        except (ValueError, OverflowError):
            return None
        if not len(table) or ((table[said.width] != "").any() and (said.separator is not None or self.even)):
            return None
        if self.even and said.width - 1 in kinds and (table[said.width - 1] == "").any():
            lines = (line for line in text.decode().split("\n") if line.strip(" \t"))
            if any(count(line, said.separator) != said.width for line in lines):
                return None
        w = np.ascontiguousarray(table[weight[0]].to_numpy(np.float64)) if weight else None
        if w is not None and not (w.min() >= 0 and w.max() <= self.weights):
            return None
        vertices = self._vertices(np.concatenate([table[place].to_numpy() for place in ends]), as_text)
        if vertices is None:
            return None
        if said.direction is not None:
            both = table[said.direction].str.strip().str.casefold().map(DIRECTIONS)
            if both.isna().any():
                return None
            self.both.append(both.to_numpy(bool))
        return vertices[: len(table)], vertices[len(table) :], w

    def _vertices(self, column: np.ndarray, as_text: bool) -> np.ndarray | None:
        """Return the ids in a column, or the numbers of its names; None if one is invalid."""
        import pandas as pd

        if not as_text:
            return column if column.dtype == np.int64 and column.min() >= 0 else None
        codes, found = pd.factorize(column)
        texts = [text.strip() for text in found]
        if any(map(self._wrong, texts)):
            return None
        return (np.array([*map(int, texts)]) if self.names is None else self.names.numbers(texts))[codes]

    def _fault(self, line: str) -> str | None:
        """Return the error in a line, None if it is valid; this defines the format."""
        said, width = self.dialect, self.dialect.width
        try:
            fields = split(line, said.separator)
        except ValueError as error:
            return str(error)
        if said.separator is not None and not any(fields[width:]):
            fields = fields[:width]
        longer = said.separator is not None and len(fields) > width and fields[width]
        if longer or (self.even and len(fields) != width):
            return uneven_fields(len(fields), width, said.separator)
        if max(said.columns) >= len(fields):
            return f"{counted(len(fields), 'field')}, {shown(line.strip())}; {width} are needed"
        fault = next(filter(None, (self._wrong(fields[place]) for place in said.columns[:2])), None)
        if fault is None and self.weights:
            text = fields[said.columns[2]]
            comma = said.options.decimal == ","
            number = text.replace(",", ".") if comma and decimal_comma(text) else text
            if not NUMBER.fullmatch(number) or not 0 <= float(number) <= self.weights:
                if decimal_comma(text) and not comma:
                    return f"weight {shown(text)} has a comma; {spelled('decimal', ',')} reads it as a point"
                return f"weight {shown(text)} {not_a_weight(self.weights)}"
        if fault is None and said.direction is not None:
            kind = "".join(fields[said.direction : said.direction + 1])
            return None if kind.casefold() in DIRECTIONS else f"type {shown(kind)} is none of {', '.join(DIRECTIONS)}"
        return fault

    def _wrong(self, text: str) -> str | None:
        """Return the error in a vertex; None if it is valid."""
        is_guess = self.dialect.options.ids is None
        if self.names is None:
            if not INTEGER.fullmatch(text):
                return f"{shown(text)} is not a vertex id; ids are whole numbers, {spelled('ids', 'text')} takes names"
            if is_guess and ODD_INTEGER.fullmatch(text):
                advice = f"{spelled('ids', 'text')} keeps it unchanged, {spelled('ids', 'integer')} reads a number"
                return f"{shown(text)} is no number in the usual form; {advice}"
            is_id = len(text) <= 40 and 0 <= int(text) <= MAX_ID
            return None if is_id else f"vertex id {shown(text)} is outside [0, 2**63 - 1]"
        if not text:
            return "a name is empty; every line needs two"
        if is_guess and text.casefold() in MISSING:
            return (
                f"{shown(text)} stands for a missing name; {spelled('skip_bad')} N skips such lines, "
                f"{spelled('ids', 'text')} keeps it"
            )
        return f"the name {shown(text)} holds a control character; remove it" if CONTROL.search(text) else None


def _parse_plain(text: bytes, dialect: Dialect, weights: float) -> Chunk | None:
    """Parse a block that has only ids; None if weights are needed, or the block is not clearly well-formed."""
    options = dialect.options
    if weights or not dialect.plain or options.comment is not None or options.skip_bad:
        return None
    from gpukit.graph.parsing_cpu import TOO_WIDE, parse_ids

    words = eight_bytes(text)
    width = 0 if dialect.separator is None and options.format is not None else dialect.width
    for kind in (np.int32, np.int64):
        u, v = paired(len(text) // 4 + 1, kind)  # the shortest line is "1 2" and a line feed
        highest, comma = int(np.iinfo(kind).max), dialect.separator == ","
        edges = parse_ids(np.frombuffer(text, np.uint8), words, u, v, highest, width, comma)
        if edges != TOO_WIDE:
            break
    return None if edges < 0 else (u[:edges], v[:edges], None)


def _may_be_odd(text: bytes, separator: str) -> bool:
    """Return whether a field may begin with a plus, or with a zero followed by another digit."""
    found = np.frombuffer(b"\n" + text, np.uint8)
    first, second = found[1:-1], found[2:]
    odd = np.flatnonzero((first == ord("+")) | ((first == ord("0")) & (second - np.uint8(48) < 10)))
    return bool(np.isin(found[odd], np.frombuffer(b'\n\t "' + separator.encode(), np.uint8)).any())


def eight_bytes(text: bytes | np.ndarray) -> np.ndarray:
    """Return the ``words`` of a text for :func:`gpukit.graph.parsing_cpu.parse_ids`; empty on big-endian machines."""
    places = max(len(text) - 7, 0) if sys.byteorder == "little" else 0
    return np.ndarray(places, np.uint64, text, strides=(1,))


def nearest_floats() -> dict[str, Any]:
    """Return the options that make pandas read a decimal as the nearest float, like Python; 3.1 needs none."""
    import pandas as pd

    return {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
