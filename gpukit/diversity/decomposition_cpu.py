"""Core and truss decomposition on the CPU (Numba): of ego-networks, and of a whole graph."""

import numpy as np

from gpukit.device.compiled import njit
from gpukit.diversity import contexts_cpu as contexts
from gpukit.diversity.bounds import TRUSS, least_size
from gpukit.diversity.contexts_cpu import last_common, shorter_first

ALL = 0x7FFFFFFF
"""A value of ``k_max`` above every trussness."""


@njit
def fill_buckets(count, key, stack):
    """Sort items by key into ``stack``; return where each key starts (int64) and each item's place (int32)."""
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
    """Decrement the key of an item; it swaps places with the first item of its bucket that is not done."""
    first = max(start[key[x]], done)
    y = stack[first]
    stack[place[x]], place[y] = y, place[x]
    stack[first], place[x] = x, first
    start[key[x]] = first + 1
    key[x] -= 1


@njit
def _count_support(size, count, edges, support):
    """Count the triangles of each edge; each is found once, from its lowest vertex, whose higher neighbours are marked.

    Edges ascend by tail, so the edges to higher neighbours are contiguous.
    """
    first, mark = np.zeros(size + 1, np.int32), np.zeros(size, np.int32)
    for e in range(count):
        support[e] = 0
        first[edges.tails[e] + 1] += 1
    first = np.cumsum(first)
    for u in range(size):
        for e in range(first[u], first[u + 1]):
            mark[edges.heads[e]] = e + 1
        for e in range(first[u], first[u + 1]):
            w, found = edges.heads[e], 0
            for f in range(first[w], first[w + 1]):
                third = mark[edges.heads[f]]
                if third > 0:
                    found += 1
                    support[f] += 1
                    support[third - 1] += 1
            support[e] += found
        for e in range(first[u], first[u + 1]):
            mark[edges.heads[e]] = 0


@njit
def _drop_done(size, edges, trussness):
    """Remove the edges of known trussness from the rows."""
    begin, left, low = edges.begin, 0, 0
    for i in range(size):
        high = begin[i + 1]
        for p in range(low, high):
            if trussness[edges.edge_of[p]] == 0:
                edges.other[left], edges.edge_of[left] = edges.other[p], edges.edge_of[p]
                left += 1
        low = high
        begin[i + 1] = left


@njit
def peel_edges(size, count, edges, support, stack, trussness, k_max):
    """Write min(trussness, ``k_max``) of each edge; edges of the lowest support are removed first, level by level.

    ``stack`` holds the edges by support. An edge that loses a triangle moves down by a swap with the first edge of its
    level. A triangle is found once, when its first edge is removed. Rows are read from their ends, where the hubs are,
    until all living triangles of an edge are found. Removed edges are dropped from the rows when they are a quarter of
    them.

    Parameters
    ----------
    size, count : int
        Numbers of vertices and of edges.
    edges : Edges
        The rows are overwritten.
    support : int32 array, shape (count,)
        Triangles of each edge; overwritten.
    stack : int32 array
        Working space for ``count`` numbers.
    trussness : int32 array, shape (count,)
        The result.
    k_max : int
        Edges of the ``k_max``-truss are not decomposed further.
    """
    start, place = fill_buckets(count, support, stack)
    other, edge_of = edges.other, edges.edge_of
    living = support[:count].copy()
    for e in range(count):
        trussness[e] = 0
    in_rows = count
    for i in range(count):
        if 4 * (count - i) < 3 * in_rows:
            in_rows = count - i
            _drop_done(size, edges, trussness)
        e = stack[i]
        level = support[e]
        trussness[e] = min(level + 2, k_max)
        if level + 2 >= k_max:
            continue
        p_begin, p_end, q_begin, q_end = shorter_first(e, edges)
        p, q, left = p_end - 1, q_end - 1, living[e]
        while left > 0:
            p, q = last_common(other, p_begin, p, q_begin, q)
            if p < p_begin:
                break
            f, g = edge_of[p], edge_of[q]
            if trussness[f] == 0 and trussness[g] == 0:
                left -= 1
                living[f] -= 1
                living[g] -= 1
                if support[f] > level:
                    _lower(f, support, i + 1, start, place, stack)
                if support[g] > level:
                    _lower(g, support, i + 1, start, place, stack)
            p -= 1
            q -= 1


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
        _count_support(size, count, edges, support)
        peel_edges(size, count, edges, support, space.stack, found, ALL)
        count = contexts.keep(count, edges, found, k)
        scores[v] = contexts.count_contexts(size, count, least_size(TRUSS, k), space)


@njit
def coreness(indptr, indices):
    """Return the coreness (int32, n) of each vertex, taking lowest degrees first (Batagelj and Zaveršnik)."""
    degree = np.diff(indptr).astype(np.int32)
    stack = np.empty(len(degree), np.int32)
    start, place = fill_buckets(len(degree), degree, stack)
    for i in range(len(degree)):
        v = stack[i]
        for p in range(indptr[v], indptr[v + 1]):
            if degree[indices[p]] > degree[v]:
                _lower(indices[p], degree, i + 1, start, place, stack)
    return degree
