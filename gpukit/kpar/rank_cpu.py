"""The rounds of PageRank on the CPU (Numba); ``rank_cuda.py`` makes the same on GPUs."""

import numba
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.kpar.rule import passed_on, passed_up_to


@njit(parallel=True)
def leave(indptr, one_minus_alpha, rest, share, rank):
    """Push all mass once: add the part that stops to ``rank``, and write the part for each out-edge to ``share``.

    Parameters
    ----------
    indptr : int64 array, shape (n + 1,)
    one_minus_alpha : uint64
        Probability to continue, in units of 2**-32.
    rest, share, rank : uint64 arrays, shape (n,)
        Mass to push; room for the part per out-edge of a vertex; PageRank so far.
    """
    for v in numba.prange(len(indptr) - 1):
        degree = uint64(indptr[v + 1] - indptr[v])
        share[v] = uint64(0)
        if degree > 0:
            share[v] = passed_on(rest[v], one_minus_alpha) // degree
        rank[v] += rest[v] - degree * share[v]


@njit(parallel=True)
def leave_weighted(indptr, parts, chances, one_minus_alpha, rest, flow, rank):
    """Do the same as :func:`leave`, along weighted edges.

    Parameters
    ----------
    indptr : int64 array, shape (n + 1,)
    parts : int64 array
        The first vertices of ranges with about equal numbers of out-edges, and the end: hubs are often adjacent.
    chances : uint64 array, shape (m,)
        See :func:`gpukit.kpar.weights.edge_chances`.
    flow : uint64 array, shape (m,)
        Room for the mass along each out-edge.
    one_minus_alpha, rest, rank
        As there.
    """
    for part in numba.prange(len(parts) - 1):
        for v in range(parts[part], parts[part + 1]):
            passed = before = int64(0)
            if indptr[v + 1] > indptr[v]:
                passed = int64(passed_on(rest[v], one_minus_alpha))
            for e in range(indptr[v], indptr[v + 1]):
                reach = passed_up_to(passed, chances, e, indptr[v + 1] - 1)
                flow[e] = uint64(reach - before)
                before = reach
            rank[v] += rest[v] - uint64(passed)


@njit(parallel=True)
def arrive(in_indptr, parts, places, taken, rest):
    """Write the mass that arrives at each vertex to ``rest``.

    Parameters
    ----------
    in_indptr : int64 array, shape (n + 1,)
    parts : int64 array
        As in :func:`leave_weighted`, by in-edges.
    places : integer array, shape (m,)
        Place in ``taken`` of the mass along each in-edge: that of its tail, or that of the edge among the out-edges.
    taken : uint64 array
        ``share`` or ``flow``.
    rest : uint64 array, shape (n,)
    """
    for part in numba.prange(len(parts) - 1):
        for v in range(parts[part], parts[part + 1]):
            total = uint64(0)
            for i in range(in_indptr[v], in_indptr[v + 1]):
                total += taken[places[i]]
            rest[v] = total
