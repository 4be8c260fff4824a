"""The network of :mod:`gpukit.diversity.scores` on a GPU: vertices by rank, supports of edges, and launches."""

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from gpukit.device.arrays import Buffer, xp
from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.launch import launch
from gpukit.device.select import for_kernels
from gpukit.diversity import bounds
from gpukit.diversity.bounds import upper_bound

ROW_THREADS = 8
"""Threads that share a row or an edge."""


class Arcs(NamedTuple):
    """An undirected graph with its vertices by rank."""

    indptr: Any  # int64 (n + 1,)
    tails: Any  # int32 (m,): ascending
    heads: Any  # int32 (m,): ascending for equal tails
    up: Any  # int64 (n,): place of the first neighbour of higher rank of each vertex
    support: Any  # int32 (m,): triangles of each arc


place_of = for_kernels(bounds.lower_bound)


@device
def find(values, low, high, wanted):
    """Return the place of ``wanted`` in the ascending values[low … high - 1], or -1."""
    low = place_of(values, low, high, wanted)
    return low if low < high and values[low] == wanted else int64(-1)


_i32, _i64, _int = "int32[::1]", "int64[::1]", "int64"
_ARCS = group(Arcs, _i64, _i32, _i32, _i64, _i32)


@kernel((_i64, _i32, _i32, _i64))
def arc_keys(indptr, indices, ranks, keys):
    """Write rank of tail << 32 | rank of head for each arc; any grid, ``ROW_THREADS`` threads per row.

    Costs 16 bytes per arc.
    """
    rank = cuda.threadIdx.x % ROW_THREADS
    for u in range(cuda.grid(1) // ROW_THREADS, len(ranks), cuda.gridsize(1) // ROW_THREADS):
        tail = int64(ranks[u]) << 32
        for p in range(indptr[u] + rank, indptr[u + 1], ROW_THREADS):
            keys[p] = tail | int64(ranks[indices[p]])


@kernel((_i64, _i32, _i64))
def first_higher(indptr, heads, up):
    """Write the place of the first neighbour of higher rank of each vertex; any grid, one thread per vertex."""
    for r in range(cuda.grid(1), len(up), cuda.gridsize(1)):
        # Written out: a call of ``lower_bound`` compiles to another order of instructions.
        low, high = indptr[r], indptr[r + 1]
        while low < high:
            middle = (low + high) >> 1
            if heads[middle] < r:
                low = middle + 1
            else:
                high = middle
        up[r] = low


@kernel((_ARCS,))
def count_triangles(arcs):
    """Add the triangles of each edge to ``arcs.support``, at its place in the row of its lower end; any grid.

    ``ROW_THREADS`` threads share an edge (u, w), u < w. They search for the higher neighbours of one end among those of
    the other end, the shorter list in the longer one. A triangle is found once, at its lowest edge. It costs 3 atomic
    adds; each entry of the shorter list costs a binary search. The support must be 0 at the start.
    """
    rank = cuda.threadIdx.x % ROW_THREADS
    for p in range(cuda.grid(1) // ROW_THREADS, len(arcs.heads), cuda.gridsize(1) // ROW_THREADS):
        u, w = arcs.tails[p], arcs.heads[p]
        if w > u:
            a, a_end = int64(p + 1), arcs.indptr[u + 1]
            b, b_end = arcs.up[w], arcs.indptr[w + 1]
            if a_end - a > b_end - b:
                a, a_end, b, b_end = b, b_end, a, a_end
            found = 0
            for q in range(a + rank, a_end, ROW_THREADS):
                place = find(arcs.heads, b, b_end, arcs.heads[q])
                if place >= 0:
                    found += 1
                    cuda.atomic.add(arcs.support, q, 1)
                    cuda.atomic.add(arcs.support, place, 1)
            if found > 0:
                cuda.atomic.add(arcs.support, p, found)


@kernel((_ARCS,))
def mirror(arcs):
    """Copy the support of each edge to the row of its higher end; any grid, one thread and one search per arc."""
    for p in range(cuda.grid(1), len(arcs.heads), cuda.gridsize(1)):
        u = arcs.heads[p]
        if u < arcs.tails[p]:
            arcs.support[p] = arcs.support[find(arcs.heads, arcs.up[u], arcs.indptr[u + 1], arcs.tails[p])]


@kernel((_int, _int, _i64, _i64, _i64, _i32))
def upper_bounds(model, k, indptr, members, degrees, bounds):
    """Write the upper bound of each score; any grid, one thread per vertex.

    Parameters
    ----------
    model, k : int
    indptr : int64 array, shape (n + 1,)
    members, degrees : int64 arrays, shape (m + 1,)
        Exclusive prefix counts, and prefix sums of support, over the arcs of sufficient support
        (:func:`gpukit.diversity.bounds.least_degree`).
    bounds : int32 array, shape (n,)
        The result, by rank.
    """
    for v in range(cuda.grid(1), len(bounds), cuda.gridsize(1)):
        low, high = indptr[v], indptr[v + 1]
        bounds[v] = upper_bound(model, k, members[high] - members[low], degrees[high] - degrees[low])


def views(group: Any) -> Any:
    """Return arguments for :func:`gpukit.device.launch.launch`: buffers, alone or in tuples, become views."""
    if isinstance(group, tuple):
        values = map(views, group)
        return group._make(values) if hasattr(group, "_make") else tuple(values)
    return group.view if isinstance(group, Buffer) else group


def over(threads: int, kernel: Any, *arguments: Any, block: int = 256) -> None:
    """Launch a kernel with about ``threads`` threads; arguments as for :func:`views`."""
    if threads:
        blocks = 1 if xp is np else min(-(-threads // block), 128 * block)
        launch(kernel, blocks, 32 if xp is np else block, *views(arguments))
