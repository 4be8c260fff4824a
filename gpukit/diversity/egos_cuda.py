"""Ego-networks in CSR on the current GPU, with the arrays of :func:`gpukit.diversity.egos.extract`.

Row u of ego(v) is N(u) ∩ N(v). Each thread owns a part of the row; it counts this part, and later fills it in order,
without locks or atomics.
"""

import numpy as np
from numba import int64

from gpukit.device.arrays import Buffer, free_memory, xp
from gpukit.device.kernels import cuda, device, kernel
from gpukit.device.memory import check_budget
from gpukit.diversity.egos import EgoNetworks
from gpukit.diversity.network_cuda import find, over
from gpukit.diversity.problem import running
from gpukit.graph.csr import Graph
from gpukit.wording import spelled

BLOCK = 128
"""Threads in a block."""

PARTS = 8
"""Threads that share a row; each owns a stretch of the shorter list."""


@device
def _owner(begin, item):
    """Return the last place whose value in the ascending ``begin`` is at most ``item``."""
    low, high = int64(0), int64(len(begin) - 1)
    while low < high:
        middle = (low + high) >> 1
        if begin[middle + 1] <= item:
            low = middle + 1
        else:
            high = middle
    return low


_i32, _i64 = "int32[::1]", "int64[::1]"


@kernel((_i32, _i64, _i64, _i32, _i64, _i32, _i32, "boolean"))
def ego_rows(centres, node_begin, indptr, indices, starts, nodes, targets, fill):
    """Count or fill the rows of ego-networks; any grid, one thread for each of the ``PARTS`` parts of a row.

    A thread looks for its stretch of the shorter of N(u) and N(v) in the longer list: one binary search per entry.

    Parameters
    ----------
    centres : int32 array, shape (count,)
    node_begin : int64 array, shape (count + 1,)
        First row of each ego-network.
    indptr, indices
        The graph, rows ascending.
    starts : int64 array, shape (rows * PARTS + 1,)
        Counting: receives the length of part x at x + 1. Filling: the start of each part.
    nodes : int32 array, shape (rows,)
        Receives the neighbour that each row belongs to; only when filling.
    targets : int32 array
        Receives places in the list of the centre's neighbours; only when filling.
    fill : bool
    """
    for x in range(cuda.grid(1), (len(starts) - 1), cuda.gridsize(1)):
        row, part = x // PARTS, x % PARTS
        ego = _owner(node_begin, row)
        v = centres[ego]
        begin, end = indptr[v], indptr[v + 1]
        u = indices[begin + row - node_begin[ego]]
        a, a_end, b, b_end = begin, end, indptr[u], indptr[u + 1]
        swapped = a_end - a > b_end - b
        if swapped:
            a, a_end, b, b_end = b, b_end, a, a_end
        stretch = (a_end - a + PARTS - 1) // PARTS
        low = min(a + part * stretch, a_end)
        high = min(low + stretch, a_end)
        at = starts[x] if fill else int64(0)
        for p in range(low, high):
            place = find(indices, b, b_end, indices[p])
            if place >= 0:
                b = place + 1
                if fill:
                    targets[at] = (place if swapped else p) - begin
                at += 1
        if not fill:
            starts[x + 1] = at
        elif part == 0:
            nodes[row] = u


def extract(graph: Graph, centres: np.ndarray, *, memory: int | None = None) -> EgoNetworks:
    """Return the ego-networks of vertices of an undirected graph on the current GPU, in their order.

    Parameters
    ----------
    graph : Graph
        Undirected.
    centres : integer array
        Internal ids.
    memory : int, optional
        Bytes of device memory to use at most; most of what is free if not given.

    Raises
    ------
    DeviceError
        If they do not fit.
    """
    memory = int(0.9 * free_memory()) if memory is None else memory
    centres = np.asarray(centres, np.int32)
    node_begin = running(np.diff(graph.indptr)[centres])
    rows = int(node_begin[-1])
    advice = f"give fewer {spelled('vertices')} at a time, or use {spelled('device', 'cpu')}"
    needs = {"the graph": graph.indptr.nbytes + graph.indices.nbytes, "row starts": (16 * PARTS + 4) * rows}
    check_budget(needs, memory, "the GPU", advice)
    sources = (Buffer(centres), Buffer(node_begin), Buffer(graph.indptr), Buffer(graph.indices))
    starts, nodes = Buffer(rows * PARTS + 1, np.int64, 0), Buffer(max(1, rows), np.int32)
    over(rows * PARTS, ego_rows, *sources, starts, nodes, nodes, False, block=BLOCK)
    starts = Buffer(xp.cumsum(starts.array))
    size = int(starts.array[-1])
    check_budget({**needs, "edges": 4 * size}, memory, "the GPU", advice)
    targets = Buffer(max(1, size), np.int32)
    over(rows * PARTS, ego_rows, *sources, starts, nodes, targets, True, block=BLOCK)
    indptr = Buffer(xp.ascontiguousarray(starts.array[::PARTS])).host()
    return EgoNetworks(centres, node_begin, nodes.host(rows), indptr, targets.host(size))
