"""Kernels of ego-network extraction on a GPU.

Row u of ego(v) is N(u) ∩ N(v): it can be counted, and later filled in order, by threads that each own a part of it,
without locks or atomics. Algorithm 2 of the paper is there for comparison: triangles are listed once and scattered to
the ego-networks, degrees are counted with atomics, and one thread of a block inserts the edges in order.
"""

import numba
from numba import cuda, int32, int64

from gpukit.diversity.network_cuda import LANES, find

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
