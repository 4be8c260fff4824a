"""The network of :mod:`gpukit.diversity.scores` on a GPU: vertices by rank, and the support of every edge."""

import numba
from numba import cuda, int64

from gpukit.diversity.bounds import upper_bound

LANES = 8
"""Threads that share a row or an edge."""


@cuda.jit(device=True)
def find(values, low, high, wanted):
    """Return the place of a number in the ascending values[low … high - 1], or -1."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and values[low] == wanted else int64(-1)


@cuda.jit(cache=True)
def arc_keys(indptr, indices, rank, keys):
    """Write rank of tail << 32 | rank of head for each arc; any grid. ``LANES`` threads own a row: 16 bytes an arc."""
    lane = cuda.threadIdx.x % LANES
    for u in range(cuda.grid(1) // LANES, len(rank), cuda.gridsize(1) // LANES):
        tail = int64(rank[u]) << 32
        for p in range(indptr[u] + lane, indptr[u + 1], LANES):
            keys[p] = tail | int64(rank[indices[p]])


@cuda.jit(cache=True)
def first_higher(indptr, heads, up):
    """Write the place of the first neighbour of higher rank of each vertex; any grid, a thread a vertex."""
    for r in range(cuda.grid(1), len(up), cuda.gridsize(1)):
        low, high = indptr[r], indptr[r + 1]
        while low < high:
            middle = (low + high) >> 1
            if heads[middle] < r:
                low = middle + 1
            else:
                high = middle
        up[r] = low


@cuda.jit(cache=True)
def count_triangles(indptr, tails, heads, up, support):
    """Add the triangles of each edge to ``support``, at its place in the row of its lower end; any grid.

    ``LANES`` threads own an edge (u, w), u < w: they look for the neighbours of higher rank of one end among those of
    the other, the shorter list in the longer one. A triangle is found once, at its lowest edge: 3 atomic adds, and a
    binary search an entry of the shorter list.

    Parameters
    ----------
    indptr : int64 array, shape (n + 1,)
    tails, heads : int32 arrays, shape (m,)
        Arcs by rank, ascending.
    up : int64 array, shape (n,)
        See :func:`first_higher`.
    support : int32 array, shape (m,)
        Zeros at the start.
    """
    lane = cuda.threadIdx.x % LANES
    for p in range(cuda.grid(1) // LANES, len(heads), cuda.gridsize(1) // LANES):
        u, w = tails[p], heads[p]
        if w > u:
            a, a_end = int64(p + 1), indptr[u + 1]
            b, b_end = up[w], indptr[w + 1]
            if a_end - a > b_end - b:
                a, a_end, b, b_end = b, b_end, a, a_end
            found = 0
            for q in range(a + lane, a_end, LANES):
                place = find(heads, b, b_end, heads[q])
                if place >= 0:
                    found += 1
                    cuda.atomic.add(support, q, 1)
                    cuda.atomic.add(support, place, 1)
            if found > 0:
                cuda.atomic.add(support, p, found)


@cuda.jit(cache=True)
def mirror(indptr, tails, heads, up, support):
    """Copy the support of each edge to the row of its higher end; any grid, a thread an arc, a search each."""
    for p in range(cuda.grid(1), len(heads), cuda.gridsize(1)):
        u = heads[p]
        if u < tails[p]:
            support[p] = support[find(heads, up[u], indptr[u + 1], tails[p])]


@cuda.jit(cache=True)
def upper_bounds(model, k, indptr, members, degrees, bounds):
    """Write the upper bound of each score; any grid, a thread a vertex.

    Parameters
    ----------
    model, k : int
    indptr : int64 array, shape (n + 1,)
    members, degrees : int64 arrays, shape (m + 1,)
        Running number, and running sum of support, of the arcs of enough support
        (:func:`gpukit.diversity.bounds.least_degree`).
    bounds : int32 array, shape (n,)
        The result, by rank.
    """
    for v in range(cuda.grid(1), len(bounds), cuda.gridsize(1)):
        low, high = indptr[v], indptr[v + 1]
        bounds[v] = upper_bound(model, k, members[high] - members[low], degrees[high] - degrees[low])


_i32, _i64, _int = numba.int32[::1], numba.int64[::1], numba.int64

KERNELS = {
    "arc_keys": (arc_keys, (_i64, _i32, _i32, _i64)),
    "first_higher": (first_higher, (_i64, _i32, _i64)),
    "count_triangles": (count_triangles, (_i64, _i32, _i32, _i64, _i32)),
    "mirror": (mirror, (_i64, _i32, _i32, _i64, _i32)),
    "upper_bounds": (upper_bounds, (_int, _int, _i64, _i64, _i64, _i32)),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
