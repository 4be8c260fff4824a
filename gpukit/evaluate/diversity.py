"""Structural diversity from its definitions by another method: list cliques, and peel whole arrays at a time.

The triangles of the graph are the edges of all ego-networks. The triangles of the ego-networks (4-cliques) determine
the trusses. One listing of closed wedges gives both. This module shares no code with the search.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gpukit.graph.csr import Graph

Progress = Callable[[int, int], None]

WEDGES = 1 << 22
"""Wedges looked up at a time."""

EGO_EDGES = 1 << 18
"""Edges of the ego-networks that are decomposed together; a larger ego-network forms a batch by itself."""


@dataclass(frozen=True, eq=False)
class Circles:
    """Social contexts of some vertices, ordered by the place of their vertex, then by first member.

    Attributes
    ----------
    owners : int64 array, shape (contexts,)
        Place of the vertex of each context.
    offsets : int64 array, shape (contexts + 1,)
        Start of each context in ``members``.
    members : int64 array
        Internal ids, ascending in a context.
    """

    owners: np.ndarray
    offsets: np.ndarray
    members: np.ndarray


@dataclass(frozen=True)
class Verdict:
    """The errors of an answer; internal ids.

    Attributes
    ----------
    listed, checked : int
        Number of vertices of the answer, and of vertices outside it whose scores are known here.
    wrong_scores, wrong_contexts : list of int
        Listed vertices with a wrong score, and with wrong contexts.
    misplaced : list of int
        Listed vertices that are not in order: by decreasing score, then by id.
    missed : list of int
        Vertices outside the answer that belong before its last one.
    """

    listed: int
    checked: int
    wrong_scores: list[int]
    wrong_contexts: list[int]
    misplaced: list[int]
    missed: list[int]

    @property
    def wrong(self) -> list[int]:
        """Every vertex with an error, ascending."""
        return sorted({*self.wrong_scores, *self.wrong_contexts, *self.misplaced, *self.missed})


def triangles(tails: np.ndarray, heads: np.ndarray, n: int) -> np.ndarray:
    """List the triangles of a simple undirected graph.

    Each vertex examines pairs of neighbours of higher degree: at most 2·m^1.5 pairs.

    Parameters
    ----------
    tails, heads : int64 arrays, shape (m,)
        The ends of each edge, each edge once, in either order.
    n : int
        Number of vertices.

    Returns
    -------
    int64 array, shape (triangles, 3)
        Indices of the three edges of each triangle.
    """
    degrees = np.bincount(tails, minlength=n) + np.bincount(heads, minlength=n)
    rank = np.empty(n, np.int64)
    rank[np.argsort(degrees, kind="stable")] = np.arange(n)
    a, b = rank[tails], rank[heads]
    low, high = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    keys = low * n + high
    partners = np.searchsorted(low, low, side="right") - np.arange(len(low)) - 1
    ends = np.cumsum(partners)
    found, done = [np.empty((0, 3), np.int64)], 0
    while done < len(low):
        before = ends[done] - partners[done]
        stop = max(int(np.searchsorted(ends, before + WEDGES, side="right")), done + 1)
        one = np.repeat(np.arange(done, stop), partners[done:stop])
        other = one + 1 + np.arange(len(one)) - (ends[one] - partners[one] - before)
        wanted = high[one] * n + high[other]
        third = np.searchsorted(keys, wanted)
        closed = keys[np.minimum(third, len(keys) - 1)] == wanted
        found.append(order[np.stack((one, other, third), axis=1)[closed]])
        done = stop
    return np.concatenate(found)


def circles(
    graph: Graph, vertices: np.ndarray, model: str, k: int, *, progress: Progress | None = None
) -> Iterator[tuple[slice, Circles]]:
    """Yield the social contexts of vertices, a batch of vertices at a time; directions of edges are ignored.

    Parameters
    ----------
    graph : Graph
    vertices : int64 array
        Internal ids, ascending, no repeats.
    model : str
        ``comp``, ``core`` or ``truss``.
    k : int
        Threshold of the model.
    progress : callable, optional
        Called with (vertices done, vertices).

    Yields
    ------
    slice, Circles
        The positions of the batch in ``vertices``, and its contexts; owners are positions within the slice.
    """
    n = graph.n
    tails, heads = _edges(graph)
    arcs = np.sort(np.concatenate((tails * n + heads, heads * n + tails)))
    begin = np.searchsorted(arcs, vertices * n)
    end = np.searchsorted(arcs, (vertices + 1) * n)
    place = np.full(n, -1, np.int64)
    place[vertices] = np.arange(len(vertices))
    owner, u, v = _ego_edges(tails, heads, n, place)
    starts = np.searchsorted(owner, np.arange(len(vertices) + 1))
    done = 0
    while done < len(vertices):
        stop = max(int(np.searchsorted(starts, starts[done] + EGO_EDGES, side="right")) - 1, done + 1)
        degrees = end[done:stop] - begin[done:stop]
        rows = np.repeat(np.arange(stop - done), degrees)
        jump = np.repeat(begin[done:stop] - np.cumsum(degrees) + degrees, degrees)
        neighbours = arcs[np.arange(len(rows)) + jump] % n
        nodes = rows * n + neighbours
        part = slice(starts[done], starts[stop])
        block = (owner[part] - done) * n
        ends = (np.searchsorted(nodes, block + u[part]), np.searchsorted(nodes, block + v[part]))
        yield slice(done, stop), _contexts(rows, neighbours, *ends, model, k)
        done = stop
        if progress is not None:
            progress(done, len(vertices))


def judge(
    graph: Graph,
    model: str,
    k: int,
    vertices: np.ndarray,
    scores: np.ndarray,
    contexts: list[list[list[int]]],
    others: np.ndarray,
    *,
    progress: Progress | None = None,
) -> Verdict:
    """Judge an answer that names the t vertices with most contexts; ties are ordered by id.

    Parameters
    ----------
    graph : Graph
    model, k
        As for :func:`circles`.
    vertices, scores : integer arrays, shape (t,)
        The answer: internal ids, and the number of contexts of each.
    contexts : list of t lists of lists of int
        The members of each context of each vertex, internal ids.
    others : int64 array
        Vertices outside the answer to examine. A vertex with fewer than k neighbours has no context, so it need not be
        named.
    progress : callable, optional
        Called with (vertices done, vertices).
    """
    listed = np.asarray(vertices, np.int64)
    asked = np.unique(np.concatenate((listed, others)))
    tails, heads = _edges(graph)
    degrees = np.bincount(tails, minlength=graph.n) + np.bincount(heads, minlength=graph.n)
    known = np.where(degrees < k, 0, -1)
    claimed = {int(vertex): sorted(map(sorted, found)) for vertex, found in zip(listed, contexts, strict=True)}
    wrong_contexts = []
    for part, found in circles(graph, asked, model, k, progress=progress):
        batch = asked[part]
        known[batch] = np.bincount(found.owners, minlength=len(batch))
        for at in np.flatnonzero(np.isin(batch, listed)):
            rows = range(*np.searchsorted(found.owners, [at, at + 1]))
            true = sorted(found.members[found.offsets[row] : found.offsets[row + 1]].tolist() for row in rows)
            if true != claimed[int(batch[at])]:
                wrong_contexts.append(int(batch[at]))
    outside = np.setdiff1d(np.flatnonzero(known >= 0), listed)
    last, least = (int(listed[-1]), int(known[listed[-1]])) if len(listed) else (-1, 0)
    beats = (known[outside] > least) | ((known[outside] == least) & (outside < last))
    place = -known[listed] * graph.n + listed
    return Verdict(
        len(listed),
        len(outside),
        listed[known[listed] != scores].tolist(),
        sorted(wrong_contexts),
        listed[:-1][place[:-1] >= place[1:]].tolist(),
        outside[beats].tolist(),
    )


def _edges(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of each undirected edge, the lower id first (int64), in ascending order."""
    tails = np.repeat(np.arange(graph.n, dtype=np.int64), np.diff(graph.indptr))
    heads = graph.indices.astype(np.int64)
    keys = np.unique(np.minimum(tails, heads) * graph.n + np.maximum(tails, heads))
    return keys // max(graph.n, 1), keys % max(graph.n, 1)


