"""Kernels of structural diversity on the CPU (Numba).

The graph comes with vertices renamed by rank (degree rising, then id), see :class:`gpukit.diversity.scores.Network`. An
edge of an ego-network is found once, from its end of lower rank, by a scan of that end's neighbours of higher rank;
there are at most √(2m) of those, hubs have few. Local vertices keep the order of ranks, so rows come out sorted without
locks.
"""

import numba
import numpy as np

from gpukit.diversity.bounds import COMP, TRUSS, least_degree, least_size, upper_bound

SKEW = 8
"""Rows that differ more than so many times in length are searched, not merged."""


@numba.njit(nogil=True, cache=True)
def rename(indptr, indices, order, rank):
    """Return the rows of the graph by rank, each ascending, and where the neighbours of higher rank begin.

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


@numba.njit(nogil=True, cache=True)
def count_triangles(first, last, indptr, indices, up, mark, support):
    """Add the triangles whose lowest rank is in range to ``support``, at each edge's place in its lower end's row.

    Parameters
    ----------
    first, last : int
        Ranks first … last - 1.
    indptr, indices, up
        See :func:`rename`.
    mark : int64 array, shape (n,)
        Zeros, and zeros again at the end.
    support : int32 array, shape (m,)
        Of this thread alone.
    """
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
        for p in range(up[u], indptr[u + 1]):
            mark[indices[p]] = 0


@numba.njit(nogil=True, cache=True)
def mirror(indptr, indices, up, support):
    """Copy the support of each edge from its lower end's row to the row of the other end."""
    n = len(up)
    place = indptr[:n].copy()
    for u in range(n):
        for p in range(up[u], indptr[u + 1]):
            w = indices[p]
            support[place[w]] = support[p]
            place[w] += 1


@numba.njit(nogil=True, cache=True)
def upper_bounds(model, k, indptr, support):
    """Return the upper bound of each score (int32, n), by rank."""
    n = len(indptr) - 1
    bounds = np.empty(n, np.int32)
    least = least_degree(model, k)
    for v in range(n):
        members, inner = 0, 0
        for p in range(indptr[v], indptr[v + 1]):
            if support[p] >= least:
                members += 1
                inner += support[p]
        bounds[v] = upper_bound(model, k, members, inner)
    return bounds


@numba.njit(nogil=True, cache=True)
def extract(v, least, edge_least, indptr, indices, up, support, mark, kept, tails, heads):
    """Fill the possible context members of ego(v) and the edges between them; return both numbers.

    Edges come by ascending tail, then head, both local; an edge needs a support of ``edge_least`` in the whole graph.
    """
    count = 0
    for p in range(indptr[v], indptr[v + 1]):
        if support[p] >= least:
            kept[count] = indices[p]
            count += 1
            mark[indices[p]] = count
    edges = 0
    if count > 0:
        highest = kept[count - 1]
        for i in range(count):
            u = kept[i]
            for p in range(up[u], indptr[u + 1]):
                w = indices[p]
                if w > highest:
                    break
                j = mark[w]
                if j > 0 and support[p] >= edge_least:
                    tails[edges] = i
                    heads[edges] = j - 1
                    edges += 1
        for i in range(count):
            mark[kept[i]] = 0
    return count, edges


@numba.njit(nogil=True, cache=True)
def fill_rows(count, edges, tails, heads, degree, begin, other, edge_of):
    """Make sorted CSR rows of the edges, begin[i] … begin[i + 1], and the number of the edge at each place."""
    for i in range(count + 2):
        begin[i] = 0
    for i in range(count):
        begin[i + 2] = degree[i]
    for i in range(1, count + 2):
        begin[i] += begin[i - 1]
    # begin[i + 1] is now the place to write of row i, and ends as the start of row i + 1.
    for e in range(edges):
        a, b = tails[e], heads[e]
        other[begin[a + 1]] = b
        edge_of[begin[a + 1]] = e
        begin[a + 1] += 1
        other[begin[b + 1]] = a
        edge_of[begin[b + 1]] = e
        begin[b + 1] += 1


