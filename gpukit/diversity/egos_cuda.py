"""Ego-networks in CSR on the current GPU, the arrays of :func:`gpukit.diversity.egos.extract`: kernels and launches.

Row u of ego(v) is N(u) ∩ N(v): it can be counted, and later filled in order, by threads that each own a part of it,
without locks or atomics. Algorithm 2 of the paper is there for comparison: triangles are listed once and scattered to
the ego-networks, degrees are counted with atomics, and one thread of a block inserts the edges in order.
"""

from typing import Any

import numba
import numpy as np
from numba import cuda, int32, int64

from gpukit.device.arrays import Buffer, free_memory, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget
from gpukit.diversity.egos import EgoNetworks
from gpukit.diversity.network_cuda import LANES, find
from gpukit.graph.csr import Graph

BLOCK, BLOCKS = 128, 1 << 14
"""Threads in a block, and most blocks of a launch."""

PARTS = 8
"""Threads that share a row, each with its own stretch of the shorter of the two lists."""


@cuda.jit(device=True)
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


@cuda.jit(cache=True)
def ego_rows(centres, node_begin, indptr, indices, starts, nodes, targets, fill):
    """Count or fill the rows of ego-networks; any grid. A thread owns one of the ``PARTS`` parts of a row.

    It looks for its stretch of the shorter of N(u) and N(v) in the longer one: a binary search an entry.

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


@cuda.jit(cache=True)
def list_triangles(indptr, indices, tails, cursor, keys):
    """List each triangle u < w < x as three ego edges: corner << 32 | place of the opposite edge; any grid.

    ``LANES`` threads own an edge (u, w): one atomic add on ``cursor`` and 24 bytes written for each triangle. With an
    empty ``keys`` it only counts.
    """
    lane = cuda.threadIdx.x % LANES
    for p in range(cuda.grid(1) // LANES, len(indices), cuda.gridsize(1) // LANES):
        u, w = tails[p], indices[p]
        if w > u:
            for q in range(p + 1 + lane, indptr[u + 1], LANES):
                x = indices[q]
                place = find(indices, indptr[w], indptr[w + 1], x)
                if place >= 0:
                    at = cuda.atomic.add(cursor, 0, 3)
                    if at + 2 < len(keys):
                        keys[at] = int64(u) << 32 | place
                        keys[at + 1] = int64(w) << 32 | q
                        keys[at + 2] = int64(x) << 32 | p


@cuda.jit(cache=True)
def aggregate(indptr, indices, tails, edge_begin, keys, starts, degrees, targets):
    """Make the CSR rows of all ego-networks from their edge lists (algorithm 2); a block owns one at a time.

    Threads map the ends of edges to places (a binary search each) and count degrees with atomics; thread 0 adds the
    degrees up and inserts the edges one after the other, so that rows ascend.

    Parameters
    ----------
    indptr, indices, tails
        The graph, and the tail of each arc.
    edge_begin : int64 array, shape (n + 1,)
        First edge of each ego-network in ``keys``.
    keys : int64 array
        Of :func:`list_triangles`, ascending.
    starts : int64 array, shape (m + 1,)
        Receives the row starts, given 2 * edge_begin.
    degrees : int32 array, shape (m,)
        Zeros at the start, and at the end.
    targets : int32 array
        The result.
    """
    for v in range(cuda.blockIdx.x, len(indptr) - 1, cuda.gridDim.x):
        begin, end = indptr[v], indptr[v + 1]
        low, high = edge_begin[v], edge_begin[v + 1]
        for e in range(low + cuda.threadIdx.x, high, cuda.blockDim.x):
            p = keys[e] & 0xFFFFFFFF
            cuda.atomic.add(degrees, find(indices, begin, end, tails[p]), 1)
            cuda.atomic.add(degrees, find(indices, begin, end, indices[p]), 1)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            total = 2 * low
            for row in range(begin, end):
                starts[row] = total
                total += int64(degrees[row])
            for e in range(low, high):
                p = keys[e] & 0xFFFFFFFF
                a, b = find(indices, begin, end, tails[p]), find(indices, begin, end, indices[p])
                targets[starts[a + 1] - degrees[a] if a + 1 < end else total - degrees[a]] = int32(b - begin)
                degrees[a] -= 1
                targets[starts[b + 1] - degrees[b] if b + 1 < end else total - degrees[b]] = int32(a - begin)
                degrees[b] -= 1
        cuda.syncthreads()


_i32, _i64 = numba.int32[::1], numba.int64[::1]

KERNELS = {
    "ego_rows": (ego_rows, (_i32, _i64, _i64, _i32, _i64, _i32, _i32, numba.boolean)),
    "list_triangles": (list_triangles, (_i64, _i32, _i32, _i64, _i64)),
    "aggregate": (aggregate, (_i64, _i32, _i32, _i64, _i64, _i64, _i32, _i32)),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""


def _over(threads: int, kernel: Any, *arguments: Any) -> None:
    """Launch a kernel with about so many threads."""
    if threads:
        blocks = 2 if xp is np else min(-(-threads // BLOCK), BLOCKS)
        launch(kernel, blocks, 16 if xp is np else BLOCK, *arguments)


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
    node_begin = np.zeros(len(centres) + 1, np.int64)
    np.cumsum(np.diff(graph.indptr)[centres], out=node_begin[1:])
    rows = int(node_begin[-1])
    advice = "give fewer --vertices at a time, or use --device cpu"
    needs = {"the graph": graph.indptr.nbytes + graph.indices.nbytes, "row starts": (16 * PARTS + 4) * rows}
    check_budget(needs, memory, "the GPU", advice)
    sources = (Buffer(centres), Buffer(node_begin), Buffer(graph.indptr), Buffer(graph.indices))
    arguments = [one.view for one in sources]
    starts, nodes = Buffer(rows * PARTS + 1, np.int64, 0), Buffer(max(1, rows), np.int32)
    _over(rows * PARTS, ego_rows, *arguments, starts.view, nodes.view, nodes.view, False)
    starts = Buffer(xp.cumsum(starts.array))
    size = int(starts.array[-1])
    check_budget({**needs, "edges": 4 * size}, memory, "the GPU", advice)
    targets = Buffer(max(1, size), np.int32)
    _over(rows * PARTS, ego_rows, *arguments, starts.view, nodes.view, targets.view, True)
    indptr = Buffer(xp.ascontiguousarray(starts.array[::PARTS])).host()
    return EgoNetworks(centres, node_begin, nodes.host(rows), indptr, targets.host(size))


def extract_scatter(graph: Graph) -> EgoNetworks:
    """Return the ego-networks of all vertices of an undirected graph, by scatter and aggregation on the current GPU."""
    indptr, indices = Buffer(graph.indptr), Buffer(graph.indices)
    tails = Buffer(np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr)))
    cursor, keys = Buffer(1, np.int64, 0), Buffer(np.empty(0, np.int64))
    arguments = (indptr.view, indices.view, tails.view, cursor.view)
    _over(graph.m * LANES, list_triangles, *arguments, keys.view)
    edges = int(cursor.array[0])
    keys = Buffer(max(1, edges), np.int64)
    cursor.array.fill(0)
    _over(graph.m * LANES, list_triangles, *arguments, keys.view)
    keys = Buffer(xp.sort(keys.array[:edges]))
    edge_begin = Buffer(xp.searchsorted(keys.array, xp.arange(graph.n + 1, dtype=np.int64) << 32))
    starts, degrees = Buffer(graph.m + 1, np.int64, 2 * edges), Buffer(graph.m + 1, np.int32, 0)
    targets = Buffer(max(1, 2 * edges), np.int32)
    settings = (edge_begin.view, keys.view, starts.view, degrees.view, targets.view)
    _over(graph.n * BLOCK, aggregate, indptr.view, indices.view, tails.view, *settings)
    centres = np.arange(graph.n, dtype=np.int32)
    return EgoNetworks(centres, graph.indptr, graph.indices, starts.host(), targets.host(2 * edges))
