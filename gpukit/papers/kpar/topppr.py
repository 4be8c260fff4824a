"""TopPPR, the competitor that the paper calls the fastest (Wei, He, Xiao, Wang, Shang, Du, Wen, SIGMOD 2018).

With probability 1 - 1/n an answer contains at least a share ρ of the k best vertices. A query has two phases. The
filter pushes forward from the source and draws walks from the residues. It halves the threshold and repeats this until
few vertices are in doubt. The refinement pushes backward from each vertex in doubt, and estimates it again from the
same walks, also with a threshold that is halved. If the refinement costs as much as all forward pushes so far, the
query pushes forward again with half the threshold, so that residues and bounds shrink.

This code follows the method, not the authors' code, and differs from the method where it is unsound. Bounds have no
factors below one. They hold for all vertices and all tests at once. They are bounds for samples in a known range, one
per walk, which depend on where the walk ends. The number of walks follows from the number of edges pushed along, not
from a clock. A walk ends at a vertex without out-edges, as in kPAR.
"""

import math
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream, draw4, stream_tag
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph
from gpukit.kpar.groups import Edges, edges_of
from gpukit.kpar.problem import CONTEXT, ONE, UNIT, Params, Result, Sources
from gpukit.kpar.query.bounds import largest_first
from gpukit.kpar.rule import passed_on, walk_end
from gpukit.papers.kpar.baselines import collected
from gpukit.parameters.kpar import TOPPPR_PRECISION

IN_DOUBT = 500
"""The filter ends when at most this many vertices are in doubt, or at most k if k is larger."""

LEAST_WALKS = 1000

EDGES_A_WALK = 48
"""Edges along which a push proceeds in the time of one walk. A push reads contiguous memory, a step of a walk does
not."""

RESOLUTION = 1e-10
"""Sum of residues at which a query ends. Scores that differ by less count as equal."""

ROUND = 2
"""Round of the streams, so that the walks differ from those of FORA+ and of an index."""


class _Room(NamedTuple):
    """Working space of a query: arrays of shape (n,).

    ``residue`` and ``reserve`` (int64) belong to the forward push. ``back`` (float64) has the residues of one backward
    push. ``hits`` (int64) counts the walks that ended at each vertex. ``known`` and ``queued`` (bool) mark the members
    of ``met`` and of a frontier. ``met``, ``frontier`` and ``upcoming`` (int32) are lists of vertices.
    """

    residue: np.ndarray
    reserve: np.ndarray
    hits: np.ndarray
    back: np.ndarray
    known: np.ndarray
    queued: np.ndarray
    met: np.ndarray
    frontier: np.ndarray
    upcoming: np.ndarray

    @classmethod
    def of(cls, n: int) -> "_Room":
        sums = (np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.float64))
        marks = (np.zeros(n, np.bool_), np.zeros(n, np.bool_))
        return cls(*sums, *marks, np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32))


@njit
def _push(edges, limit, met, room):
    """Push forward until no residue is above ``limit`` times the out-degree.

    Returns the number of vertices met so far, and the number of edges pushed along.
    """
    indptr, indices, one_minus_alpha = edges
    residue, reserve, known, queued = room.residue, room.reserve, room.known, room.queued
    frontier, upcoming = room.frontier, room.upcoming
    size = pushed = 0
    for j in range(met):
        v = room.met[j]
        if residue[v] > limit * (indptr[v + 1] - indptr[v]):
            frontier[size] = v
            queued[v] = True
            size += 1
    while size > 0:
        following = 0
        for j in range(size):
            v = frontier[j]
            queued[v] = False
            taken, degree = residue[v], indptr[v + 1] - indptr[v]
            residue[v] = 0
            share = int64(0)
            if degree > 0:
                share = int64(passed_on(uint64(taken), one_minus_alpha)) // degree
            reserve[v] += taken - degree * share
            pushed += degree
            if share == 0:
                continue
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if not known[u]:
                    known[u] = True
                    room.met[met] = u
                    met += 1
                residue[u] += share
                if not queued[u] and residue[u] > limit * (indptr[u + 1] - indptr[u]):
                    queued[u] = True
                    upcoming[following] = u
                    following += 1
        frontier, upcoming = upcoming, frontier
        size = following
    return met, pushed