@numba.njit(nogil=True, cache=True)
def _peel(count, least, degree, begin, other, queue):
    """Remove vertices of degree < least until none is left (their degree becomes -1); return how many went."""
    size = 0
    for i in range(count):
        if degree[i] < least:
            degree[i] = -1
            queue[size] = i
            size += 1
    done = 0
    while done < size:
        i = queue[done]
        done += 1
        for p in range(begin[i], begin[i + 1]):
            j = other[p]
            if degree[j] >= 0:
                degree[j] -= 1
                if degree[j] < least:
                    degree[j] = -1
                    queue[size] = j
                    size += 1
    return size


@numba.njit(nogil=True, cache=True)
def _compact(edges, tails, heads, degree):
    """Keep the edges between vertices that were not peeled, in order; return their number."""
    left = 0
    for e in range(edges):
        if degree[tails[e]] >= 0 and degree[heads[e]] >= 0:
            tails[left] = tails[e]
            heads[left] = heads[e]
            left += 1
    return left


@numba.njit(nogil=True, cache=True)
def _truss(edges, needed, tails, heads, begin, other, edge_of, state, stack, side_a, side_b):
    """Remove edges in fewer than ``needed`` living triangles until none is left, and compact; return what is left.

    An edge's count stops at ``needed``. One that fails has seen all its living triangles: it dies, and the other two
    edges of each (kept in ``side_a`` and ``side_b``) are looked at again. ``state``: 1 waits, 0 passed, -1 dead.
    """
    for e in range(edges):
        state[e] = 1
        stack[e] = edges - 1 - e
    size = edges
    while size > 0:
        size -= 1
        e = stack[size]
        state[e] = 0
        p, p_end = begin[tails[e]], begin[tails[e] + 1]
        q, q_end = begin[heads[e]], begin[heads[e] + 1]
        if p_end - p > q_end - q:
            p, p_end, q, q_end = q, q_end, p, p_end
        found = 0
        if q_end - q <= SKEW * (p_end - p):
            while found < needed and p < p_end and q < q_end:
                x, y = other[p], other[q]
                if x == y and state[edge_of[p]] >= 0 and state[edge_of[q]] >= 0:
                    side_a[found] = edge_of[p]
                    side_b[found] = edge_of[q]
                    found += 1
                p += x <= y
                q += y <= x
        else:
            while found < needed and p < p_end and q < q_end:
                if state[edge_of[p]] >= 0:
                    x, high = other[p], q_end
                    while q < high:
                        middle = (q + high) >> 1
                        if other[middle] < x:
                            q = middle + 1
                        else:
                            high = middle
                    if q < q_end and other[q] == x and state[edge_of[q]] >= 0:
                        side_a[found] = edge_of[p]
                        side_b[found] = edge_of[q]
                        found += 1
                p += 1
        if found >= needed:
            continue
        state[e] = -1
        for i in range(found):
            f, g = side_a[i], side_b[i]
            if state[f] == 0:
                state[f] = 1
                stack[size] = f
                size += 1
            if state[g] == 0:
                state[g] = 1
                stack[size] = g
                size += 1
    left = 0
    for e in range(edges):
        if state[e] >= 0:
            tails[left] = tails[e]
            heads[left] = heads[e]
            left += 1
    return left


@numba.njit(nogil=True, cache=True)
def components(count, edges, tails, heads, least, root, sizes):
    """Join local vertices by edges; return how many components have ``least`` vertices. Roots are lowest members."""
    for i in range(count):
        root[i] = i
        sizes[i] = 0
    for e in range(edges):
        a, b = tails[e], heads[e]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if a < b:
            root[b] = a
        elif b < a:
            root[a] = b
    found = 0
    for i in range(count):
        root[i] = root[root[i]]  # parents are lower and done
        sizes[root[i]] += 1
        if sizes[root[i]] == least:
            found += 1
    return found


