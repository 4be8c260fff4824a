"""Names of vertices: texts in the order of their UTF-8 bytes, packed end to end."""

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gpukit.graph.lines import shown

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What no label may hold: a file of vertices, and a line of a message, could not."""

SEARCHED, SHOWN = 100_000, 3
"""Labels that a text is compared with at most, which takes a second or two, and those that are shown."""

_MANY = 16
"""A table of all labels is made to find at least one in so many of them."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of vertices 0 … n-1, ascending by their UTF-8 bytes, no two equal, none empty, no blanks around them.

    Attributes
    ----------
    offsets : int64 array, shape (n + 1,)
        Start of each label in ``data``.
    data : uint8 array
        The labels in UTF-8.
    """

    offsets: np.ndarray
    data: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Labels":
        """Return labels; the texts must ascend, as :func:`sorted` has them: that is the order of their UTF-8, too."""
        parts = [text.encode() for text in texts]
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(parts), np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def texts(self, vertices) -> np.ndarray:
        """Return the labels of vertices as an array of ``str`` objects of the same shape."""
        vertices = np.asarray(vertices, np.int64)
        found = np.empty(vertices.shape, object)
        found.ravel()[:] = [self._text(vertex) for vertex in vertices.ravel().tolist()]
        return found

    def find(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vertex of each text (int64), -1 where there is none of that label."""
        if len(texts) * _MANY > len(self):
            table = {self._text(vertex): vertex for vertex in range(len(self))}
            return np.array([table.get(text, -1) for text in texts], np.int64)
        return np.array([self._place(text.encode(errors="surrogatepass")) for text in texts], np.int64)

    def merged(self, *, fold_case: bool = True, strip: bool = True) -> tuple["Labels", np.ndarray]:
        """Return the labels in lower case, with single blanks, or both, and the vertex (int32) of each old one."""
        texts: Iterable[str] = (self._text(vertex) for vertex in range(len(self)))
        if strip:
            texts = (" ".join(text.split()) for text in texts)
        known = Interned()
        numbers = known.numbers(text.lower() if fold_case else text for text in texts)
        labels, vertices = known.ordered()
        return labels, vertices[numbers]

    def alike(self) -> tuple[int, list[str]]:
        """Return how many labels are others but for case and blanks, and two of them that are the same."""
        odd = ((self.data - ord("A")) < 26) | (self.data > 127) | (self.data == ord(" "))  # unsigned: wraps below A
        if not odd.any():
            return 0, []
        labels, vertices = self.merged()
        order = np.argsort(vertices, kind="stable")
        again = np.flatnonzero(np.diff(vertices[order]) == 0)
        pair = order[again[0] : again[0] + 2] if len(again) else order[:0]
        return len(self) - len(labels), self.texts(pair).tolist()

    def near(self, text: str) -> list[str]:
        """Return some labels that may be meant by a text: those that hold it, capitals aside, or else look like it."""
        wanted = text.strip().casefold()
        if not wanted or len(self) > SEARCHED:
            return []
        known = {self._text(vertex).casefold(): vertex for vertex in reversed(range(len(self)))}
        held = sorted((one for one in known if wanted in one), key=lambda one: (len(one), one))
        return [self._text(known[one]) for one in held[:SHOWN] or difflib.get_close_matches(wanted, known, SHOWN)]

    def advice(self, text: str, otherwise: str) -> str:
        """Return what a message says of a text that is no label: names that may be meant, or else something else."""
        near = " or ".join(map(shown, self.near(text)))
        return f"did you mean {near}? Else {otherwise}" if near else otherwise

    def take(self, vertices: np.ndarray) -> "Labels":
        """Return the labels of some vertices, which ascend."""
        return Labels.of(self.texts(vertices))

    def _text(self, vertex: int) -> str:
        return self._bytes(vertex).decode()

    def _bytes(self, vertex: int) -> bytes:
        return self.data[self.offsets[vertex] : self.offsets[vertex + 1]].tobytes()

    def _place(self, wanted: bytes) -> int:
        """Return where a label lies, by bisection; -1 if nowhere."""
        place = bisect_left(range(len(self)), wanted, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == wanted else -1


class Interned:
    """Texts as they come by, each with a number, until all are known and can be put in order."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, texts: Iterable[str]) -> np.ndarray:
        """Return the number of each text (int32), a new one for a new text."""
        known = self._numbers
        return np.array([known.setdefault(text, len(known)) for text in texts], np.int32)

    def ordered(self) -> tuple[Labels, np.ndarray]:
        """Return the labels, and the vertex (int32) of each number."""
        texts = sorted(self._numbers)
        vertices = np.empty(len(texts), np.int32)
        vertices[[self._numbers[text] for text in texts]] = np.arange(len(texts), dtype=np.int32)
        return Labels.of(texts), vertices
