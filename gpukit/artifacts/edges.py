"""Comparison of a matrix with its transpose, in one pass over each, by NumPy: numba must not start so early."""

import os

import numpy as np

_AT_ONCE = 1 << 14

Matrix = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    for start in range(0, len(indices), _AT_ONCE):
        end = min(start + _AT_ONCE, len(indices))
        first, last = np.searchsorted(indptr, (start, end - 1), side="right") - 1
        often = np.diff(np.clip(indptr[first : last + 2], start, end))
        tails = np.repeat(np.arange(first, last + 1, dtype=np.uint64), often)
        heads = indices[start:end].astype(np.uint64)
        high, low = (heads, tails) if backwards else (tails, heads)
        x = _mixed((high << np.uint64(32) | low) ^ keys[0])
        if len(words):
            x ^= words[start:end]
        total += int(_mixed(x + keys[1]).sum())
    return total % (1 << 64)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Return well mixed 64-bit words (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