@njit
def _alias(met, room):
    """Return an alias table, which draws a vertex with probability proportional to its residue in constant time.

    The table has, by index, a vertex, the probability to keep this index, and the index to take otherwise.
    """
    starts, stays = np.empty(met, np.int32), np.empty(met, np.float64)
    count, total = 0, 0.0
    for j in range(met):
        v = room.met[j]
        if room.residue[v] > 0:
            starts[count], stays[count] = v, float(room.residue[v])
            total += stays[count]
            count += 1
    other, light, heavy = np.arange(count), np.empty(count, np.int64), np.empty(count, np.int64)
    few = many = 0
    for i in range(count):
        stays[i] *= count / total
        if stays[i] < 1.0:
            light[few] = i
            few += 1
        else:
            heavy[many] = i
            many += 1
    # A heavy index fills up a light one, and may be light itself afterwards.
    while few > 0 and many > 0:
        few -= 1
        small, large = light[few], heavy[many - 1]
        other[small] = large
        stays[large] -= 1.0 - stays[small]
        if stays[large] < 1.0:
            many -= 1
            light[few] = large
            few += 1
    # Without rounding errors none would be left here.
    for i in range(few):
        stays[light[i]] = 1.0
    return starts[:count], stays[:count], other


@njit
def _walk(edges, seed, tags, table, walks, met, room):
    """Draw walks with starts from the table, and count their ends; return the number of vertices met so far."""
    starts, stays, other = table
    for j in range(walks):
        w0, w1, w2, w3 = draw4(seed, tags[0], j, 0, 0)
        place = int64(float((uint64(w0) << uint64(21)) | (uint64(w1) >> uint64(11))) * 2.0**-53 * len(starts))
        place = min(place, len(starts) - 1)
        if float((uint64(w2) << uint64(21)) | (uint64(w3) >> uint64(11))) * 2.0**-53 >= stays[place]:
            place = other[place]
        end = walk_end(edges.indptr, edges.indices, edges.one_minus_alpha, seed, tags[1], j, starts[place])
        room.hits[end] += 1
        if not room.known[end]:
            room.known[end] = True
            room.met[met] = end
            met += 1
    return met


@njit
def _deviation(total, squares, walks, largest, log_term):
    """Return a bound on the error of the mean of ``walks`` samples in [0, ``largest``].

    ``total`` is the sum of the samples, ``squares`` the sum of their squares. Source: Maurer and Pontil, COLT 2009,
    theorem 4.
    """
    variance = max(squares - total * total / walks, 0.0) / (walks - 1)
    return np.sqrt(2.0 * variance * log_term / walks) + 7.0 * largest * log_term / (3.0 * (walks - 1))


@njit
def _bounds(ids, left, walks, log_term, room):
    """Return π̂ of vertices from the walks that end there, and their bounds; ``left`` is the sum of all residues."""
    estimates, lower, upper = np.empty(len(ids)), np.empty(len(ids)), np.empty(len(ids))
    for j in range(len(ids)):
        v = ids[j]
        kept, hits = float(room.reserve[v]) * UNIT, float(room.hits[v])
        off = left * _deviation(hits, hits, walks, 1.0, log_term)
        estimates[j] = kept + left * hits / walks
        lower[j] = max(kept, estimates[j] - off)
        upper[j] = min(kept + left, estimates[j] + off)
    return estimates, lower, upper


@njit
def _limits(lower, upper, k, outside):
    """Return the k + 1-st largest upper bound, at least ``outside``, and the k-th largest lower bound.

    ``outside`` is an upper bound for all vertices that are not listed. If a list is too short, its bound counts as 0.
    """
    keys = upper.copy()
    highest = largest_first(keys, len(keys), k + 1) if len(keys) > k else 0.0
    keys = lower.copy()
    least = largest_first(keys, len(keys), k) if len(keys) >= k else 0.0
    return max(highest, outside), least


