"""Edges as pairs of ids side by side: where they are read pairs of 32 bits become keys, and then rows, in place."""

import sys

import numpy as np
import numpy.typing as npt

_TAIL = 1 if sys.byteorder == "little" else 0
"""Which of the two words is the high one of a key, tail << 32 | head."""

Chunk = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Tails, heads, and weights where these are wanted."""


def paired(count: int, kind: npt.DTypeLike = np.int32) -> tuple[np.ndarray, np.ndarray]:
    """Return room for ``count`` tails and heads."""
    return _ends(np.empty((count, 2), kind))


def keys_behind(u: np.ndarray, v: np.ndarray) -> np.ndarray | None:
    """Return the keys (int64, shape (edges,)) in whose halves tails and heads lie; None if they lie elsewhere.

    They are the first of what :func:`paired` gave, or all of it.
    """
    words = u.base
    if words is None or words is not v.base or words.dtype != np.int32 or words.shape[1:] != (2,):
        return None
    start, places = words.ctypes.data, (u.ctypes.data, v.ctypes.data)
    if places != (start + 4 * _TAIL, start + 4 * (1 - _TAIL)) or not u.strides == v.strides == (8,):
        return None
    return words.view(np.int64).reshape(-1)[: len(u)] if words.flags.c_contiguous and len(u) == len(v) else None


class Listing:
    """Edges chunk after chunk, in one place that grows: the system moves pages, so that no edge is there twice.

    Parameters
    ----------
    weights : bool
        Whether the chunks have weights.
    room : int
        Edges to have room for from the start, where it is known how many there will be.
    """

    def __init__(self, weights: bool, room: int = 0) -> None:
        self._words = np.empty((room, 2), np.int32)
        self._w = np.empty(room) if weights else None
        self._count = 0

    def add(self, chunk: Chunk) -> None:
        """Copy a chunk behind those before it; ids take 64 bits from the first that needs them."""
        u, v, w = chunk
        start, end = self._count, self._count + len(u)
        is_wide = len(u) > 0 and u.dtype.itemsize > self._words.itemsize
        if is_wide and max(u.max(), v.max()) > np.iinfo(self._words.dtype).max:
            self._words = self._words.astype(u.dtype)
        if end > len(self._words):
            self._resize(end + end // 16)
        keys = keys_behind(u, v)
        if keys is not None and self._words.itemsize == u.itemsize:
            self._words[start:end] = keys.view(np.int32).reshape(-1, 2)
        else:
            tails, heads = _ends(self._words[start:end])
            tails[:], heads[:] = u, v
        if self._w is not None:
            self._w[start:end] = w
        self._count = end

    def edges(self) -> Chunk:
        """Return all edges; no more can be added."""
        self._resize(self._count)
        return *_ends(self._words), self._w

    def _resize(self, room: int) -> None:
        self._words.resize((room, 2), refcheck=False)
        if self._w is not None:
            self._w.resize(room, refcheck=False)


def _ends(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return words[:, _TAIL], words[:, 1 - _TAIL]
