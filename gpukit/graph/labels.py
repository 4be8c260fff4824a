"""Names of vertices: texts in the order of their UTF-8 bytes, packed end to end."""

import difflib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gpukit.graph.lines import shown

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Characters that labels must not have: a vertex file and a message line could not hold them."""

SEARCHED, SHOWN = 100_000, 3
"""Most labels that a text is compared with, which takes a second or two; most labels suggested."""

_MANY = 16
"""A table of all labels is built if at least one label in ``_MANY`` is looked up."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of vertices 0 … n-1: distinct, not empty, no surrounding blanks, ascending by their UTF-8 bytes.

    Attributes
    ----------
    offsets : int64 array, shape (n + 1,)
        Start of each label in ``data``.
    data : uint8 array
        The labels in UTF-8.
    fold_case, strip : bool
        Whether spellings that differ only in case, or only in runs of blanks, name the same vertex.
    """

    offsets: np.ndarray
    data: np.ndarray
    fold_case: bool = False
    strip: bool = False

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Labels":
        """Return labels; the texts must ascend as in :func:`sorted`, which is also the order of their UTF-8 bytes."""
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
        """Return the vertex that each text names (int64), in any accepted spelling; -1 if no vertex has that label."""
        if self.fold_case or self.strip:
            folded = (_folded(text, self.fold_case, self.strip) for text in texts)
            return np.array([self._spellings.get(one, -1) for one in folded], np.int64)
        if len(texts) * _MANY > len(self):
            table = {self._text(vertex): vertex for vertex in range(len(self))}
            return np.array([table.get(text, -1) for text in texts], np.int64)
        return np.array([self._place(text.encode(errors="surrogatepass")) for text in texts], np.int64)

    @cached_property
    def _spellings(self) -> dict[str, int]:
        """The vertex of each label, by its text without the differences to ignore."""
        return {_folded(self._text(one), self.fold_case, self.strip): one for one in range(len(self))}

    @property
    def facts(self) -> dict[str, bool]:
        """What a graph stores about its names: which spellings were joined."""
        return {name: True for name in ("fold_case", "strip") if getattr(self, name)}

    def joined(self, facts: Mapping[str, Any]) -> "Labels":
        """Return the labels with the settings that a graph stores; see :attr:`facts`."""
        return replace(self, fold_case=bool(facts.get("fold_case")), strip=bool(facts.get("strip")))

    def merged(self, ends: np.ndarray, *, fold_case: bool, strip: bool) -> tuple["Labels", np.ndarray]:
        """Join labels that differ in case, in runs of blanks, or in both.

        Parameters
        ----------
        ends : array
            The vertex of each end of an edge, in the order of the file. The most frequent spelling of a name is kept;
            if several are equally frequent, the first of them.
        fold_case, strip : bool
            Which differences to ignore.

        Returns
        -------
        Labels
        int32 array
            The new vertex of each old one.
        """
        texts = [_folded(self._text(vertex), False, strip) for vertex in range(len(self))]
        counts = Counter[str]()
        for text, times in zip(texts, np.bincount(ends, minlength=len(self)).tolist(), strict=True):
            counts[text] += times
        _, firsts = np.unique(np.concatenate([ends, np.arange(len(self))]), return_index=True)
        chosen: dict[str, str] = {}
        for text in (texts[vertex] for vertex in np.argsort(firsts).tolist()):
            key = _folded(text, fold_case, strip)
            chosen[key] = max(chosen.get(key, text), text, key=counts.__getitem__)
        known = Interned()
        numbers = known.numbers(chosen[_folded(text, fold_case, strip)] for text in texts)
        labels, vertices = known.ordered()
        return replace(labels, fold_case=fold_case, strip=strip), vertices[numbers]

    def alike(self) -> tuple[int, list[str]]:
        """Return how many labels equal earlier ones up to case and blanks, and one such pair."""
        odd = ((self.data - ord("A")) < 26) | (self.data > 127) | (self.data == ord(" "))  # unsigned: wraps below A
        if not odd.any():
            return 0, []
        known = Interned()
        vertices = known.numbers(_folded(self._text(vertex), True, True) for vertex in range(len(self)))
        order = np.argsort(vertices, kind="stable")
        again = np.flatnonzero(np.diff(vertices[order]) == 0)
        pair = order[again[0] : again[0] + 2] if len(again) else order[:0]
        return len(self) - len(known), self.texts(pair).tolist()

    def near(self, text: str) -> list[str]:
        """Return some labels that a text may mean: those that contain it, ignoring case, or else similar ones."""
        wanted = text.strip().casefold()
        if not wanted or len(self) > SEARCHED:
            return []
        known = {self._text(vertex).casefold(): vertex for vertex in reversed(range(len(self)))}
        held = sorted((one for one in known if wanted in one), key=lambda one: (len(one), one))
        return [self._text(known[one]) for one in held[:SHOWN] or difflib.get_close_matches(wanted, known, SHOWN)]

    def advice(self, text: str, otherwise: str) -> str:
        """Return the advice of a message about an unknown label: labels that may be meant, or else ``otherwise``."""
        near = " or ".join(map(shown, self.near(text)))
        return f"did you mean {near}? Otherwise {otherwise}" if near else otherwise

    def take(self, vertices: np.ndarray) -> "Labels":
        """Return the labels of some vertices; their labels must ascend."""
        return Labels.of(self.texts(vertices))

    def _text(self, vertex: int) -> str:
        return self._bytes(vertex).decode()

    def _bytes(self, vertex: int) -> bytes:
        return self.data[self.offsets[vertex] : self.offsets[vertex + 1]].tobytes()

    def _place(self, wanted: bytes) -> int:
        """Return the vertex with a label, found by bisection; -1 if there is none."""
        place = bisect_left(range(len(self)), wanted, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == wanted else -1


def _folded(text: str, fold_case: bool, strip: bool) -> str:
    """Return a text without the differences to ignore: folded to one case, and without runs of blanks."""
    text = " ".join(text.split()) if strip else text
    return text.casefold() if fold_case else text


class Interned:
    """Collects texts and numbers them, until all are known and can be sorted."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, texts: Iterable[str]) -> np.ndarray:
        """Return the number of each text (int32); a new text gets the next number."""
        known = self._numbers
        return np.array([known.setdefault(text, len(known)) for text in texts], np.int32)

    def ordered(self) -> tuple[Labels, np.ndarray]:
        """Return the sorted labels, and the vertex (int32) that each provisional number became."""
        texts = sorted(self._numbers)
        vertices = np.empty(len(texts), np.int32)
        vertices[[self._numbers[text] for text in texts]] = np.arange(len(texts), dtype=np.int32)
        return Labels.of(texts), vertices
