"""Second estimates near rank k, and the test that finds the certain positions of an answer, on the CPU.

A query stops when Definition 1 holds. Its bounds are then a few percent wide. Vertices that are closer to each other
than that may be on the wrong side of rank k. These are *contenders*. For a contender t, one backward push replaces the
mass that walks brought to t by the mass that they brought to the tails of its in-edges.

Let Y(w) be the part of π(w) that walks account for. Then π(t) is the reserve plus α · residue of t, plus the sum of
(1-α)/d(w) · Y(w) over the in-edges. If t absorbs, the sum is multiplied by 1/α, and there is no residue. A walk now
counts for x = max (1-α)/d(w) of its former mass, and Theorem 2 holds with ρ · x instead of ρ. Both bounds hold at once,
because the second estimate counts as one more value of δ in p'_f.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.graph.build import transpose
from gpukit.graph.csr import Graph
from gpukit.kpar.groups import InEdges
from gpukit.kpar.problem import CONTENDERS, ONE, UNIT, WALKS_AN_EDGE
from gpukit.kpar.query.bounds import lower_bound, sort_falling, take_top, upper_bound
from gpukit.kpar.rule import LOST, edge_part, over_alpha, passed_on, refine_budget, row_place

PREFETCHED = 16
"""Number of tails whose start lists are prefetched together."""


class Refined(NamedTuple):
    """Contenders with a second estimate, in arrays of length CONTENDERS: vertices, both scores, the tighter bounds."""

    vertices: Any
    before: Any
    after: Any
    lows: Any
    highs: Any


@njit
def interval(step, v, score, request, ws):
    """Return the bounds on π of a vertex whose estimate π̂ is ``score``."""
    kept = ws.reserves[2 * v]
    by_walks = float(score - kept) * UNIT
    high = upper_bound(request.bounds, step, float(score) * UNIT, by_walks)
    return lower_bound(request.bounds, step, float(score) * UNIT, by_walks, float(kept) * UNIT), high


@njit
def known_interval(step, v, score, number, found, request, ws):
    """Return the bounds on π of a vertex with estimate ``score``; tighter if it is among the ``number`` refined."""
    i = ws.taken[v]
    if 0 <= i < number and found.vertices[i] == v:
        return found.lows[i], found.highs[i]
    return interval(step, v, score, request, ws)


def make_in_edges(graph: Graph, arrivals: np.ndarray) -> InEdges:
    """Return the in-edges of a graph and their prices; the graph is transposed if it has no in-edges yet."""
    whole = transpose(graph)
    begin, tails = whole.in_indptr, whole.in_indices
    assert begin is not None and tails is not None
    return InEdges(begin, tails, prices(begin, tails, arrivals))


@njit
def prices(begin, tails, arrivals):
    """Return the cost of a backward push from each vertex (int64): in-edges, and walks that end at their tails."""
    found = np.empty(len(begin) - 1, np.int64)
    for v in range(len(found)):
        ends = int64(0)
        for i in range(begin[v], begin[v + 1]):
            ends += arrivals[tails[i]]
        found[v] = begin[v + 1] - begin[v] + ends // WALKS_AN_EDGE
    return found


@njit
def ended_at(w, reached, walks, ws):
    """Return the mass that walks bring to a vertex, from its start list; ``walked`` stores it plus one."""
    if ws.walked[w] == 0:
        total = int64(0)
        unit, starts, frequencies = ws.unit, walks.starts, walks.frequencies
        low, high = uint64(walks.src_begin[w]), uint64(walks.src_until[w])
        often = uint64(walks.frequent_begin[w])
        once = low + uint64(walks.frequent_until[w]) - often
        for i in range(low, once):
            total += unit[uint64(starts[i])] * int64(frequencies[often + (i - low)])
        for i in range(once, high):
            total += unit[uint64(starts[i])]
        ws.walked[w] = total + 1
        ws.upcoming[reached] = w
        reached += 1
    return ws.walked[w] - 1, reached


@njit
def prefetch(first, last, walks, in_edges, ws):
    """Load the entries that :func:`ended_at` reads first, for some tails; these loads do not wait for each other.

    The values written to ``spare_ids`` and ``spare_keys`` are not used; the writes keep the compiler from removing the
    loads.
    """
    end = uint64(len(walks.starts) - 1)
    for i in range(first, last):
        w = uint64(in_edges.tails[i])
        ws.spare_ids[i - first] = walks.starts[min(uint64(walks.src_begin[w]), end)]
        ws.spare_keys[i - first] = walks.frequent_begin[w] + ws.walked[w]


@njit(error_model="numpy")
def through_tails(v, stopped, reached, edges, chances, walks, in_edges, ws):
    """Sum over the in-edges of a vertex the mass that walks brought to the tails and that the edges pass on.

    Returns
    -------
    by_walks, largest, reached
        The sum; the largest share that one edge passes on of all mass at its tail, in units of 2**-62; and ``reached``
        as in :func:`push_back`.
    """
    by_walks, largest, fewest = int64(0), int64(0), uint64(1) << uint64(62)
    whole = int64(passed_on(uint64(ONE), edges.one_minus_alpha))
    first, last = uint64(in_edges.begin[v]), uint64(in_edges.until[v])
    for i in range(first, last):
        if not stopped.forward and (i - first) % uint64(PREFETCHED) == 0:
            prefetch(i, min(i + uint64(PREFETCHED), last), walks, in_edges, ws)
        w = uint64(in_edges.tails[i])
        if stopped.forward:
            amount = ws.walked[w]
        else:
            amount, reached = ended_at(w, reached, walks, ws)
        if chances is None:
            degree = uint64(edges.until[w] - edges.indptr[w])
            fewest = min(fewest, degree)
            by_walks += int64(passed_on(uint64(amount), edges.one_minus_alpha) // degree)
        else:
            begin, end = edges.indptr[w], edges.until[w] - 1
            place = row_place(edges.indices, begin, end, v)
            passed = int64(passed_on(uint64(amount), edges.one_minus_alpha))
            by_walks += edge_part(passed, chances, place, begin, end)
            largest = max(largest, edge_part(whole, chances, place, begin, end))
    if chances is None:
        largest = int64(uint64(whole) // fewest)
    return by_walks, largest, reached


@njit
def push_back(v, stopped, reached, edges, chances, walks, in_edges, request, ws):
    """Do one backward push from a vertex.

    Returns
    -------
    score, low, high, reached
        The second estimate of π, 0 if it is no better than the first, and its bounds; the number of vertices with
        nonzero ``walked``, which ``upcoming`` lists.
    """
    absorbs = edges.until[v] == edges.indptr[v]
    by_walks, largest, reached = through_tails(v, stopped, reached, edges, chances, walks, in_edges, ws)
    part = float(largest) * UNIT
    if absorbs:
        part = part / (float((1 << 32) - int64(edges.one_minus_alpha)) * 2.0**-32)
    if part >= 1.0:
        return int64(0), 0.0, 0.0, reached
    kept, rest = ws.reserves[2 * v], ws.state[2 * v]
    if absorbs:
        by_walks = over_alpha(by_walks, edges.one_minus_alpha)
    else:
        kept += rest - int64(passed_on(uint64(rest), edges.one_minus_alpha))
    score = kept + by_walks
    value, walked, bounds, step = float(score) * UNIT, float(by_walks) * UNIT, request.bounds, stopped.step
    square, lost = part * part, walked * LOST
    root_high = np.sqrt(bounds[step, 1] * square + bounds[step, 2] * part * (walked + lost))
    root_low = np.sqrt(bounds[step, 4] * square + bounds[step, 5] * part * walked)
    high = value + lost + bounds[step, 0] * part + root_high
    low = value + bounds[step, 3] * part - root_low
    return score, max(low, float(kept) * UNIT), high, reached


@njit
def refine(stopped, length, reached, edges, chances, walks, in_edges, request, ws):
    """Refine the contenders among the ``length`` best candidates, which ``keys`` and ``ids`` hold.

    Contenders are at the CONTENDERS positions around rank k, and their bounds overlap with those of rank k or k + 1.
    They are refined in the order of their distance from rank k, as far as the budget allows. Then the candidates are
    sorted again. If Definition 1 no longer follows, the first order is restored.

    Returns
    -------
    number, found, reached
        The number of refined vertices; the :class:`Refined`; and ``reached`` as in :func:`push_back`.
    """
    found = Refined(
        np.empty(CONTENDERS, np.int64), np.empty(CONTENDERS, np.int64), np.empty(CONTENDERS, np.int64),
        np.empty(CONTENDERS, np.float64), np.empty(CONTENDERS, np.float64),
    )  # fmt: skip
    k, number, step = request.k, 0, stopped.step
    if length <= k or stopped.final:
        return number, found, reached
    keys, ids = ws.keys, ws.ids
    inside, _ = interval(step, ids[k - 1], keys[k - 1], request, ws)
    _, outside = interval(step, ids[k], keys[k], request, ws)
    left = refine_budget(stopped.worked, k)
    rows = int64(len(edges.indptr) - 1)
    for i in range(CONTENDERS):
        place = k + (i >> 1) if i & 1 else k - 1 - (i >> 1)
        if place < 0 or place >= length:
            continue
        v, score = int64(ids[place]), keys[place]
        low, high = interval(step, v, score, request, ws)
        if (place < k and low > outside) or (place >= k and high < inside):
            continue
        cost, degree = in_edges.prices[v], in_edges.until[v] - in_edges.begin[v]
        if cost > left or degree > rows:
            continue
        left -= cost
        rows -= degree
        after, new_low, new_high, reached = push_back(v, stopped, reached, edges, chances, walks, in_edges, request, ws)
        value, low, high = float(after) * UNIT, max(new_low, low), min(new_high, high)
        if after == 0 or value < low or value > high:
            continue
        found.vertices[number], found.before[number], found.after[number] = v, score, after
        found.lows[number], found.highs[number] = low, high
        # Readers check to which vertex an entry belongs, so old entries need not be cleared.
        ws.taken[v] = number
        keys[place] = after
        number += 1
    if number > 0:
        sort_falling(keys, ids, length, ws.spare_keys, ws.spare_ids)
        if not still_holds(step, number, found, request, ws):
            for i in range(length):
                j = ws.taken[ids[i]]
                if 0 <= j < number and found.vertices[j] == ids[i]:
                    keys[i] = found.before[j]
            sort_falling(keys, ids, length, ws.spare_keys, ws.spare_ids)
            number = 0
    return number, found, reached


@njit
def still_holds(step, number, found, request, ws):
    """Return whether Definition 1 holds for the new order, with the limits of the test that the old order passed."""
    epsilon = request.epsilon
    for i in range(request.k):
        if ws.limits[i] <= request.delta_min:
            break
        score = float(ws.keys[i]) * UNIT
        low, high = known_interval(step, ws.ids[i], ws.keys[i], number, found, request, ws)
        if low < (1.0 - epsilon) * ws.limits[i] or score > (1.0 + epsilon) * low or score < (1.0 - epsilon) * high:
            return False
    return True


@njit
def highest_left(stopped, length, request, ws):
    """Return the largest upper bound of all vertices outside the ``length`` best, which ``keys`` and ``ids`` hold."""
    reserve = float(stopped.least_reserve) * UNIT
    highest = upper_bound(request.bounds, stopped.step, reserve, reserve)
    last_key, last_id = ws.keys[length - 1], ws.ids[length - 1]
    for j in range(stopped.count):
        v, score = ws.candidates[j], ws.scores[j]
        if score < last_key or (score == last_key and v > last_id):
            _, high = interval(stopped.step, v, score, request, ws)
            highest = max(highest, high)
    return highest


@njit
def finish(stopped, length, reached, edges, chances, walks, in_edges, request, ws, certain):
    """Sort the ``length`` best candidates; with in-edges, refine them, and determine which are certain.

    Afterwards ``keys`` and ``ids`` hold the order; its first k are the answer. A vertex is certain if no vertex outside
    the answer has an upper bound above its lower bound. This fails with probability at most 1/n. All vertices are
    certain if no residue is left for walks.

    Returns
    -------
    int
        The number of vertices with nonzero ``walked``, which ``upcoming`` lists.
    """
    k, step = request.k, stopped.step
    take_top(ws.candidates, ws.scores, stopped.count, length, ws.keys, ws.ids, ws.spare_keys, ws.spare_ids)
    if len(in_edges.begin) == 0:
        return reached
    highest = highest_left(stopped, length, request, ws)
    number, found, reached = refine(stopped, length, reached, edges, chances, walks, in_edges, request, ws)
    for i in range(k, length):
        _, high = known_interval(step, ws.ids[i], ws.keys[i], number, found, request, ws)
        highest = max(highest, high)
    for i in range(min(k, length)):
        low, _ = known_interval(step, ws.ids[i], ws.keys[i], number, found, request, ws)
        certain[i] = stopped.exact or low >= highest
    return reached
