"""What rows and edges must be, piece by piece, by NumPy: numba must not start so early."""

import os
from collections.abc import Iterator

import numpy as np

from gpukit.artifacts.cores import on_all_cores
from gpukit.errors import InputError

_AT_ONCE = 1 << 16
"""Edges that are looked at together, in a core's cache; threads on pieces so small would wait for Python's lock."""

_PART = 1 << 22
"""Values that a thread compares together."""

Matrix = tuple[np.ndarray, np.ndarray, np.ndarray]


def rows_ascend(starts: np.ndarray, values: np.ndarray, what: str) -> None:
    """Check that values rise strictly within each row; ``starts`` has one entry more than there are rows.

    Raises
    ------
    InputError
        Naming the first row that does not.
    """

    def fall(first: int) -> int | None:
        """Return the first place from ``first`` on whose value does not rise to the next one in its row."""
        last = min(first + _PART, len(values) - 1)
        rising = values[first + 1 : last + 1] > values[first:last]
        begin, end = np.searchsorted(starts, (first + 1, last + 1))
        rising[starts[begin:end] - first - 1] = True
        return None if rising.all() else first + int(np.argmin(rising))

    falls = on_all_cores(fall, range(0, len(values) - 1, _PART))
    place = next((one for one in falls if one is not None), None)
    if place is not None:
        row = int(np.searchsorted(starts, place, side="right")) - 1
        raise InputError(f"{what} of row {row} do not ascend (… {values[place]}, {values[place + 1]} …)")


def first_loop(starts: np.ndarray, heads: np.ndarray) -> int | None:
    """Return the first edge from a vertex to itself."""
    for start, end in _pieces(len(heads)):
        loops = np.flatnonzero(_tails(starts, start, end) == heads[start:end])
        if len(loops):
            return start + int(loops[0])
    return None


def same_edges(first: Matrix, second: Matrix) -> bool:
    """Return whether a matrix is the transpose of another; the same one twice asks whether it is symmetric.

    Both are sets of edges, since their rows ascend, and sets are equal if the sums of a random function over them are:
    a wrong one passes once in 2^64 times, and nobody can prepare a file for a function that is drawn anew every time.

    Parameters
    ----------
    first, second : tuple of indptr, indices, words
        int64 (n + 1,), integers (m,) and uint32 (m,) or (0,), what travels along with the edges; of equal lengths.
    """
    keys = np.frombuffer(os.urandom(16), np.uint64)
    return _edge_sum(first, False, keys) == _edge_sum(second, True, keys)


def _edge_sum(matrix: Matrix, backwards: bool, keys: np.ndarray) -> int:
    """Return the sum, modulo 2^64, of a keyed function of tail, head and word over all edges."""
    indptr, indices, words = matrix
    total = 0
    for start, end in _pieces(len(indices)):
        tails = _tails(indptr, start, end).astype(np.uint64)
        heads = indices[start:end].astype(np.uint64)
        high, low = (heads, tails) if backwards else (tails, heads)
        x = _mixed((high << np.uint64(32) | low) ^ keys[0])
        if len(words):
            x ^= words[start:end]
        total += int(_mixed(x + keys[1]).sum())
    return total % (1 << 64)


def _pieces(count: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of edges that are looked at together."""
    return ((start, min(start + _AT_ONCE, count)) for start in range(0, count, _AT_ONCE))


def _tails(indptr: np.ndarray, start: int, end: int) -> np.ndarray:
    """Return the rows (int32) of a range of entries."""
    first, last = np.searchsorted(indptr, (start, end - 1), side="right") - 1
    often = np.diff(np.clip(indptr[first : last + 2], start, end))
    return np.repeat(np.arange(first, last + 1, dtype=np.int32), often)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Return well mixed 64-bit words (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
