"""Pajek networks: vertices, arcs and edges as pairs, lists or matrices, in any number and order of sections."""

import re
from typing import Any

from gpukit.errors import InputError
from gpukit.graph.lines import NUMBER, shown
from gpukit.graph.read.networks import Network, decoded

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_PAIRS = ("*arcs", "*edges", "*arcslist", "*edgeslist", "*matrix")
_OTHER = ("*partition", "*vector", "*permutation", "*cluster", "*hierarchy")
"""Sections of a project that describe vertices and have no edges."""
_BEHIND = re.compile(
    r"\[.*|ellipse|box|diamond|triangle|cross|empty|circle|house|man|woman|[xy]_fact|s?_?size|phi|[rq]|[ib]c|bw|l[acrp]|"
    "lphi|fos|font",
    re.IGNORECASE,
)
"""What may follow a label, besides a number: a time, a shape, or the name of a property."""


def read_pajek(name: str, content: Any) -> Network:
    """Read a Pajek network; vertices are named by label, or by number if labels are missing or repeated.

    Arcs have one direction, edges both. The default weight is 1. Several relations are merged to one graph. The
    vertices of a two-mode network have one range of numbers: the second mode follows the first.

    Raises
    ------
    InputError
        If a line is not understood, a vertex is outside its range, or the file has several networks.
    """
    pajek = _Pajek()
    text, is_utf8 = decoded(content.read(), "windows-1252")
    for number, line in enumerate(re.split("\r\n?|\n", text), 1):
        if (line := line.strip()) and line[0] not in "%#":
            try:
                (pajek.head if line[0] == "*" else pajek.line)(line)
            except InputError as error:
                raise InputError(f"{name}, line {number}: {error}") from None
    network = pajek.network
    network.call({number: pajek.labels.get(number) for number in range(1, pajek.n + 1)}, "numbers")
    if len(pajek.relations) > 1:
        network.notes.append(f"{len(pajek.relations)} relations are one graph; remove sections to keep only one")
    if not is_utf8:
        network.notes.append("labels are not UTF-8 and were read as Windows-1252")
    return network


class _Pajek:
    """The state between lines: sizes, the section, and the current row of a matrix."""

    def __init__(self) -> None:
        self.network, self.labels, self.relations = Network(), dict[int, str](), set[str]()
        self.n = self.first_mode = self.row = 0
        self.section = "*network"

    def head(self, line: str) -> None:
        """Start a section."""
        head, *rest = line.split()
        kind = head.lower()
        if kind == "*vertices" and self.section in _OTHER:
            return
        if kind not in ("*vertices", "*network", *_PAIRS, *_OTHER):
            raise InputError(f"section {shown(head)} of Pajek is not read; remove it")
        if kind in _PAIRS:
            if not self.n:
                raise InputError(f"{head} stands before *Vertices, which says how many there are")
            self.relations.add(" ".join(rest))
        elif kind == "*vertices":
            if self.n:
                raise InputError("a second network; one is needed, remove the others")
            if not rest or not all(size.isdigit() for size in rest[:2]) or not 0 < int(rest[0]) < 2**31:
                raise InputError("*Vertices needs their number, 1 … 2**31 - 1")
            self.n, self.first_mode = map(int, [*rest, "0"][:2])
        self.row, self.section = 0, kind

    def line(self, line: str) -> None:
        """Read a line of the current section."""
        words, kind = line.split(), self.section
        if kind == "*vertices":
            self._label(line)
        elif kind == "*matrix":
            self.row += 1
            size = self.first_mode or self.n
            if len(words) != (self.n - self.first_mode) or self.row > size:
                raise InputError(f"row {self.row} of a matrix has {len(words)} values; its size is that of *Vertices")
            for column, value in enumerate(words, self.first_mode + 1):
                if not NUMBER.fullmatch(value):
                    raise InputError(f"{shown(value)} is no number")
                if float(value):
                    self._add(str(self.row), str(column), value)
        elif kind == "*network":
            raise InputError(f"{shown(line)} stands outside of all sections; *Vertices comes first")
        elif kind.endswith("list"):
            for head in words[1:]:
                self._add(words[0], head, "")
        elif kind in _PAIRS:
            self._add(*[*words, "", ""][:3])

    def _label(self, line: str) -> None:
        words = [quoted or plain for quoted, plain in _WORD.findall(line)]
        number = self._vertex(words[0])
        if '"' not in line:
            if len(words) > 2 and not NUMBER.fullmatch(words[2]) and not _BEHIND.fullmatch(words[2]):
                raise InputError(f"{shown(' '.join(words[1:]))} may be a label of several words; put it in quotes")
            if len(words) > 1 and NUMBER.fullmatch(words[1]) and "." in words[1]:  # a place
                return
        if len(words) > 1:
            self.labels[number] = words[1]

    def _add(self, u: str, v: str, weight: str) -> None:
        is_number = NUMBER.fullmatch(weight) is not None
        if not is_number and weight and not (weight[0] == "[" or weight[0].isalpha()):  # a time, or a colour
            raise InputError(f"weight {shown(weight)} is no number")
        both = self.section.startswith("*edges")
        self.network.edges.append((self._vertex(u), self._vertex(v), float(weight) if is_number else 1.0, both))

    def _vertex(self, word: str) -> int:
        if not word.isdigit() or not 1 <= int(word[:12]) <= self.n:
            raise InputError(f"vertex {shown(word)} is outside [1, {self.n}]")
        return int(word)