@numba.njit(nogil=True, cache=True)
def _contexts(v, model, k, indptr, indices, up, support, mark, nodes, space):
    """Return the number of contexts of ego(v) and of its local vertices (0, 0 when there cannot be a context).

    Leaves in ``nodes`` the local vertices (0), the root of each one's part (1) and, at a root, the size of its part
    (2); a part is a context if it has :func:`least_size` vertices.
    """
    kept, degree, begin, queue, side = nodes[0], nodes[1], nodes[2], nodes[3], nodes[4]
    tails, heads, state, stack, other, edge_of = space
    least, size = least_degree(model, k), least_size(model, k)
    edge_least = k - 1 if model == TRUSS else 1
    count, edges = extract(v, least, edge_least, indptr, indices, up, support, mark, kept, tails, heads)
    if count < size:
        return 0, 0
    if model != COMP:
        for i in range(count):
            degree[i] = 0
        for e in range(edges):
            degree[tails[e]] += 1
            degree[heads[e]] += 1
        short = 0
        for i in range(count):
            short += degree[i] < least
        if short > 0:
            fill_rows(count, edges, tails, heads, degree, begin, other, edge_of)
            if count - _peel(count, least, degree, begin, other, queue) < size:
                return 0, 0
            edges = _compact(edges, tails, heads, degree)
        if model == TRUSS and k > 2:
            for i in range(count):
                degree[i] = max(degree[i], 0)
            fill_rows(count, edges, tails, heads, degree, begin, other, edge_of)
            edges = _truss(edges, k - 2, tails, heads, begin, other, edge_of, state, stack, queue, side)
    return components(count, edges, tails, heads, size, degree, begin), count


@numba.njit(nogil=True, cache=True)
def edge_space(edges):
    """Return room for ego-networks of so many edges, for one thread."""
    one, two = edges + 1, 2 * edges + 1
    return (
        np.empty(one, np.int32),
        np.empty(one, np.int32),
        np.empty(one, np.int8),
        np.empty(one, np.int32),
        np.empty(two, np.int32),
        np.empty(two, np.int32),
    )


@numba.njit(nogil=True, cache=True)
def score_vertices(vertices, model, k, indptr, indices, up, support, mark, nodes, space, scores):
    """Write the score of each vertex.

    Parameters
    ----------
    vertices : int32 array
        Ranks.
    model, k : int
    indptr, indices, up, support
        The network, see :func:`rename` and :func:`mirror`.
    mark : int32 array, shape (n,)
        Zeros, and zeros again at the end.
    nodes : int32 array, shape (5, largest degree + 2)
        Of this thread alone.
    space : tuple of arrays
        See :func:`edge_space`.
    scores : int32 array, shape (n,)
        By rank.
    """
    for v in vertices:
        found, _ = _contexts(v, model, k, indptr, indices, up, support, mark, nodes, space)
        scores[v] = found


@numba.njit(nogil=True, cache=True)
def list_contexts(vertices, model, k, indptr, indices, up, support, mark, nodes, space, order, first, members):
    """Write the contexts of each vertex: ids ascending in a context, contexts by their first member.

    Parameters
    ----------
    vertices, model, k, indptr, indices, up, support, mark, nodes, space
        See :func:`score_vertices`.
    order : int32 array, shape (n,)
        Id of each rank.
    first : int64 array, shape (vertices + 1,)
        First context of each vertex, from the scores.
    members : int32 array
        Room for the degrees of all these vertices.

    Returns
    -------
    int64 array, shape (contexts + 1,)
        Start of each context in ``members``.
    """
    kept, degree, begin, queue = nodes[0], nodes[1], nodes[2], nodes[3]
    least = least_size(model, k)
    offsets = np.zeros(first[len(vertices)] + 1, np.int64)
    for place in range(len(vertices)):
        row = first[place]
        if first[place + 1] == row:
            continue
        v = vertices[place]
        _, count = _contexts(v, model, k, indptr, indices, up, support, mark, nodes, space)
        by_id = np.argsort(order[kept[:count]])
        for i in range(count):
            queue[i] = -1
        for i in by_id:
            root = degree[i]
            if begin[root] >= least and queue[root] < 0:
                offsets[row + 1] = offsets[row] + begin[root]
                queue[root] = offsets[row] - offsets[first[place]]
                row += 1
        for i in by_id:
            root = degree[i]
            if begin[root] >= least:
                members[offsets[first[place]] + queue[root]] = order[kept[i]]
                queue[root] += 1
    return offsets
