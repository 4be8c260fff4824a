"""Edge lists in delimited text with a header, names, quotes or a separator of their own: blocks into edges.

A block without quotes is cut by the C engine of pandas. A block with quotes, and one that does not go through, is cut
line by line by :func:`gpukit.graph.lines.split`, which defines the format and names the line at fault.
"""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.dialect import Dialect, check_text
from gpukit.graph.labels import CONTROL, Interned
from gpukit.graph.lines import split
from gpukit.graph.pairs import Chunk, Listing
from gpukit.graph.parsing import COMMENT, Format, nearest_floats, read_vertex, read_weight, shown


class Delimited:
    """A reader of one text.

    Parameters
    ----------
    form : Format
        The name of the file, and whether weights are read.
    dialect : Dialect
        How to read it.

    Attributes
    ----------
    names : Interned or None
        The names met so far; None where ids are whole numbers.
    comments : int
        Lines that were left out as comments.
    """

    def __init__(self, form: Format, dialect: Dialect) -> None:
        self.form, self.dialect = form, dialect
        self.names = Interned() if dialect.ids == "text" else None
        self.comments = 0

    def edges(self, first: tuple[int, bytes], blocks: Iterator[tuple[int, bytes]]) -> Chunk:
        """Return the edges of all blocks: ids, or numbers of names, of both ends, and weights."""
        listing = Listing(self.form.weights > 0)
        block: tuple[int, bytes] | None = first
        while block is not None:
            chunk = self._parse(*block)
            if chunk is not None:
                listing.add(chunk)
            block = next(blocks, None)
        return listing.edges()

    def _parse(self, line: int, text: bytes) -> Chunk | None:
        check_text(self.form.name, text, line)
        if b"#" in text or b"%" in text:
            text, count = COMMENT.subn(b"", text)
            self.comments += count
        header = self.dialect.header - line
        if 0 <= header < text.count(b"\n"):
            lines = text.split(b"\n", header + 1)
            text = b"\n" * (header + 1) + lines[-1]
        if not text.strip(b" \t\n"):
            return None
        fast = None if b'"' in text else self._parse_fast(text)
        return self._parse_lines(text.decode(), line) if fast is None else fast

    def _parse_fast(self, text: bytes) -> Chunk | None:
        """Cut a block without quotes; None if it is not plainly well-formed."""
        import pandas as pd

        said, weights = self.dialect, self.form.weights
        if weights and any(part in text for part in (b"rue", b"RUE", b"alse", b"ALSE")):
            return None  # asked for a float, pandas also takes truth values
        source, target = said.columns[:2]
        kinds: dict[int, Any] = {said.width: object}
        if self.names is not None:
            kinds |= {source: object, target: object}  # "category" would make numbers of "007"
        if weights:
            kinds[said.columns[2]] = "float64"
        # A line of one field more than there are columns makes room for the field that a longer line would have.
        longest = (said.separator or " ").join("0" * (said.width + 1)).encode()
        try:
            table = pd.read_csv(
                io.BytesIO(longest + b"\n" + text),
                sep=said.separator or r"\s+",
                header=None,
                names=list(range(said.width + 1)),
                usecols=[*said.columns, said.width],
                dtype=kinds,
                na_filter=False,
                quoting=3,
                engine="c",
                index_col=False,
                low_memory=False,
                **nearest_floats(),
            )[1:]
        except (ValueError, OverflowError):
            return None
        if (table[said.width] != "").any():
            return None
        w = np.ascontiguousarray(table[said.columns[2]].to_numpy()) if weights else None
        if w is not None and not (w.min() >= 0 and w.max() <= weights):
            return None
        if self.names is not None:
            ends = self._numbers(np.concatenate([table[source].to_numpy(), table[target].to_numpy()]))
            return None if ends is None else (ends[: len(table)], ends[len(table) :], w)
        u, v = (table[place].to_numpy() for place in (source, target))
        if not u.dtype == v.dtype == np.int64 or min(u.min(), v.min()) < 0:
            return None
        return u, v, w

    def _numbers(self, column: np.ndarray) -> np.ndarray | None:
        """Return the numbers of the names in a column; None if one is none."""
        import pandas as pd

        assert self.names is not None
        codes, found = pd.factorize(column)
        texts = [text.strip() for text in found]
        if "" in texts or any(map(CONTROL.search, texts)):
            return None
        return self.names.numbers(texts)[codes]

    def _parse_lines(self, text: str, line: int) -> Chunk:
        """Parse a block line by line: the definition of the format."""
        said, form = self.dialect, self.form
        u: list[Any] = []
        v: list[Any] = []
        w: list[float] = []
        for number, content in enumerate(text.split("\n"), line):
            if not content.strip(" \t"):
                continue
            where = f"{form.name}, line {number}"
            try:
                fields = split(content, said.separator)
            except ValueError as error:
                raise InputError(f"{where}: {error}") from None
            if len(fields) > said.width and fields[said.width]:
                raise InputError(
                    f"{where}: {len(fields)} fields, {said.width} in the first line; quote names that hold the "
                    "separator, or name it by --sep"
                )
            if max(said.columns[:2]) >= len(fields):
                raise InputError(f"{where}: {len(fields)} fields, {shown(content.strip())}; {said.width} are needed")
            u.append(self._end(where, fields[said.columns[0]]))
            v.append(self._end(where, fields[said.columns[1]]))
            if form.weights:
                w.append(read_weight(form, where, fields, said.columns[2]))
        tails, heads = (
            (np.array(ends, np.int64) if self.names is None else self.names.numbers(ends)) for ends in (u, v)
        )
        return tails, heads, np.array(w, np.float64) if form.weights else None

    def _end(self, where: str, text: str) -> int | str:
        """Return an id or a name; InputError if it is none."""
        if self.names is None:
            return read_vertex(self.form, where, text)
        if not text:
            raise InputError(f"{where}: a name is empty; every line needs two")
        if CONTROL.search(text):
            raise InputError(f"{where}: the name {shown(text)} holds a control character; take it out")
        return text
