"""Pajek's networks: vertices, arcs and edges as pairs, lists or matrices, in sections of any number and order."""

import re
from collections.abc import Callable
from typing import Any

from gpukit.errors import InputError
from gpukit.graph.lines import NUMBER, shown
from gpukit.graph.read.networks import Network

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_OTHER = ("*partition", "*vector", "*permutation", "*cluster", "*hierarchy")
"""Sections of a project that describe vertices, and hold no edges."""


def read_pajek(name: str, content: Any) -> Network:
    """Read a network of Pajek; a vertex is called by its label, or by its number where labels are missing or repeated.

    Arcs go one way, edges both. Weights that are left out are 1. Several relations are one graph. The vertices of a
    two-mode network have one range of numbers, the second mode behind the first.

    Raises
    ------
    InputError
        If a line is not understood, a vertex is outside its range, or there are several networks.
    """
    pajek = _Pajek(name)
    data = content.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("windows-1252", errors="replace")
        pajek.network.notes.append("labels are not UTF-8 and were read as Windows-1252")
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if line.strip() and not line.lstrip().startswith(("%", "#")):
            pajek.line(f"{name}, line {number}", line.strip())
    return pajek.finished()


class _Pajek:
    """The state between lines: sizes, the section, and the row of a matrix."""

    def __init__(self, name: str) -> None:
        self.name, self.network, self.labels = name, Network(), dict[int, str]()
        self.n, self.first_mode, self.row = 0, 0, 0
        self.both = self.of_another = False
        self.relations = set[str]()
        self.section: Callable[[str, str], None] = self._nothing

    def line(self, where: str, line: str) -> None:
        """Read a line."""
        if not line.startswith("*"):
            self.section(where, line)
            return
        head, *rest = line.split()
        kind = head.lower()
        if kind == "*vertices":
            self._vertices(where, rest)
        elif kind in ("*arcs", "*edges", "*arcslist", "*edgeslist", "*matrix"):
            if not self.n:
                raise InputError(f"{where}: {head} stands before *Vertices, which says how many there are")
            self.row, self.both = 0, kind.startswith("*edges")
            self.relations.add(" ".join(rest))
            self.section = {"*matrix": self._matrix}.get(kind, self._list if kind.endswith("list") else self._pair)
        elif kind in _OTHER or kind == "*network":
            self.of_another = kind != "*network"
            self.section = self._other if self.of_another else self._nothing
        else:
            raise InputError(f"{where}: section {shown(head)} of Pajek is not read; take it out")

    def finished(self) -> Network:
        """Return the network, its vertices by name."""
        network, labels = self.network, self.labels
        if labels and (len(labels) < self.n or len(set(labels.values())) < self.n or "" in labels.values()):
            network.notes.append("labels are missing or repeated, so that vertices are called by their numbers")
            labels = {}
        network.names = {number: labels.get(number, number) for number in range(1, self.n + 1)}
        if len(self.relations) > 1:
            network.notes.append(f"{len(self.relations)} relations are one graph; take sections out to have one alone")
        return network

    def _vertices(self, where: str, sizes: list[str]) -> None:
        if self.of_another:
            return
        if self.n:
            raise InputError(f"{where}: a second network; one is needed, take the others out")
        if not sizes or not all(size.isdigit() for size in sizes[:2]) or not 0 < int(sizes[0]) < 2**31:
            raise InputError(f"{where}: *Vertices needs their number, 1 … 2**31 - 1")
        self.n, self.first_mode = int(sizes[0]), int(sizes[1]) if len(sizes) > 1 else 0
        self.section = self._label

    def _label(self, where: str, line: str) -> None:
        words = [quoted or plain for quoted, plain in _WORD.findall(line)]
        number = self._vertex(where, words[0])
        if len(words) > 1 and not (NUMBER.fullmatch(words[1]) and "." in words[1] and '"' not in line):  # a place
            self.labels[number] = words[1]

    def _pair(self, where: str, line: str) -> None:
        u, v, weight = [*line.split(), "", ""][:3]
        self._add(where, u, v, weight)

    def _list(self, where: str, line: str) -> None:
        u, *heads = line.split()
        for v in heads:
            self._add(where, u, v, "")

    def _matrix(self, where: str, line: str) -> None:
        self.row += 1
        values, before = line.split(), self.first_mode
        if len(values) != self.n - before or self.row > (before or self.n):
            raise InputError(
                f"{where}: row {self.row} of a matrix has {len(values)} values; its size is that of *Vertices"
            )
        for column, value in enumerate(values, before + 1):
            if not NUMBER.fullmatch(value):
                raise InputError(f"{where}: {shown(value)} is no number")
            if float(value):
                self._add(where, str(self.row), str(column), value)

    def _nothing(self, where: str, line: str) -> None:
        raise InputError(f"{where}: {shown(line)} stands outside of all sections; *Vertices comes first")

    def _other(self, where: str, line: str) -> None:
        """Leave out what describes vertices."""

    def _add(self, where: str, u: str, v: str, weight: str) -> None:
        is_number = NUMBER.fullmatch(weight) is not None
        if not is_number and weight and not (weight[0] == "[" or weight[0].isalpha()):  # a time, or a colour
            raise InputError(f"{where}: weight {shown(weight)} is no number")
        ends = self._vertex(where, u), self._vertex(where, v)
        self.network.edges.append((*ends, float(weight) if is_number else 1.0, self.both))

    def _vertex(self, where: str, word: str) -> int:
        if not word.isdigit() or not 1 <= int(word[:12]) <= self.n:
            raise InputError(f"{where}: vertex {shown(word)} is outside [1, {self.n}]")
        return int(word)
