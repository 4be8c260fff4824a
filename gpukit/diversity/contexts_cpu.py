"""Kernels of structural diversity on the CPU (Numba).

Vertices are renamed by rank (ascending degree, then id), see :class:`gpukit.diversity.scores.Network`. An edge of an
ego-network is found once: at its end of lower rank, among the neighbours of higher rank. A vertex has at most √(2m) of
these, and hubs have few. Local vertices keep the order of ranks, so rows are sorted without locks.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.compiled import njit
from gpukit.diversity.bounds import COMP, TRUSS, least_degree, least_size, least_support, lower_bound, upper_bound

SKEW = 8
"""If the longer row has more than ``SKEW`` times as many entries, it is searched; otherwise the rows are merged."""


class Rows(NamedTuple):
    """The network, by rank."""

    indptr: np.ndarray  # int64 (n + 1,)
    indices: np.ndarray  # int32 (m,): neighbours, ascending in a row
    up: np.ndarray  # int64 (n,): place of the first neighbour of higher rank
    support: np.ndarray  # int32 (m,): triangles of each edge, in both rows


class Edges(NamedTuple):
    """The edges of a graph, and its sorted rows."""

    tails: np.ndarray  # lower end of each edge, ascending
    heads: np.ndarray  # higher end, ascending for equal tails
    begin: np.ndarray  # start of each row
    other: np.ndarray  # the neighbour at each place of the rows
    edge_of: np.ndarray  # the edge at each place of the rows


class EgoScratch(NamedTuple):
    """Working space of a thread that scores ego-networks; int32, except ``state`` (int8) and ``hubs`` (uint64)."""

    mark: np.ndarray  # (n,): zeros between ego-networks
    kept: np.ndarray  # rank of each local vertex; the next six are also per local vertex
    degree: np.ndarray
    queue: np.ndarray  # vertices to peel
    side_a: np.ndarray  # with side_b: the other two edges of each triangle of an edge
    side_b: np.ndarray
    root: np.ndarray  # lowest member of the component
    sizes: np.ndarray  # size of the component, at its root
    hubs: np.ndarray  # uint64 per local vertex: which of the last 64 local vertices are neighbours
    state: np.ndarray  # per edge: 1 waiting, 0 alive, -1 dead
    stack: np.ndarray  # waiting edges
    edges: Edges  # of the ego-network


def make_space(n: int, widest: int, edges: int) -> EgoScratch:
    """Return the space for n vertices, and at most ``widest`` vertices and ``edges`` edges per ego-network."""
    kept, degree, queue, side_a, side_b, root, sizes, begin = np.empty((8, widest + 2), np.int32)
    tails, heads, stack = np.empty((3, edges + 1), np.int32)
    rows = Edges(tails, heads, begin, *np.empty((2, 2 * edges + 1), np.int32))
    state = np.empty(edges + 1, np.int8)
    hubs = np.empty(widest + 2, np.uint64)
    return EgoScratch(np.zeros(n, np.int32), kept, degree, queue, side_a, side_b, root, sizes, hubs, state, stack, rows)


@njit
def rename(indptr, indices, order, rank):
    """Return the rows of the graph by rank, each ascending, and the first neighbour of higher rank in each.

    Returns
    -------
    indptr : int64 array, shape (n + 1,)
    indices : int32 array, shape (m,)
    up : int64 array, shape (n,)
        Place of the first neighbour of higher rank in each row.
    """
    n = len(order)
    starts = np.zeros(n + 1, np.int64)
    for r in range(n):
        starts[r + 1] = starts[r] + indptr[order[r] + 1] - indptr[order[r]]
    place = starts[:n].copy()
    up = np.empty(n, np.int64)
    rows = np.empty(len(indices), np.int32)
    for r in range(n):
        up[r] = place[r]
        for p in range(indptr[order[r]], indptr[order[r] + 1]):
            target = rank[indices[p]]
            rows[place[target]] = r
            place[target] += 1
    return starts, rows, up


@njit
def count_triangles(first, last, rows, mark):
    """Add each triangle whose lowest rank is in range to the support of its edges, in the rows of their lower ends.

    Parameters
    ----------
    first, last : int
        Ranks first … last - 1.
    rows : Rows
        The support array is private to this thread.
    mark : int64 array, shape (n,)
        Zeros at the start and at the end.
    """
    indptr, indices, up, support = rows
    for u in range(first, last):
        for p in range(up[u], indptr[u + 1]):
            mark[indices[p]] = p + 1
        for p in range(up[u], indptr[u + 1]):
            w = indices[p]
            found = 0
            for q in range(up[w], indptr[w + 1]):
                third = mark[indices[q]]
                if third > 0:
                    found += 1
                    support[q] += 1
                    support[third - 1] += 1
            support[p] += found
        mark[indices[up[u] : indptr[u + 1]]] = 0


@njit
def mirror(rows):
    """Copy the support of each edge from its lower end's row to the row of the other end."""
    indptr, indices, up, support = rows
    place = indptr[:-1].copy()
    for u in range(len(up)):
        for p in range(up[u], indptr[u + 1]):
            w = indices[p]
            support[place[w]] = support[p]
            place[w] += 1