def _ego_edges(
    tails: np.ndarray, heads: np.ndarray, n: int, place: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges of ego-networks as (position of the centre, two neighbours), ordered by position.

    A triangle is an edge of three ego-networks; a centre at position -1 is left out.
    """
    one, other, _ = triangles(tails, heads, n).T
    shared = (tails[one] == tails[other]) | (tails[one] == heads[other])
    a = np.where(shared, tails[one], heads[one])
    b, c = tails[one] + heads[one] - a, tails[other] + heads[other] - a
    owner = place[np.concatenate((a, b, c))]
    kept = np.flatnonzero(owner >= 0)
    kept = kept[np.argsort(owner[kept], kind="stable")]
    return owner[kept], np.concatenate((b, a, a))[kept], np.concatenate((c, c, b))[kept]


def _contexts(rows: np.ndarray, neighbours: np.ndarray, u: np.ndarray, v: np.ndarray, model: str, k: int) -> Circles:
    """Return the contexts of a batch of ego-networks, given as one graph of many components.

    Parameters
    ----------
    rows, neighbours : int64 arrays, shape (nodes,)
        The ego-network and the internal id of each node, ascending.
    u, v : int64 arrays
        The ends of each edge as nodes.
    model, k
        As for :func:`circles`.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(rows)
    alive = np.ones(len(u), bool)
    if model == "core":
        while True:
            degrees = np.bincount(u[alive], minlength=size) + np.bincount(v[alive], minlength=size)
            weak = alive & ((degrees[u] < k) | (degrees[v] < k))
            if not weak.any():
                break
            alive &= ~weak
    elif model == "truss":
        corners = triangles(u, v, size)
        while True:
            weak = alive & (np.bincount(corners.ravel(), minlength=len(u)) < k - 2)
            if not weak.any():
                break
            alive &= ~weak
            corners = corners[alive[corners].all(axis=1)]
    matrix = coo_array((np.ones(np.count_nonzero(alive), bool), (u[alive], v[alive])), shape=(size, size))
    count, labels = connected_components(matrix, directed=False)
    sizes = np.bincount(labels, minlength=count)
    nodes = np.flatnonzero(sizes[labels] >= (k if model == "comp" else 2))
    leaders = np.full(count, size)
    np.minimum.at(leaders, labels, np.arange(size))
    nodes = nodes[np.argsort(leaders[labels[nodes]], kind="stable")]
    opens = np.flatnonzero(np.diff(leaders[labels[nodes]], prepend=-1))
    return Circles(rows[nodes[opens]], np.append(opens, len(nodes)), neighbours[nodes])
