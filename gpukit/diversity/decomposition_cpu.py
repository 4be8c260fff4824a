"""Core and truss decomposition on the CPU (Numba): of ego-networks, and of a whole graph."""

import numba
import numpy as np

from gpukit.diversity.bounds import TRUSS, least_size
from gpukit.diversity.contexts_cpu import SKEW, components, extract, fill_rows


@numba.njit(nogil=True, cache=True)
def _ego_support(edges, tails, heads, begin, other, support):
    """Count the triangles of each edge by merging the rows of its ends."""
    for e in range(edges):
        p, p_end = begin[tails[e]], begin[tails[e] + 1]
        q, q_end = begin[heads[e]], begin[heads[e] + 1]
        found = 0
        while p < p_end and q < q_end:
            x, y = other[p], other[q]
            found += x == y
            p += x <= y
            q += y <= x
        support[e] = found


@numba.njit(nogil=True, cache=True)
def peel_edges(edges, tails, heads, begin, other, edge_of, support, stack, trussness):
    """Write the trussness of each edge: edges of the lowest support go first, level by level.

    The edges lie in ``stack`` by support; one that loses a triangle moves down by a swap with the first of its level. A
    triangle is found once, when its first edge goes: by a merge of two rows, or by search if one is much longer.

    Parameters
    ----------
    edges : int
    tails, heads : integer arrays, shape (edges,)
    begin, other, edge_of
        Rows of the graph, ascending, and the edge at each place.
    support : int32 array, shape (edges,)
        Triangles of each edge; of no use afterwards.
    stack : int32 array
        Working space for ``edges`` numbers.
    trussness : int32 array, shape (edges,)
        The result.
    """
    most = 0
    for e in range(edges):
        most = max(most, support[e])
        trussness[e] = 0
    start = np.zeros(most + 2, np.int64)
    for e in range(edges):
        start[support[e] + 1] += 1
    for s in range(1, most + 2):
        start[s] += start[s - 1]
    place = np.empty(edges, np.int32)
    for e in range(edges):
        place[e] = start[support[e]]
        stack[place[e]] = e
        start[support[e]] += 1
    # Filling moved each start to the next level's; back again.
    for s in range(most + 1, 0, -1):
        start[s] = start[s - 1]
    start[0] = 0
    for i in range(edges):
        e = stack[i]
        level = support[e]
        trussness[e] = level + 2
        p, p_end = begin[tails[e]], begin[tails[e] + 1]
        q, q_end = begin[heads[e]], begin[heads[e] + 1]
        if p_end - p > q_end - q:
            p, p_end, q, q_end = q, q_end, p, p_end
        skewed = q_end - q > SKEW * (p_end - p)
        while p < p_end and q < q_end:
            x, y = other[p], other[q]
            if x == y and trussness[edge_of[p]] == 0 and trussness[edge_of[q]] == 0:
                for f in (edge_of[p], edge_of[q]):
                    s = support[f]
                    if s > level:
                        first = max(start[s], i + 1)
                        g = stack[first]
                        stack[place[f]], place[g] = g, place[f]
                        stack[first], place[f] = f, first
                        start[s] = first + 1
                        support[f] = s - 1
            p += x <= y
            if y < x and skewed:
                high = q_end
                while q < high:
                    middle = (q + high) >> 1
                    if other[middle] < x:
                        q = middle + 1
                    else:
                        high = middle
            else:
                q += y <= x


@numba.njit(nogil=True, cache=True)
def decompose_vertices(vertices, k, indptr, indices, up, support, mark, nodes, space, places, trussness, scores):
    """Write the trussness of every edge of ego-networks, and their scores for k.

    Parameters
    ----------
    vertices, indptr, indices, up, support, mark, nodes, space, scores
        See :func:`score_vertices`.
    k : int
    places : int64 array, shape (n,)
        First place of each ego-network's edges, by rank.
    trussness : int32 array
        The result; edges by their lower and then their higher local end.
    """
    kept, degree, begin = nodes[0], nodes[1], nodes[2]
    tails, heads, _, stack, other, edge_of = space
    for v in vertices:
        count, edges = extract(v, 1, 1, indptr, indices, up, support, mark, kept, tails, heads)
        for i in range(count):
            degree[i] = 0
        for e in range(edges):
            degree[tails[e]] += 1
            degree[heads[e]] += 1
        fill_rows(count, edges, tails, heads, degree, begin, other, edge_of)
        found = trussness[places[v] : places[v] + edges]
        triangles = np.empty(edges, np.int32)
        _ego_support(edges, tails, heads, begin, other, triangles)
        peel_edges(edges, tails, heads, begin, other, edge_of, triangles, stack, found)
        left = 0
        for e in range(edges):
            if found[e] >= k:
                tails[left] = tails[e]
                heads[left] = heads[e]
                left += 1
        scores[v] = components(count, left, tails, heads, least_size(TRUSS, k), degree, begin)


@numba.njit(nogil=True, cache=True)
def coreness(indptr, indices):
    """Return the coreness (int32, n) of each vertex, taking lowest degrees first (Batagelj and Zaveršnik)."""
    n = len(indptr) - 1
    degree = np.empty(n, np.int32)
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
    start = np.zeros((degree.max() if n > 0 else 0) + 2, np.int64)
    for v in range(n):
        start[degree[v] + 1] += 1
    for d in range(1, len(start)):
        start[d] += start[d - 1]
    stack, place = np.empty(n, np.int32), np.empty(n, np.int32)
    for v in range(n):
        place[v] = start[degree[v]]
        stack[place[v]] = v
        start[degree[v]] += 1
    for d in range(len(start) - 1, 0, -1):
        start[d] = start[d - 1]
    start[0] = 0
    for i in range(n):
        v = stack[i]
        for p in range(indptr[v], indptr[v + 1]):
            u = indices[p]
            d = degree[u]
            if d > degree[v]:
                first = max(start[d], i + 1)
                w = stack[first]
                stack[place[u]], place[w] = w, place[u]
                stack[first], place[u] = u, first
                start[d] = first + 1
                degree[u] = d - 1
    return degree


@numba.njit(nogil=True, cache=True)
def number_edges(indptr, indices, up):
    """Return tail and head (int32) of each edge, lower rank first, ascending, and the edge (int32) at each place."""
    n = len(up)
    edge_of = np.empty(len(indices), np.int32)
    tails, heads = np.empty(len(indices) // 2, np.int32), np.empty(len(indices) // 2, np.int32)
    place = indptr[:n].copy()
    edge = 0
    for u in range(n):
        for p in range(up[u], indptr[u + 1]):
            w = indices[p]
            tails[edge] = u
            heads[edge] = w
            edge_of[p] = edge
            edge_of[place[w]] = edge
            place[w] += 1
            edge += 1
    return tails, heads, edge_of
