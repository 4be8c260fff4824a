"""Core and truss decomposition on the CPU (Numba): of ego-networks, and of a whole graph."""

import numpy as np

from gpukit.device.compiled import njit
from gpukit.diversity import contexts_cpu as contexts
from gpukit.diversity.bounds import TRUSS, least_size, lower_bound
from gpukit.diversity.contexts_cpu import SKEW, shorter_first

ALL = 0x7FFFFFFF
"""The ``k_max`` that no truss has."""


@njit
def _fill_buckets(count, key, stack):
    """Sort items by key into ``stack``; return where each key starts there (int64), and each item's place (int32)."""
    start = np.zeros((key[:count].max() if count else 0) + 2, np.int64)
    for x in range(count):
        start[key[x] + 1] += 1
    start = np.cumsum(start)
    free, place = start.copy(), np.empty(count, np.int32)
    for x in range(count):
        place[x] = free[key[x]]
        stack[place[x]] = x
        free[key[x]] += 1
    return start, place


@njit
def _lower(x, key, done, start, place, stack):
    """Take one off the key of an item: it changes places with the first of its bucket that is not done."""
    first = max(start[key[x]], done)
    y = stack[first]
    stack[place[x]], place[y] = y, place[x]
    stack[first], place[x] = x, first
    start[key[x]] = first + 1
    key[x] -= 1


@njit
def _count_support(count, edges, support):
    """Count the triangles of each edge: by a merge without branches, twice as fast in dense ego-networks."""
    other = edges.other
    for e in range(count):
        p, p_end, q, q_end = shorter_first(e, edges)
        found = 0
        while p < p_end and q < q_end:
            x, y = other[p], other[q]
            found += x == y
            p += x <= y
            q += y <= x
        support[e] = found


@njit
def peel_edges(count, edges, support, stack, trussness, k_max):
    """Write the trussness of each edge, or ``k_max`` if that is less: edges of the lowest support go first, by levels.

    The edges lie in ``stack`` by support; one that loses a triangle moves down by a swap with the first of its level. A
    triangle is found once, when its first edge goes.

    Parameters
    ----------
    count : int
        Number of edges.
    edges : Edges
    support : int32 array, shape (count,)
        Triangles of each edge; of no use afterwards.
    stack : int32 array
        Working space for ``count`` numbers.
    trussness : int32 array, shape (count,)
        The result.
    k_max : int
        What is in this truss is left there, and the work is done.
    """
    start, place = _fill_buckets(count, support, stack)
    other, edge_of = edges.other, edges.edge_of
    trussness[:count] = 0
    for i in range(count):
        e = stack[i]
        level = support[e]
        trussness[e] = min(level + 2, k_max)
        if level + 2 >= k_max:
            continue
        p, p_end, q, q_end = shorter_first(e, edges)
        skewed = q_end - q > SKEW * (p_end - p)
        while p < p_end and q < q_end:
            x, y = other[p], other[q]
            if x == y and trussness[edge_of[p]] == 0 and trussness[edge_of[q]] == 0:
                for f in (edge_of[p], edge_of[q]):
                    if support[f] > level:
                        _lower(f, support, i + 1, start, place, stack)
            p += x <= y
            if y < x and skewed:
                q = lower_bound(other, q, q_end, x)
            else:
                q += y <= x


@njit
def decompose_vertices(vertices, k, rows, space, places, trussness, scores):
    """Write the trussness of every edge of ego-networks, and their scores for k.

    Parameters
    ----------
    vertices, rows, space, scores
        See :func:`gpukit.diversity.contexts_cpu.score_vertices`.
    k : int
    places : int64 array, shape (n,)
        First place of each ego-network's edges, by rank.
    trussness : int32 array
        The result; edges by their lower and then their higher local end.
    """
    edges = space.edges
    for v in vertices:
        size, count = contexts.extract_edges(v, 1, 1, rows, space)
        contexts.count_degrees(size, count, edges, space.degree)
        contexts.fill_rows(size, count, space.degree, edges)
        found, support = trussness[places[v] : places[v] + count], np.empty(count, np.int32)
        _count_support(count, edges, support)
        peel_edges(count, edges, support, space.stack, found, ALL)
        count = contexts.keep(count, edges, found, k)
        scores[v] = contexts.count_contexts(size, count, least_size(TRUSS, k), space)


@njit
def coreness(indptr, indices):
    """Return the coreness (int32, n) of each vertex, taking lowest degrees first (Batagelj and Zaveršnik)."""
    degree = np.diff(indptr).astype(np.int32)
    stack = np.empty(len(degree), np.int32)
    start, place = _fill_buckets(len(degree), degree, stack)
    for i in range(len(degree)):
        v = stack[i]
        for p in range(indptr[v], indptr[v + 1]):
            if degree[indices[p]] > degree[v]:
                _lower(indices[p], degree, i + 1, start, place, stack)
    return degree
