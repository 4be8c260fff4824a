"""From blocks of text to arrays of edges; :mod:`gpukit.graph.readers` cuts the blocks.

A block of ids alone is parsed by a kernel, some blocks at a time. One with weights, or that the kernel leaves, goes to
the C engine of pandas; of the columnar readers it is the one that takes runs of mixed whitespace (pyarrow and polars
want one separator byte). A block that it refuses, too, or that could mean something else to it than to us, is parsed
line by line in Python: that parser defines the format, and names the line at fault.
"""

import io
import itertools
import re
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.pairs import Chunk, Listing, paired

if TYPE_CHECKING:
    from concurrent.futures import Future

MAX_ID = 2**63 - 1

PROBABILITIES = 1.0
COUNTS = sys.float_info.max
"""The highest weight that is read, where weights are probabilities and where they are to be scaled."""

_PLAIN = bytes(range(32, 127)) + b"\t\n"
COMMENT = re.compile(rb"(?m)^[ \t]*[#%].*$")
_EDGE = re.compile(rb"(?m)^[ \t]*[^#% \t\n].*$")
_EMPTY_FIELD = re.compile(rb"(?m)^[ \t]*,|,[ \t]*(?:,|$)")
PLAIN_SEPARATOR = re.compile(r"[ \t]*,[ \t]*|[ \t]+")
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
"""A decimal number. Python takes more for one: underscores, the digits of every script, words."""


@dataclass(frozen=True)
class Format:
    """What a data line may hold: ids in [lowest, highest], and a weight in [0, weights] unless that is 0."""

    name: str
    weights: float
    lowest: int = 0
    highest: int = MAX_ID


def parse_all(form: Format, first: tuple[int, bytes], blocks: Iterator[tuple[int, bytes]]) -> tuple[Chunk, int]:
    """Parse all blocks; return the edges and the number of fields of the first one."""
    listing = Listing(form.weights > 0)
    columns = 0
    for line, text, found in _ahead(form, itertools.chain([first], blocks)):
        if not columns and (edge := _EDGE.search(text)):
            columns = len(PLAIN_SEPARATOR.split(edge[0].decode("latin-1").strip(" \t")))
        if found is None:
            if b"#" in text or b"%" in text:
                text = COMMENT.sub(b"", text)
            if not text.strip(b" \t\n"):
                continue
            found = _parse_fast(form, text) or _parse_lines(form, text, line)
        listing.add(found)
    return listing.edges(), columns


def _ahead(form: Format, blocks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes, Chunk | None]]:
    """Yield the blocks in their order with what :func:`_parse_plain` made of each.

    The threads parse some blocks while the next is read, digested and unpacked. What is wrong with a block is told
    after what is wrong with those before it.
    """
    from concurrent.futures import ThreadPoolExecutor

    import numba

    threads = numba.get_num_threads()
    waiting: deque[tuple[tuple[int, bytes], Future[Chunk | None]]] = deque()
    failure, more = None, True
    with ThreadPoolExecutor(threads) as pool:
        while more or waiting:
            try:
                block = next(blocks, None) if more else None
            except InputError as error:
                block, failure = None, error
            more = block is not None
            if block is not None:
                waiting.append((block, pool.submit(_parse_plain, form, block[1])))
            if waiting and (len(waiting) > threads or not more):
                (line, text), found = waiting.popleft()
                yield line, text, found.result()
    if failure is not None:
        raise failure


