"""Kernels of :mod:`gpukit.graph.build`; every result is the same for any number of threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numba import prange

from gpukit.device.compiled import njit


def rows_by_edges(indptr: np.ndarray, workers: int) -> np.ndarray:
    """Return the boundaries (int64, workers + 1) of row ranges with about equal numbers of edges."""
    first_rows = np.searchsorted(indptr, np.arange(workers + 1) * indptr[-1] // workers)
    first_rows[0], first_rows[-1] = 0, len(indptr) - 1
    return first_rows


def in_parts(kernel: Callable[..., None], bounds: np.ndarray, *arguments: Any) -> None:
    """Run a kernel on the ranges between ascending bounds in threads; Numba's threads would end a forked process."""
    with ThreadPoolExecutor(len(bounds) - 1) as pool:
        list(pool.map(lambda low, end: kernel(*arguments, low, end), bounds[:-1], bounds[1:]))


def transpose_rows(
    indptr: np.ndarray, indices: np.ndarray, payload: np.ndarray, room: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transpose CSR rows; each row of the result lists its sources in ascending order.

    A counting sort. Worker i takes a range of rows with about m / workers edges and counts them by head. Then it writes
    them after those of the previous workers. Cost O(m + n · workers).

    Parameters
    ----------
    indptr : int64 array, shape (n + 1,)
    indices : int32 array, shape (m,)
    payload : uint32 array, shape (m,) or (0,)
        A word per edge, moved along with it.
    room : int32 array, shape (m,), optional
        Receives the indices of the transpose; a new array by default.

    Returns
    -------
    tuple of 3 arrays
        The first three arrays of the transpose.
    """
    n, m = len(indptr) - 1, len(indices)
    workers = max(1, min(numba.get_num_threads(), m // (2 * n + 1)))  # their counters must not be larger
    first_rows = rows_by_edges(indptr, workers)
    result = np.empty(m, np.int32) if room is None else room
    counts = np.zeros((workers, n), np.uint32 if m < 1 << 32 else np.int64)
    starts, carried = _scatter(indptr, indices, payload, first_rows, counts, result)
    return starts, result, carried


@njit(parallel=True)
def _scatter(indptr, indices, payload, first_rows, counts, result):
    """Transpose; worker i owns the rows from ``first_rows[i]`` on and the counters ``counts[i]``, zero at first."""
    workers, n = counts.shape
    for worker in prange(workers):
        for i in range(indptr[first_rows[worker]], indptr[first_rows[worker + 1]]):
            counts[worker, indices[i]] += 1
    starts = np.zeros(n + 1, np.int64)
    for row in range(n):
        place = starts[row]
        for worker in range(workers):
            count = counts[worker, row]
            counts[worker, row] = place
            place += count
        starts[row + 1] = place
    carried = np.empty(len(payload), np.uint32)
    for worker in prange(workers):
        for row in range(first_rows[worker], first_rows[worker + 1]):
            for i in range(indptr[row], indptr[row + 1]):
                place = counts[worker, indices[i]]
                counts[worker, indices[i]] = place + 1
                result[place] = row
                if len(payload):
                    carried[place] = payload[i]
    return starts, carried


@njit
def merge_keys(keys, indptr, indices):
    """Make CSR rows of ascending keys, tail << 32 | head, without loops and repeats.

    Parameters
    ----------
    keys : int64 array, shape (edges,)
    indptr : int64 array, shape (n + 1,)
        Receives the row starts, and the end.
    indices : int32 array, shape (edges,)
        Receives the heads. It may be the first half of ``keys``, because a place is written only after its key was
        read.

    Returns
    -------
    tuple of 2 ints
        Number of edges kept, and of keys that were loops. Cost: one pass.
    """
    kept, loops, row, last = 0, 0, 0, -1
    indptr[0] = 0
    for i in range(len(keys)):
        key = keys[i]
        tail, head = key >> 32, key & 0xFFFFFFFF
        if tail == head:
            loops += 1
        elif key != last:
            while row < tail:
                row += 1
                indptr[row] = kept
            indices[kept] = head
            kept += 1
            last = key
    while row < len(indptr) - 1:
        row += 1
        indptr[row] = kept
    return kept, loops


def mark_ends(tails: np.ndarray, heads: np.ndarray, present: np.ndarray) -> None:
    """Set ``present`` (bool) at each tail and head; several threads may set the same place."""
    threads = numba.get_num_threads()
    in_parts(_mark_ends, np.arange(threads + 1) * len(tails) // threads, tails, heads, present)


@njit
def _mark_ends(tails, heads, present, low, end):
    """Set ``present`` at the tails and heads of edges low … end - 1."""
    for i in range(low, end):
        present[tails[i]] = True
        present[heads[i]] = True


def pack_keys(tails: np.ndarray, heads: np.ndarray, rank: np.ndarray, keys: np.ndarray) -> None:
    """Write rank of the tail << 32 | rank of the head of each edge to ``keys`` (int64), in one pass without copies.

    Tails and heads may be the halves of the keys.
    """
    threads = numba.get_num_threads()
    in_parts(_pack_keys, np.arange(threads + 1) * len(keys) // threads, tails, heads, rank, keys)


@njit
def _pack_keys(tails, heads, rank, keys, low, end):
    """Write the keys of edges low … end - 1."""
    for i in range(low, end):
        keys[i] = np.int64(rank[tails[i]]) << 32 | np.int64(rank[heads[i]])


@njit
def combine_groups(starts, words):
    """Return the stored word of 1 - ∏(1 - p) over each group of edges, multiplied in ascending order of p.

    Words are fixed-point probabilities, minus one; so 1 - p is exact in float64, and a group of one keeps its word.

    Parameters
    ----------
    starts : int64 array, shape (groups + 1,)
    words : uint32 array
        Sorted in place within each group, so that the input order does not matter.

    Returns
    -------
    uint32 array, shape (groups,)
    """
    result = np.empty(len(starts) - 1, np.uint32)
    for group in range(len(result)):
        if starts[group + 1] - starts[group] > 1:
            words[starts[group] : starts[group + 1]].sort()
        miss = 1.0
        for i in range(starts[group], starts[group + 1]):
            miss *= 1.0 - (float(words[i]) + 1.0) / 4294967296.0
        result[group] = np.uint32(max(np.floor((1.0 - miss) * 4294967296.0 + 0.5), 1.0) - 1.0)
    return result