@njit
def upper_bounds(model, k, indptr, support):
    """Return the upper bound of each score (int32, n), by rank (algorithm 1, lines 2-3)."""
    n = len(indptr) - 1
    bounds = np.empty(n, np.int32)
    least = least_degree(model, k)
    for v in range(n):
        members, degrees = 0, 0
        for p in range(indptr[v], indptr[v + 1]):
            if support[p] >= least:
                members += 1
                degrees += support[p]
        bounds[v] = upper_bound(model, k, members, degrees)
    return bounds


@njit
def extract_edges(v, least, edge_least, rows, space):
    """Write the possible context members of ego(v) and the edges between them; return both numbers.

    Edges are local and ascend by tail, then head. An edge needs a support of ``edge_least`` in the whole graph.
    """
    kept, mark, edges = space.kept, space.mark, space.edges
    size = 0
    for p in range(rows.indptr[v], rows.indptr[v + 1]):
        if rows.support[p] >= least:
            kept[size] = rows.indices[p]
            size += 1
            mark[rows.indices[p]] = size
    count, highest = 0, kept[size - 1]
    for i in range(size):
        u = kept[i]
        for p in range(rows.up[u], rows.indptr[u + 1]):
            w = rows.indices[p]
            if w > highest:
                break
            j = mark[w]
            if j > 0 and rows.support[p] >= edge_least:
                edges.tails[count] = i
                edges.heads[count] = j - 1
                count += 1
    mark[kept[:size]] = 0
    return size, count


@njit
def count_degrees(size, count, edges, degree):
    """Write the degree of each vertex."""
    for i in range(size):
        degree[i] = 0
    for e in range(count):
        degree[edges.tails[e]] += 1
        degree[edges.heads[e]] += 1


@njit
def fill_rows(size, count, degree, edges):
    """Make sorted CSR rows (begin[i] … begin[i + 1]) of the edges, and store the edge number of each entry."""
    begin, other, edge_of = edges.begin, edges.other, edges.edge_of
    begin[:2] = 0
    for i in range(size):
        begin[i + 2] = begin[i + 1] + degree[i]
    # begin[i + 1] is now the write position of row i; at the end it is the start of row i + 1.
    for e in range(count):
        a, b = edges.tails[e], edges.heads[e]
        other[begin[a + 1]] = b
        edge_of[begin[a + 1]] = e
        begin[a + 1] += 1
        other[begin[b + 1]] = a
        edge_of[begin[b + 1]] = e
        begin[b + 1] += 1


@njit
def _peel_core(size, least, degree, edges, queue):
    """Remove vertices of degree < least until none is left; return the number of removed vertices."""
    gone = 0
    for i in range(size):
        if degree[i] < least:
            queue[gone] = i
            gone += 1
    done = 0
    while done < gone:
        i = queue[done]
        done += 1
        for p in range(edges.begin[i], edges.begin[i + 1]):
            j = edges.other[p]
            degree[j] -= 1
            if degree[j] == least - 1:  # only once
                queue[gone] = j
                gone += 1
    return gone


@njit
def keep(count, edges, values, least):
    """Keep the edges with values >= ``least``, in order; return their number."""
    left = 0
    for e in range(count):
        if values[e] >= least:
            edges.tails[left] = edges.tails[e]
            edges.heads[left] = edges.heads[e]
            left += 1
    return left


@njit
def shorter_first(e, edges):
    """Return the start and end of the rows of both ends of an edge, the shorter row first."""
    a, b, begin = edges.tails[e], edges.heads[e], edges.begin
    if begin[a + 1] - begin[a] > begin[b + 1] - begin[b]:
        a, b = b, a
    return begin[a], begin[a + 1], begin[b], begin[b + 1]


@njit
def last_common(other, p_begin, p, q_begin, q):
    """Search two rows down from p and q; return the places of the last common neighbour, or p_begin - 1 if none."""
    skewed = q - q_begin > SKEW * (p - p_begin)
    while p >= p_begin and q >= q_begin:
        x, y = other[p], other[q]
        if x == y:
            return p, q
        p -= x > y
        if y > x and skewed:
            q = lower_bound(other, q_begin, q, x)
            q -= other[q] > x
        else:
            q -= y > x
    return p_begin - 1, q_begin - 1


@njit
def _fill_hubs(size, count, edges, state, hubs):
    """Write a 64-bit mask for each vertex: its neighbours, by living edges, among the 64 vertices of highest rank."""
    first = size - 64
    hubs[:size] = 0
    for e in range(count):
        a, b = edges.tails[e], edges.heads[e]
        if b >= first and state[e] >= 0:
            hubs[a] |= np.uint64(1) << np.uint64(b - first)
            if a >= first:
                hubs[b] |= np.uint64(1) << np.uint64(a - first)


