"""Edges as adjacent pairs of ids. Pairs of 32-bit ids become keys, and then rows, in the same memory."""

import sys

import numpy as np
import numpy.typing as npt

_TAIL = 1 if sys.byteorder == "little" else 0
"""Index of the word that is the high half of a key, tail << 32 | head."""

Chunk = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Tails, heads, and weights if they are needed."""


def paired(count: int, kind: npt.DTypeLike = np.int32) -> tuple[np.ndarray, np.ndarray]:
    """Return arrays for ``count`` tails and heads."""
    return _ends(np.empty((count, 2), kind))


def keys_behind(u: np.ndarray, v: np.ndarray) -> np.ndarray | None:
    """Return the keys (int64, shape (edges,)) whose halves are these tails and heads; None if they are not such halves.

    The arrays must be those that :func:`paired` returned, or equally long beginnings of them.
    """
    words = u.base
    if words is None or words is not v.base or words.dtype != np.int32 or words.shape[1:] != (2,):
        return None
    start, places = words.ctypes.data, (u.ctypes.data, v.ctypes.data)
    if places != (start + 4 * _TAIL, start + 4 * (1 - _TAIL)) or not u.strides == v.strides == (8,):
        return None
    return words.view(np.int64).reshape(-1)[: len(u)] if words.flags.c_contiguous and len(u) == len(v) else None


class Listing:
    """Edges from many chunks, in one growing memory block. The system moves pages, so no edge is stored twice.

    Parameters
    ----------
    weights : bool
        Whether the chunks have weights.
    room : int
        Edges to reserve room for at the start, if their number is known.
    """

    def __init__(self, weights: bool, room: int = 0) -> None:
        self._words = np.empty((room, 2), np.int32)
        self._w = np.empty(room) if weights else None
        self._count = 0

    def add(self, chunk: Chunk) -> None:
        """Append a copy of a chunk; ids are stored in 64 bits from the first one that needs them."""
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
        """Return all edges; no more can be added afterwards."""
        self._resize(self._count)
        return *_ends(self._words), self._w

    def _resize(self, room: int) -> None:
        self._words.resize((room, 2), refcheck=False)
        if self._w is not None:
            self._w.resize(room, refcheck=False)


def _ends(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return words[:, _TAIL], words[:, 1 - _TAIL]