@njit
def _search(in_indptr, in_indices, indptr, alpha, threshold, target, room):
    """Push backward from a vertex until no residue is above ``threshold``.

    Returns
    -------
    found : float
        The mass that the forward residues of the vertices pushed from bring to the target, in units of 2**-62.
    seen : int
        Number of vertices in ``room.upcoming``, which may have a backward residue; they are marked as queued.
    worked : int
        Edges pushed along, plus vertices that were examined for the next frontiers.
    """
    back, queue, seen = room.back, room.frontier, room.upcoming
    back[target] = 1.0
    queue[0], seen[0] = target, target
    room.queued[target] = True
    found, count, worked, waiting = 0.0, 1, 0, 1
    while waiting > 0:
        for i in range(waiting):
            v = queue[i]
            taken = back[v]
            back[v] = 0.0
            # A walk that reaches a vertex without out-edges ends there for certain.
            stop = alpha if indptr[v + 1] > indptr[v] else 1.0
            found += float(room.residue[v]) * stop * taken
            passing = taken * stop / alpha * (1.0 - alpha)
            for e in range(in_indptr[v], in_indptr[v + 1]):
                u = in_indices[e]
                if not room.queued[u]:
                    room.queued[u] = True
                    seen[count] = u
                    count += 1
                back[u] += passing / (indptr[u + 1] - indptr[u])
            worked += in_indptr[v + 1] - in_indptr[v]
        waiting, worked = 0, worked + count
        for i in range(count):
            if back[seen[i]] > threshold:
                queue[waiting] = seen[i]
                waiting += 1
    return found, count, worked


@njit
def _refine(in_indptr, in_indices, edges, alpha, threshold, doubted, left, walks, log_term, room):
    """Push backward from each vertex in doubt.

    Returns π̂ and its bounds, as :func:`_bounds` does, and the sum of ``worked`` of :func:`_search`.
    """
    estimates, lower, upper = np.empty(len(doubted)), np.empty(len(doubted)), np.empty(len(doubted))
    worked = 0
    for i in range(len(doubted)):
        t = doubted[i]
        found, count, scanned = _search(in_indptr, in_indices, edges.indptr, alpha, threshold, t, room)
        worked += scanned
        total = squares = largest = 0.0
        for j in range(count):
            v = room.upcoming[j]
            rest, hits = room.back[v], float(room.hits[v])
            total += hits * rest
            squares += hits * rest * rest
            largest = max(largest, rest)
            room.back[v] = 0.0
            room.queued[v] = False
        kept = (float(room.reserve[t]) + found) * UNIT
        off = left * _deviation(total, squares, walks, largest, log_term)
        estimates[i] = kept + left * total / walks
        lower[i] = max(kept, estimates[i] - off)
        upper[i] = min(kept + left * largest, estimates[i] + off)
    return estimates, lower, upper, worked


def _log_term(n: int, *numbers: int) -> float:
    """Return ln(4/p), where p is the probability that one test of one vertex fails.

    ``numbers``, from 1 on, identify the test. The sum of p over all tests and vertices is 1/n. So all tests hold at
    once with probability 1 - 1/n, and it does not matter which of them are made.
    """
    with localcontext(CONTEXT):
        return float(Decimal(4 * max(n, 1) ** 2 * math.prod(one * (one + 1) for one in numbers)).ln())


def _first_limit(graph: Graph, k: int) -> float:
    """Return the first threshold of a query: a residue per out-edge, in units of 2**-62.

    It balances pushes and walks as FORA does, for scores of about 1/(k · ln n); the k-th score may be as large as that.
    """
    with localcontext(CONTEXT):
        walks = k * Decimal(max(graph.n, 3)).ln()
        return float(ONE / (max(graph.m, 1) * walks).sqrt())