def _parse_plain(form: Format, text: bytes) -> Chunk | None:
    """Parse a block of nothing but ids; None if weights are wanted, or it is not plainly well-formed."""
    if form.weights:
        return None
    from gpukit.graph.parsing_cpu import TOO_WIDE, parse_ids

    words = eight_bytes(text)
    for kind in (np.int32, np.int64):
        u, v = paired(len(text) // 4 + 1, kind)  # the shortest line is "1 2" and its end
        highest = min(int(np.iinfo(kind).max), form.highest)
        count = parse_ids(np.frombuffer(text, np.uint8), words, u, v, highest)
        if count != TOO_WIDE:
            break
    if count < 0:
        return None
    u, v = u[:count], v[:count]
    if form.lowest and count and min(u.min(), v.min()) < form.lowest:
        return None
    return u, v, None


def eight_bytes(text: bytes | np.ndarray) -> np.ndarray:
    """Return the ``words`` of a text for :func:`gpukit.graph.parsing_cpu.parse_ids`; none if high bytes come first."""
    count = max(len(text) - 7, 0) if sys.byteorder == "little" else 0
    return np.ndarray(count, np.uint64, text, strides=(1,))


def _parse_fast(form: Format, text: bytes) -> Chunk | None:
    """Parse one block with pandas; None if it is not plainly well-formed."""
    import pandas as pd

    if text.translate(None, _PLAIN):  # some end a field or a line for pandas, also in columns that nobody asked for
        return None
    if b"," in text:
        marked = any(mark in text for mark in (b",,", b",\n", b"\n,", b" ,", b", ", b"\t"))
        if (marked or text.startswith(b",") or text.endswith(b",")) and _EMPTY_FIELD.search(text):
            return None
        text = text.replace(b",", b" ")
    columns = list(range(3 if form.weights else 2))
    # Asked for a float, pandas also takes truth values; the other parser refuses them and names the line.
    if form.weights and any(part in text for part in (b"rue", b"RUE", b"alse", b"ALSE")):
        return None
    try:
        table = pd.read_csv(
            io.BytesIO(text),
            sep=r"\s+",
            header=None,
            names=columns,
            usecols=columns,
            dtype={2: np.float64} if form.weights else None,
            low_memory=False,
            index_col=False,
            engine="c",
            na_filter=False,
            quoting=3,
            **nearest_floats(),
        )
    except (ValueError, OverflowError):
        return None
    # The types of the ids are left to pandas: asked for int64 it would also take "1.0", "1e3" and "True".
    if not table[0].dtype == table[1].dtype == np.int64:
        return None
    u, v = (np.ascontiguousarray(table[c].to_numpy()) for c in (0, 1))
    w = np.ascontiguousarray(table[2].to_numpy()) if form.weights else None
    highest = max(u.max(), v.max())
    if min(u.min(), v.min()) < form.lowest or highest > form.highest:
        return None
    if w is not None and not (w.min() >= 0 and w.max() <= form.weights):
        return None
    narrow = np.int32 if highest < 2**31 else np.int64
    return u.astype(narrow, copy=False), v.astype(narrow, copy=False), w


def nearest_floats() -> dict[str, Any]:
    """Return what pandas must be told to read a decimal as the nearest float, as Python does; 3.1 does so by itself."""
    import pandas as pd

    return {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}


def _parse_lines(form: Format, text: bytes, line: int) -> Chunk:
    """Parse one block line by line: the definition of the format."""
    u, v, w = [], [], []
    for number, raw in enumerate(text.decode("latin-1").split("\n"), line):
        content = raw.strip(" \t")
        if not content:
            continue
        where = f"{form.name}, line {number}"
        if not content.isascii() or not content.replace("\t", " ").isprintable():
            raise InputError(f"{where}: not text; edge lists are read as plain text or gzip, one 'u v' line an edge")
        fields = PLAIN_SEPARATOR.split(content)
        if len(fields) < 2:
            raise InputError(f"{where}: one field, {shown(content)}; a line needs two vertex ids, 'u v'")
        u.append(read_vertex(form, where, fields[0]))
        v.append(read_vertex(form, where, fields[1]))
        if form.weights:
            w.append(read_weight(form, where, fields))
    return (
        np.array(u, dtype=np.int64),
        np.array(v, dtype=np.int64),
        np.array(w, dtype=np.float64) if form.weights else None,
    )


def read_vertex(form: Format, where: str, text: str) -> int:
    """Return a vertex id; InputError if it is none."""
    if not re.fullmatch("[-+]?[0-9]+", text):
        names = ", --ids text takes names" if form.highest == MAX_ID else ""
        raise InputError(
            f"{where}: {shown(text)} is not a vertex id; ids are whole numbers, comments start with #{names}"
        )
    value = int(text[:40])
    if len(text) > 40 or not form.lowest <= value <= form.highest:
        bound = "2**63 - 1" if form.highest == MAX_ID else str(form.highest)
        raise InputError(f"{where}: vertex id {shown(text)} is outside [{form.lowest}, {bound}]")
    return value


def decimal_comma(text: str) -> bool:
    """Return whether a text would be a number if a comma in it were a point."""
    return text.count(",") == 1 and NUMBER.fullmatch(text.replace(",", ".")) is not None


def not_a_weight(highest: float) -> str:
    """Return what is said of a weight outside [0, highest]."""
    return "is not a probability in [0, 1]; --scale takes counts" if highest == 1 else "is not a finite number >= 0"


def read_weight(form: Format, where: str, fields: list[str], place: int = 2) -> float:
    """Return the weight in the field at ``place``; InputError if it is none."""
    if len(fields) <= place:
        raise InputError(f"{where}: no weight; with weights from the file a line is 'u v p'")
    value = float(fields[place]) if NUMBER.fullmatch(fields[place]) else -1.0
    if not 0 <= value <= form.weights:
        comma = "has a comma; decimals begin with a point, as in 0.5"
        said = comma if decimal_comma(fields[place]) else not_a_weight(form.weights)
        raise InputError(f"{where}: weight {shown(fields[place])} {said}")
    return value


def shown(text: str) -> str:
    """Return a piece of the input for a message, quoted and cut at 40 characters."""
    return repr(text if len(text) <= 40 else text[:40] + "…")
