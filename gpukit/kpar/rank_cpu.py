"""The rounds of PageRank on the CPU (Numba); ``rank_cuda.py`` makes the same on GPUs."""

import numba
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.kpar.rule import passed_on, passed_up_to


@njit(parallel=True)
def rank_round(indptr, in_indptr, in_indices, in_parts, one_minus_alpha, rest, share, rank):
    """Push all mass once: add what stays to ``rank``, leave what arrives in ``rest``.

    Parameters
    ----------
    indptr, in_indptr, in_indices
        Row starts of the out-edges, and the transpose.
    in_parts : int64 array
        The first vertices of ranges with about as many in-edges each, and the end: hubs often stand together.
    one_minus_alpha : uint64
        Probability of going on, in units of 2**-32.
    rest, share, rank : uint64 arrays, shape (n,)
        Mass to push; room for what each out-edge takes; PageRank so far.
    """
    n = len(indptr) - 1
    for v in numba.prange(n):
        degree = uint64(indptr[v + 1] - indptr[v])
        share[v] = uint64(0)
        if degree > 0:
            share[v] = passed_on(rest[v], one_minus_alpha) // degree
        rank[v] += rest[v] - degree * share[v]
    for part in numba.prange(len(in_parts) - 1):
        for v in range(in_parts[part], in_parts[part + 1]):
            total = uint64(0)
            for e in range(in_indptr[v], in_indptr[v + 1]):
                total += share[in_indices[e]]
            rest[v] = total


@njit(parallel=True)
def weighted_rank_round(indptr, parts, in_indptr, places, in_parts, chances, one_minus_alpha, rest, flow, rank):
    """Do what :func:`rank_round` does, along weighted edges.

    Parameters
    ----------
    indptr, in_indptr : int64 arrays, shape (n + 1,)
    parts, in_parts : int64 arrays
        As there, by out-edges and by in-edges.
    places : uint32 array, shape (m,)
        Where each in-edge stands among the out-edges.
    chances : uint64 array, shape (m,)
        See :func:`gpukit.kpar.weights.edge_chances`.
    flow : uint64 array, shape (m,)
        Room for what each out-edge takes.
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
    for part in numba.prange(len(in_parts) - 1):
        for v in range(in_parts[part], in_parts[part + 1]):
            total = uint64(0)
            for i in range(in_indptr[v], in_indptr[v + 1]):
                total += flow[places[i]]
            rest[v] = total
