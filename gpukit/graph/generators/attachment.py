"""Growing graphs: preferential attachment (Barabási, Albert 1999) and triad formation (Holme, Kim 2002).

A new vertex needs the degrees of all earlier ones, so these generators use one thread. A uniform choice among all ends
of edges so far is a choice of a vertex in proportion to its degree.
"""

import numpy as np

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4
from gpukit.errors import UsageError
from gpukit.graph.generators.draws import TAG_ATTACHMENT, below64, check_size
from gpukit.graph.memory import check_drawing


def ba(vertices: int, attach: int, seed: int = 0, *, clique: int | None = None) -> tuple[np.ndarray, np.ndarray, int]:
    """Grow a scale-free undirected graph as in section 4.6 of gIM.

    Parameters
    ----------
    vertices : int
        Number of vertices.
    attach : int
        Edges of each new vertex, to distinct earlier ones in proportion to their degree.
    seed : int
        In [0, 2**64).
    clique : int
        Vertices of the initial clique, at least max(attach, 2), which is the default.

    Returns
    -------
    u, v : int32 arrays, shape (m,)
        m = clique·(clique - 1)/2 + attach·(vertices - clique), each edge once.
    n : int
    """
    return _grow(vertices, attach, seed, clique, 0.0)


def holme_kim(
    vertices: int, attach: int, triad: float, seed: int = 0, *, clique: int | None = None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Grow a scale-free undirected graph with many triangles.

    Like :func:`ba`, with one change. After its first edge, each edge of a new vertex is a triad edge with probability
    ``triad``: it goes to a uniform neighbour of the last vertex that was chosen by degree, if that vertex has a
    neighbour without an edge to the new one.

    Parameters
    ----------
    vertices, attach, seed, clique
        As in :func:`ba`.
    triad : float
        Probability in [0, 1].

    Returns
    -------
    u, v, n
        As in :func:`ba`.
    """
    if not 0 <= triad <= 1:
        raise UsageError(f"triad probability {triad}; it must be in [0, 1]")
    return _grow(vertices, attach, seed, clique, triad)


def _grow(n: int, r: int, seed: int, clique: int | None, triad: float) -> tuple[np.ndarray, np.ndarray, int]:
    clique = max(r, 2) if clique is None else clique
    if r < 1 or clique < max(r, 2) or n < clique:
        raise UsageError(
            f"{n} vertices, {r} edges each, first clique of {clique}; "
            "allowed is 1 <= edges <= clique <= vertices and a clique of at least 2"
        )
    m = clique * (clique - 1) // 2 + r * (n - clique)
    check_size(n, m, undirected=True)
    # The edge ends are stored twice. Triads also need each vertex's neighbours, in lists that double while they are
    # copied.
    lists = n * (32 + 24 * clique) + 32 * m if triad > 0 else 0
    check_drawing(f"growing {m:,} edges", 16 * m + 4 * n + lists)
    ends = _attach(np.uint64(seed), n, r, clique, m, int(triad * 2**32 + 0.5), TAG_ATTACHMENT)
    return ends[0::2].copy(), ends[1::2].copy(), n


@njit
def _add_neighbour(u, v, room, start, size, space, used):
    """Append v to the neighbours of u; move a full list to twice the room. Return the array and its used length."""
    if size[u] == space[u]:
        if used + 2 * space[u] > len(room):
            wider = np.empty(2 * len(room) + 2 * space[u], np.int32)
            for i in range(used):
                wider[i] = room[i]
            room = wider
        for i in range(size[u]):
            room[used + i] = room[start[u] + i]
        start[u] = used
        space[u] *= 2
        used += space[u]
    room[start[u] + size[u]] = v
    size[u] += 1
    return room, used


@njit
def _has_free(room, start, size, u, linked, v):
    """Return whether any neighbour of u is not yet linked to v."""
    for i in range(start[u], start[u] + size[u]):
        if linked[room[i]] != v:
            return True
    return False


@njit
def _attach(seed, n, r, clique, m, triad, tag):
    """Return the ends (int32, 2m) of the edges in order of creation.

    Draw number d of vertex v is keyed by (v, d). ``linked[x] == v`` means that x is v itself or one of its neighbours.
    Neighbour lists are kept only for triads.
    """
    ends = np.empty(2 * m, np.int32)
    filled = 0
    for v in range(clique):
        for x in range(v):
            ends[filled], ends[filled + 1] = v, x
            filled += 2
    linked = np.full(n, -1, np.int32)
    lists = n if triad > 0 else 0
    start = np.arange(lists) * 2 * clique
    size, space = np.zeros(lists, np.int64), np.full(lists, 2 * clique, np.int64)
    used = 2 * clique * lists
    room = np.empty(used, np.int32)
    if triad > 0:
        for v in range(clique):
            for x in range(clique):
                if x != v:
                    room, used = _add_neighbour(v, x, room, start, size, space, used)
    for v in range(clique, n):
        linked[v] = v
        visible = filled  # degrees are those before v was added
        last = -1
        draw = 0
        made = 0
        closing = False
        fresh = True
        while made < r:
            words = draw4(seed, tag, v, 0, draw)
            draw += 1
            if fresh:
                closing = last >= 0 and np.int64(words[2]) < triad and _has_free(room, start, size, last, linked, v)
            place = np.int64(below64(words[0], words[1], size[last] if closing else visible))
            chosen = room[start[last] + place] if closing else ends[place]
            fresh = linked[chosen] != v
            if not fresh:
                continue
            if not closing:
                last = chosen
            linked[chosen] = v
            ends[filled], ends[filled + 1] = v, chosen
            filled += 2
            made += 1
            if triad > 0:
                room, used = _add_neighbour(v, chosen, room, start, size, space, used)
                room, used = _add_neighbour(chosen, v, room, start, size, space, used)
    return ends
