"""Rows of a CSR on a GPU: which row an entry lies in, the transpose, and how a kernel is run over things."""

from dataclasses import replace
from typing import Any

import numpy as np
from numba import int64

from gpukit.device.arrays import Buffer, xp
from gpukit.device.kernels import cuda, device, kernel
from gpukit.device.launch import launch
from gpukit.device.select import simulated
from gpukit.graph.csr import Graph

BLOCK = 8 if simulated() else 256

GROUP = 32
"""Consecutive entries that a thread visits."""


@device
def last_upto(offsets, low, high, goal):
    """Return the last of the places low … high - 1 whose offset does not exceed ``goal``, or ``low``; one thread."""
    while high - low > 1:
        middle = (low + high) >> 1
        if offsets[middle] <= goal:
            low = middle
        else:
            high = middle
    return low


@device
def row_of(begin, entry):
    """Return the row, the last one if others before it are empty, in which an entry lies."""
    return last_upto(begin, int64(0), int64(len(begin) - 1), entry)


_i32, _i64, _int = "int32[::1]", "int64[::1]", "int64"


@kernel((_i64, _i32, _i64))
def edge_keys(begin, indices, keys):
    """Write column << 32 | row of each entry of a CSR; a thread owns GROUP entries (4 bytes read, 8 written each)."""
    first = cuda.grid(1) * int64(GROUP)
    last = min(first + GROUP, int64(len(indices)))
    if first < last:
        row = row_of(begin, first)
        for e in range(first, last):
            while e >= begin[row + 1]:
                row += 1
            keys[e] = int64(indices[e]) << 32 | row


@kernel((_i64, _int, _i32))
def first_rows(begin, entries, rows):
    """Write the row of every GROUP-th entry; a thread owns one (a binary search)."""
    group = cuda.grid(1)
    if group * int64(GROUP) < entries:
        rows[group] = row_of(begin, group * int64(GROUP))


def on_device(graph: Graph) -> Graph:
    """Return the graph with its out-edges in the memory of the current GPU."""
    return replace(graph, indptr=xp.asarray(graph.indptr), indices=xp.asarray(graph.indices))


def for_each(kernel: Any, count: int, *args: Any) -> None:
    """Run a kernel with a thread for each of ``count`` things; arrays may be anywhere."""
    if count:
        views = [Buffer(a).view if getattr(a, "ndim", 0) else a for a in args]
        launch(kernel, -(-count // BLOCK), BLOCK, *views)


def transposed(graph: Graph) -> tuple[Any, Any]:
    """Return row starts and tails of the in-edges."""
    if graph.in_indptr is not None:
        return xp.asarray(graph.in_indptr), xp.asarray(graph.in_indices)
    keys = xp.empty(graph.m, np.int64)
    for_each(edge_keys, -(-graph.m // GROUP), graph.indptr, graph.indices, keys)
    keys.sort()
    return starts_of(keys, graph.n), keys.astype(np.int32)


def starts_of(pairs: Any, last: int, first: int = 0) -> Any:
    """Return where each row ``first`` … ``last`` begins in ascending row << 32 | column."""
    return xp.searchsorted(pairs, xp.arange(first, last + 1, dtype=np.int64) << 32).astype(np.int64)


def to_host(array: Any) -> np.ndarray:
    """Return an array in host memory."""
    return array if isinstance(array, np.ndarray) else xp.asnumpy(array)