class _Doubt(NamedTuple):
    """The vertices that are certainly among the k best, and those in doubt, with their scores.

    ``certain`` are internal ids and ``scores`` their π̂. ``ids`` are the vertices in doubt, with π̂ and bounds.
    ``closed`` says that no other vertex can be among the k best.
    """

    certain: np.ndarray
    scores: np.ndarray
    ids: np.ndarray
    estimates: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    closed: bool

    def closer(self, estimates: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> "_Doubt":
        """Return the same with new estimates, and with the tighter ones of the old and the new bounds."""
        return self._replace(
            estimates=estimates, lower=np.maximum(self.lower, lower), upper=np.minimum(self.upper, upper)
        )

    def sorted_out(self, k: int, outside: float) -> "_Doubt":
        """Move vertices that the bounds make certain to ``certain``, and drop those that cannot be among the k best.

        ``outside`` is the upper bound of all vertices not listed; ``closed`` says whether it excludes them.
        """
        highest, least = _limits(self.lower, self.upper, k - len(self.certain), outside)
        sure = self.lower > highest
        open_ = ~sure & (self.upper >= least)
        certain = np.concatenate((self.certain, self.ids[sure]))
        scores = np.concatenate((self.scores, self.estimates[sure]))
        ids, estimates = self.ids[open_], self.estimates[open_]
        return _Doubt(certain, scores, ids, estimates, self.lower[open_], self.upper[open_], outside < least)

    def is_good_enough(self, k: int, lacking: int) -> bool:
        """Return whether every possible answer contains all but at most ``lacking`` of the k best vertices."""
        wanted = k - len(self.certain)
        return wanted <= lacking or (self.closed and len(self.ids) - wanted <= lacking)

    def best(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the certain vertices and the best of those in doubt, by falling score, and their scores (int64)."""
        rest = np.lexsort((self.ids, -self.estimates))[: k - len(self.certain)]
        ids = np.concatenate((self.certain, self.ids[rest]))
        scores = (np.concatenate((self.scores, self.estimates[rest])) * float(ONE)).astype(np.int64)
        order = np.lexsort((ids, -scores))
        return ids[order], scores[order]


def topppr(
    graph: Graph,
    sources: Sources,
    k: int,
    params: Params | None = None,
    *,
    precision: float = TOPPPR_PRECISION,
    seed: int = 0,
    threads: int = 1,
) -> Result:
    """Answer queries by TopPPR; each thread answers one query at a time.

    Parameters
    ----------
    graph : Graph
        With its transpose. All out-edges of a vertex are equally likely.
    sources : Sources
    k : int
        Length of each answer, 1 … n.
    params : Params, optional
        Only α matters.
    precision : float
        ρ in (0, 1]: an answer contains at least ρ · k of the k best. Scores that differ by less than 1e-10 count as
        equal.
    seed, threads : int
        Answers do not depend on the number of threads.

    Returns
    -------
    Result
        Without steps and traces.

    Raises
    ------
    UsageError
        If ρ is out of range, or the parameters ask for weighted edges.
    """
    params = params or Params()
    if not 0 < precision <= 1:
        raise UsageError(f"--precision is {precision}; a share in (0, 1] is needed, {TOPPPR_PRECISION} is usual")
    if params.weighted:
        raise UsageError("topppr takes edges alike; leave --weighted out, or take monte-carlo or fora")
    query = _Query(graph, k, params, precision, seed)
    return collected(lambda q: query.answer(sources, q), len(sources), threads)


def load(edge: Graph, params: Params) -> None:
    """Call all compiled functions on a graph of one edge, so that their code is loaded."""
    query, room = _Query(edge, 1, params, TOPPPR_PRECISION, 0), _Room.of(edge.n)
    room.met[0], room.known[0], room.residue[0] = 0, True, ONE // 2
    table = _alias(1, room)
    met = _walk(query.edges, query.seed, query.tags, table, 2, 1, room)
    _, lower, upper = _bounds(room.met[:met], 0.5, 2, 1.0, room)
    _limits(lower, upper, 1, 0.0)
    _refine(edge.in_indptr, edge.in_indices, query.edges, query.alpha, 1.0, room.met[:1], 0.5, 2, 1.0, room)
    _push(query.edges, query.first_limit, met, room)


class _Query:
    """Data that the queries of a batch share."""

    def __init__(self, graph: Graph, k: int, params: Params, precision: float, seed: int) -> None:
        self.graph, self.k, self.seed = graph, k, np.uint64(seed)
        self.edges: Edges = edges_of(graph, params)
        self.alpha = 1.0 - params.one_minus_alpha / 2.0**32
        self.lacking = k - math.ceil(precision * k)
        self.first_limit = _first_limit(graph, k)
        self.tags = (stream_tag(Stream.BASELINE, ROUND), stream_tag(Stream.WALK, ROUND))

    def answer(self, sources: Sources, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the answer of a query: vertices and scores."""
        room = _Room.of(self.graph.n)
        one = sources.part(q, q + 1)
        met = len(one.vertices)
        room.met[:met], room.known[one.vertices] = one.vertices, True
        room.residue[one.vertices] = one.mass.view(np.int64)
        limit, pushed, test = self.first_limit, 0, 0
        # If no residue per out-edge is above this, the sum of residues is at most the resolution.
        least = RESOLUTION * ONE / max(self.graph.m, 1)
        doubt = _Doubt(room.met[:0], np.empty(0), room.met[:0], np.empty(0), np.empty(0), np.empty(0), False)
        while True:
            met, edges = _push(self.edges, limit, met, room)
            pushed += edges
            left = float(room.residue[room.met[:met]].sum()) * UNIT
            if left <= RESOLUTION:
                ids = doubt.ids if doubt.closed else room.met[:met].copy()
                return doubt._replace(ids=ids, estimates=room.reserve[ids] * UNIT).best(self.k)
            test += 1
            room.hits[room.met[:met]] = 0
            walks = max(LEAST_WALKS, pushed // EDGES_A_WALK)
            met = _walk(self.edges, self.seed, self.tags, _alias(met, room), walks, met, room)
            log_term = _log_term(self.graph.n, test, 1)
            if doubt.closed:
                doubt = doubt.closer(*_bounds(doubt.ids, left, walks, log_term, room)).sorted_out(self.k, -1.0)
            else:
                outside = left * _deviation(0.0, 0.0, walks, 1.0, log_term) if met < self.graph.n else 0.0
                ids = room.met[:met].copy()
                estimates, lower, upper = _bounds(ids, left, walks, log_term, room)
                doubt = _Doubt(ids[:0], estimates[:0], ids, estimates, lower, upper, False)
                doubt = doubt.sorted_out(self.k, outside)
            if doubt.closed and len(doubt.ids) <= max(IN_DOUBT, self.k):
                doubt = self._refined(doubt, left, walks, pushed, test, room)
            if doubt.is_good_enough(self.k, self.lacking):
                return doubt.best(self.k)
            limit = max(limit / 2, least)

    def _refined(self, doubt: _Doubt, left: float, walks: int, pushed: int, test: int, room: _Room) -> _Doubt:
        """Push backward to halved thresholds until the answer is good enough, or this costs as much as all pushes."""
        graph, threshold, depth, worked = self.graph, 1.0, 2, 0
        while worked <= pushed and not doubt.is_good_enough(self.k, self.lacking):
            found = _refine(
                graph.in_indptr, graph.in_indices, self.edges, self.alpha, threshold, doubt.ids, left, walks,
                _log_term(graph.n, test, depth), room,
            )  # fmt: skip
            doubt = doubt.closer(*found[:3]).sorted_out(self.k, -1.0)
            worked += found[3]
            threshold, depth = threshold / 2, depth + 1
        return doubt
