"""Kernels of the index on the CPU (Numba): rows with the contexts of every k, and lists of the vertices by score.

A context of a larger k lies in a context of each smaller k. So the neighbours of a vertex can be ordered such that
every context is a run. One number per neighbour then says where runs end: its *link*, the largest k at which it shares
a context with the neighbour before it. Two neighbours share a context of k if a path of edges of value k or more joins
them. So links are found like a maximum spanning forest by Kruskal, edges of the largest k first (the TSD-index of
Huang, Huang and Xu).
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.compiled import njit
from gpukit.diversity import contexts_cpu as contexts
from gpukit.diversity.bounds import COMP, TRUSS
from gpukit.diversity.decomposition_cpu import coreness, fill_buckets


class Neighbours(NamedTuple):
    """The graph by internal id, and the place of each vertex in the order of the network."""

    indptr: np.ndarray  # int64 (n + 1,)
    indices: np.ndarray  # int32 (m,): ascending in a row
    order: np.ndarray  # int32 (n,): internal id of each rank
    rank: np.ndarray  # int32 (n,)


class Links(NamedTuple):
    """The rows of a model, aligned with the rows of the graph: int32 arrays of length m."""

    members: np.ndarray  # internal ids
    links: np.ndarray


class Forest(NamedTuple):
    """Working space of one thread for joining neighbours: int32 arrays, indexed by place in the row of a vertex."""

    place: np.ndarray  # place of each local vertex
    root: np.ndarray  # a lower member of the component, or the member itself; the chain leads to the lowest
    parent: np.ndarray  # the root that it was joined to
    link: np.ndarray  # the k of the joining edge; 0 for a root
    following: np.ndarray  # next in the order of the component, or -1
    last: np.ndarray  # of a root: last in the order of the component


def make_forest(widest: int) -> Forest:
    """Return the space for a graph with at most ``widest`` neighbours of a vertex."""
    return Forest(*np.empty((6, widest + 1), np.int32))


@njit
def _locate(v, size, space, neighbours, forest):
    """Write the place of each local vertex in the row of v, and make every neighbour a component of its own."""
    mark = space.mark
    for i in range(size):
        mark[space.kept[i]] = i + 1
    begin = neighbours.indptr[v]
    for place in range(neighbours.indptr[v + 1] - begin):
        r = neighbours.rank[neighbours.indices[begin + place]]
        if mark[r] > 0:
            forest.place[mark[r] - 1] = place
            mark[r] = 0
        forest.root[place] = place
        forest.link[place] = 0


@njit
def _join(i, j, k, forest):
    """Join the components of two local vertices by an edge of value k; edges come by falling k."""
    root = forest.root
    a = contexts.root_of(root, forest.place[i])
    b = contexts.root_of(root, forest.place[j])
    if a != b:
        low, high = min(a, b), max(a, b)
        root[high] = low
        forest.parent[high] = low
        forest.link[high] = k


@njit
def _join_by_cores(size, edges, forest):
    """Join local vertices by edges; the value of an edge is the lesser coreness of its ends."""
    core = coreness(edges.begin[: size + 1], edges.other)
    order = np.empty(size, np.int32)
    place = fill_buckets(size, core, order)[1]
    for at in range(size - 1, -1, -1):
        i = order[at]
        for p in range(edges.begin[i], edges.begin[i + 1]):
            if place[edges.other[p]] > at:
                _join(i, edges.other[p], core[i], forest)


@njit
def _join_by_trusses(count, edges, trussness, order, forest):
    """Join local vertices by edges, the largest trussness first."""
    fill_buckets(count, trussness, order)
    for at in range(count - 1, -1, -1):
        e = order[at]
        _join(edges.tails[e], edges.heads[e], trussness[e], forest)


@njit
def _write_row(v, neighbours, forest, out):
    """Write the neighbours of v such that each component of each k is a run, its lowest member first.

    For each k a component absorbs others in the order of their lowest members, so the row depends only on the
    components.
    """
    begin = neighbours.indptr[v]
    size = neighbours.indptr[v + 1] - begin
    root, link, following, last = forest.root, forest.link, forest.following, forest.last
    order = np.empty(size, np.int32)
    start = fill_buckets(size, link, order)[0]
    for x in range(size):
        root[x], last[x], following[x] = x, x, -1
    for k in range(len(start) - 2, 0, -1):
        for at in range(start[k], start[k + 1]):
            root[order[at]] = forest.parent[order[at]]
        for at in range(start[k], start[k + 1]):
            x = order[at]
            top = contexts.root_of(root, x)
            following[last[top]] = x
            last[top] = last[x]
    at = begin
    for x in range(size):
        if link[x] == 0:
            y = x
            while y >= 0:
                out.members[at] = neighbours.indices[begin + y]
                out.links[at] = link[y]
                at += 1
                y = following[y]


@njit
def link_vertices(vertices, rows, space, neighbours, forest, places, trussness, cores, trusses):
    """Write the rows of vertices.

    Parameters
    ----------
    vertices : int32 array
        Ranks.
    rows : Rows
    space, forest : EgoScratch, Forest
        Private to this thread.
    neighbours : Neighbours
    places : int64 array, shape (n,)
        First place of each ego-network's edges in ``trussness``, by rank.
    trussness : int32 array
        Trussness of the edges of the ego-networks, ordered by lower and then higher local end.
    cores, trusses : Links
        The results.
    """
    edges = space.edges
    for r in vertices:
        v = neighbours.order[r]
        size, count = contexts.extract_edges(r, 1, 1, rows, space)
        contexts.count_degrees(size, count, edges, space.degree)
        contexts.fill_rows(size, count, space.degree, edges)
        _locate(v, size, space, neighbours, forest)
        _join_by_cores(size, edges, forest)
        _write_row(v, neighbours, forest, cores)
        _locate(v, size, space, neighbours, forest)
        found = trussness[places[r] : places[r] + count]
        _join_by_trusses(count, edges, found, space.stack, forest)
        _write_row(v, neighbours, forest, trusses)


@njit
def _score_row(model, begin, end, links, score):
    """Write the number of contexts for k = 1, 2, … of one row to ``score``; return the largest k with a context.

    For ``core`` and ``truss`` a context of k begins at a neighbour whose link is below k and whose successor's link is
    not. For ``comp`` a component is a component of the 1-core, or a single neighbour outside it; it counts for every k
    up to its size.
    """
    largest = 0
    if model == COMP:
        size = 0
        for p in range(begin, end):
            size += 1
            if p + 1 == end or links[p + 1] == 0:
                for k in range(largest + 1, size + 1):
                    score[k] = 0
                largest = max(largest, size)
                score[size] += 1
                size = 0
        for k in range(largest - 1, 0, -1):
            score[k] += score[k + 1]
        return largest
    for p in range(begin, end):
        largest = max(largest, links[p])
    for k in range(1, largest + 2):
        score[k] = 0
    for p in range(begin, end - 1):
        if links[p] < links[p + 1]:
            score[links[p] + 1] += 1
            score[links[p + 1] + 1] -= 1
    for k in range(2, largest + 1):
        score[k] += score[k - 1]
    return largest


@njit
def list_scores(model, indptr, links):
    """For each k list the vertices with contexts, by falling number of contexts, then ascending id.

    Returns
    -------
    first : int64 array
        Start of the list of k = 0, 1, …, and the end of the last.
    vertices, scores : int32 arrays
    """
    n = len(indptr) - 1
    widest = 0
    for v in range(n):
        widest = max(widest, indptr[v + 1] - indptr[v])
    score, smallest = np.empty(widest + 3, np.int32), 2 if model == TRUSS else 1
    # Count the entries of the lists.
    lengths, longest = np.zeros(widest + 3, np.int64), 0
    for v in range(n):
        largest = _score_row(model, indptr[v], indptr[v + 1], links, score)
        longest = max(longest, largest)
        for k in range(smallest, largest + 1):
            lengths[k] += 1
    first = np.zeros(longest + 2, np.int64)
    for k in range(longest + 1):
        first[k + 1] = first[k] + lengths[k]
    # Fill the lists by id, then sort each by score.
    vertices, scores = np.empty((2, first[-1]), np.int32)
    free = first.copy()
    for v in range(n):
        largest = _score_row(model, indptr[v], indptr[v + 1], links, score)
        for k in range(smallest, largest + 1):
            vertices[free[k]], scores[free[k]] = v, score[k]
            free[k] += 1
    ids, order = np.empty((2, n), np.int32)
    for k in range(smallest, longest + 1):
        low, count = first[k], first[k + 1] - first[k]
        start = fill_buckets(count, scores[low : low + count], order)[0]
        for at in range(count):
            ids[at] = vertices[low + at]
        at = low
        for s in range(len(start) - 2, 0, -1):
            for place in range(start[s], start[s + 1]):
                vertices[at], scores[at] = ids[order[place]], s
                at += 1
    return first, vertices, scores
