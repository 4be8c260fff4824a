"""Ego-networks by algorithm 2 of the paper on the current GPU, the arrays of :func:`gpukit.diversity.egos.extract`.

Triangles are listed once and scattered to the ego-networks, degrees are counted with atomics, and one thread of a block
inserts the edges in order.
"""

import numpy as np
from numba import int32, int64

from gpukit.device.arrays import Buffer, xp
from gpukit.device.kernels import cuda, kernel
from gpukit.diversity.egos import EgoNetworks
from gpukit.diversity.network_cuda import ROW_THREADS, find, over
from gpukit.graph.csr import Graph

BLOCK = 128
"""Threads in a block."""


_i32, _i64 = "int32[::1]", "int64[::1]"


@kernel((_i64, _i32, _i32, _i64, _i64))
def list_triangles(indptr, indices, tails, cursor, keys):
    """List each triangle u < w < x as three ego edges: corner << 32 | place of the opposite edge; any grid.

    ``ROW_THREADS`` threads share an edge (u, w): one atomic add on ``cursor`` and 24 bytes written for each triangle.
    With an empty ``keys`` it only counts.
    """
    rank = cuda.threadIdx.x % ROW_THREADS
    for p in range(cuda.grid(1) // ROW_THREADS, len(indices), cuda.gridsize(1) // ROW_THREADS):
        u, w = tails[p], indices[p]
        if w > u:
            for q in range(p + 1 + rank, indptr[u + 1], ROW_THREADS):
                x = indices[q]
                place = find(indices, indptr[w], indptr[w + 1], x)
                if place >= 0:
                    at = cuda.atomic.add(cursor, 0, 3)
                    if at + 2 < len(keys):
                        keys[at] = int64(u) << 32 | place
                        keys[at + 1] = int64(w) << 32 | q
                        keys[at + 2] = int64(x) << 32 | p


@kernel((_i64, _i32, _i32, _i64, _i64, _i64, _i32, _i32))
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


def extract_scatter(graph: Graph) -> EgoNetworks:
    """Return the ego-networks of all vertices of an undirected graph, by scatter and aggregation on the current GPU."""
    indptr, indices = Buffer(graph.indptr), Buffer(graph.indices)
    tails = Buffer(np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr)))
    cursor, keys = Buffer(1, np.int64, 0), Buffer(0, np.int64)
    over(graph.m * ROW_THREADS, list_triangles, indptr, indices, tails, cursor, keys, block=BLOCK)
    edges = int(cursor.array[0])
    keys = Buffer(max(1, edges), np.int64)
    cursor.array.fill(0)
    over(graph.m * ROW_THREADS, list_triangles, indptr, indices, tails, cursor, keys, block=BLOCK)
    keys = Buffer(xp.sort(keys.array[:edges]))
    edge_begin = Buffer(xp.searchsorted(keys.array, xp.arange(graph.n + 1, dtype=np.int64) << 32))
    starts, degrees = Buffer(graph.m + 1, np.int64, 2 * edges), Buffer(graph.m + 1, np.int32, 0)
    targets = Buffer(max(1, 2 * edges), np.int32)
    made = (edge_begin, keys, starts, degrees, targets)
    over(graph.n * BLOCK, aggregate, indptr, indices, tails, *made, block=BLOCK)
    centres = np.arange(graph.n, dtype=np.int32)
    return EgoNetworks(centres, graph.indptr, graph.indices, starts.host(), targets.host(2 * edges))