@njit
def _lazy_truss(size, count, needed, space):
    """Remove edges in fewer than ``needed`` living triangles until none is left; return how many remain.

    The count of an edge stops at ``needed``. Rows are read from their ends, because hubs are there and most triangles
    contain one. An edge with too few triangles dies; all its living triangles are then known, and their other two edges
    (kept in ``side_a`` and ``side_b``) are checked again. ``state`` is 0 or -1 at the start: 1 waiting, 0 passed, -1
    dead.
    """
    edges, state, stack, side_a, side_b = space.edges, space.state, space.stack, space.side_a, space.side_b
    other, edge_of, tails, heads, hubs = edges.other, edges.edge_of, edges.tails, edges.heads, space.hubs
    _fill_hubs(size, count, edges, state, hubs)
    waiting = 0
    for e in range(count):
        if state[e] < 0:
            continue
        # Nearly all edges have ``needed`` triangles with these hubs alone.
        common = hubs[tails[e]] & hubs[heads[e]]
        for _ in range(needed - 1):
            common &= common - np.uint64(1)  # clears the lowest bit; 0 stays 0
        if not common:
            state[e] = 1
            stack[waiting] = e
            waiting += 1
    while waiting > 0:
        waiting -= 1
        e = stack[waiting]
        state[e] = 0
        p_begin, p_end, q_begin, q_end = shorter_first(e, edges)
        p, q = p_end - 1, q_end - 1
        found = 0
        while found < needed:
            p, q = last_common(other, p_begin, p, q_begin, q)
            if p < p_begin:
                break
            if state[edge_of[p]] >= 0 and state[edge_of[q]] >= 0:
                side_a[found], side_b[found] = edge_of[p], edge_of[q]
                found += 1
            p -= 1
            q -= 1
        if found < needed:
            state[e] = -1
            for i in range(found):
                for f in (side_a[i], side_b[i]):
                    if state[f] == 0:
                        state[f] = 1
                        stack[waiting] = f
                        waiting += 1
    return keep(count, edges, state, 0)


@njit
def root_of(root, x):
    """Return the root of x and halve the path to it."""
    while root[x] != x:
        root[x] = root[root[x]]
        x = root[x]
    return x


@njit
def count_contexts(size, count, smallest, space):
    """Join local vertices by edges; return how many components have ``smallest`` vertices. Roots are lowest members."""
    root, sizes, edges = space.root, space.sizes, space.edges
    for i in range(size):
        root[i] = i
        sizes[i] = 0
    for e in range(count):
        a, b = root_of(root, edges.tails[e]), root_of(root, edges.heads[e])
        root[max(a, b)] = min(a, b)
    found = 0
    for i in range(size):
        root[i] = root[root[i]]  # parents are lower and already final
        sizes[root[i]] += 1
        found += sizes[root[i]] == smallest
    return found


@njit
def _contexts(v, model, k, rows, space):
    """Return the numbers of contexts and of local vertices of ego(v); (0, 0) if it cannot have a context.

    Leaves in ``space`` the local vertices (``kept``), the root of each vertex's component and, at a root, the size of
    its component. A component is a context if it has :func:`least_size` vertices.
    """
    degree, edges, state = space.degree, space.edges, space.state
    least, smallest = least_degree(model, k), least_size(model, k)
    # Algorithm 2: possible members and edges.
    size, count = extract_edges(v, least, least_support(model, k), rows, space)
    if size < smallest:
        return 0, 0
    if model != COMP:
        # Algorithm 4, for one k. A k-truss lies in a (k - 1)-core, which is cheap to find; often it removes nobody.
        count_degrees(size, count, edges, degree)
        fill_rows(size, count, degree, edges)
        gone = _peel_core(size, least, degree, edges, space.queue)
        if size - gone < smallest:
            return 0, 0
        for e in range(count):
            state[e] = 0 if min(degree[edges.tails[e]], degree[edges.heads[e]]) >= least else -1
        # Peeled vertices stay in the rows as dead, unless they are the majority.
        lazy, sparse = model == TRUSS and k > 2, 2 * gone > size
        if not lazy or sparse:
            count = keep(count, edges, state, 0)
        # Algorithms 5 to 7, for one k.
        if lazy and sparse:
            count_degrees(size, count, edges, degree)
            fill_rows(size, count, degree, edges)
            state[:count] = 0
        if lazy:
            count = _lazy_truss(size, count, k - 2, space)
    # Algorithm 3.
    return count_contexts(size, count, smallest, space), size


@njit
def score_vertices(vertices, model, k, rows, space, scores):
    """Write the score of each vertex.

    Parameters
    ----------
    vertices : int32 array
        Private to this thread.
    model, k : int
    rows : Rows
    space : EgoScratch
        Private to this thread.
    scores : int32 array, shape (n,)
        By rank.
    """
    for v in vertices:
        scores[v] = _contexts(v, model, k, rows, space)[0]


@njit
def label_members(vertices, model, k, rows, space, members, labels):
    """Write rank and root (int32) of all local vertices of ego-networks; return the number of each (int64)."""
    sizes, end = np.zeros(len(vertices), np.int64), 0
    for place in range(len(vertices)):
        size = _contexts(vertices[place], model, k, rows, space)[1]
        for i in range(size):
            members[end + i], labels[end + i] = space.kept[i], space.root[i]
        sizes[place], end = size, end + size
    return sizes
