"""Competitors in the paper: Monte Carlo, and FORA+ (Wang, Yang, Xiao, Wei, Yang, KDD 2017)."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream, stream_tag
from gpukit.graph.csr import Graph
from gpukit.kpar.groups import edges_of
from gpukit.kpar.problem import ONE, Params, Result, Sources, begins
from gpukit.kpar.query.bounds import take_top
from gpukit.kpar.rule import any_walk_end, passed_on, passed_up_to
from gpukit.kpar.threads import over_threads
from gpukit.kpar.weights import chances_for

ROUND = 1
"""Round of the walk stream, so that these walks differ from those of an index with the same seed."""


@njit
def _count(edges, chances, seed, tag, walks, vertex, value, extra, found, reached, met):
    """Add ``value`` at the end of each walk from a vertex, one more for the first ``extra`` walks.

    Return the number met so far.
    """
    for j in range(walks):
        t = any_walk_end(edges.indptr, edges.indices, chances, edges.one_minus_alpha, seed, tag, j, vertex)
        if found[t] == 0:
            reached[met] = t
            met += 1
        found[t] += value + int64(j < extra)
    return met


def walks_needed(n: int, params: Params, delta: int = 1) -> int:
    """Return the number of walks for relative error ε if π > δ: (2ε/3 + 2)·ln(2/p_f)/(ε²·δ) (FORA, KDD 2017).

    p_f is 1/n and δ is ``delta``/n: 1/n in FORA's paper, 16/n in kPAR's (section 5.1).
    """
    with localcontext() as context:
        context.prec = 40
        e = Decimal(repr(params.epsilon))
        return int((2 * e / 3 + 2) * Decimal(2 * n).ln() * n / (e * e * delta)) + 1


def shares_of_walks(mass: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Share walks among the sources of a query in proportion to their mass, rounded up.

    Parameters
    ----------
    mass : uint64 array
        In units of 2**-62.
    total : int
        Walks for a mass of one.

    Returns
    -------
    walks : int64 array, one longer
        Prefix sums of the number of walks.
    worth, extra : int64 arrays
        Units that each walk of a source represents, and the number of its walks that represent one more.
    """
    counts = [-(-units * total // ONE) for units in mass.tolist()]
    parts = [divmod(units, count) for units, count in zip(mass.tolist(), counts, strict=True)]
    worth, extra = (np.array([part[i] for part in parts], np.int64) for i in (0, 1))
    return begins(counts), worth, extra


def monte_carlo(
    graph: Graph,
    sources: Sources,
    k: int,
    params: Params | None = None,
    *,
    delta: int = 1,
    seed: int = 0,
    threads: int = 1,
) -> Result:
    """Answer by counting the ends of walks from the sources.

    Parameters
    ----------
    graph : Graph
    sources : Sources
        Sources share :func:`walks_needed` in proportion to their mass, rounded up.
    k : int
        Length of an answer, 1 … n.
    params : Params, optional
    delta : int
        δ in units of 1/n, at least 1.
    seed, threads : int
        The answer does not depend on the threads.

    Returns
    -------
    Result
        Without steps and traces.
    """
    params = params or Params()
    total = walks_needed(graph.n, params, delta)
    chances = chances_for(graph, params)
    common = (edges_of(graph, params), chances, np.uint64(seed), stream_tag(Stream.WALK, ROUND))

    def answer(q: int) -> tuple[np.ndarray, np.ndarray]:
        found, reached = np.zeros(graph.n, np.int64), np.empty(graph.n, np.int32)
        met = 0
        one = sources.part(q, q + 1)
        walks, worth, extra = shares_of_walks(one.mass, total)
        for i, vertex in enumerate(one.vertices):
            met = _count(*common, walks[i + 1] - walks[i], vertex, worth[i], extra[i], found, reached, met)
        return best_of(reached, found, met, k)

    return collected(answer, len(sources), threads)


@njit
def best_of(reached, found, met, k):
    """Return the k best of the ``met`` first vertices, and their scores."""
    length = min(k, met)
    scores, keys, spare_keys = np.empty(met, np.int64), np.empty(met, np.int64), np.empty(met, np.int64)
    ids, spare_ids = np.empty(met, np.int32), np.empty(met, np.int32)
    for j in range(met):
        scores[j] = found[reached[j]]
    take_top(reached, scores, met, length, keys, ids, spare_keys, spare_ids)
    return ids[:length], keys[:length]


def collected(answer: Callable[[int], tuple[np.ndarray, np.ndarray]], queries: int, threads: int) -> Result:
    """Answer queries in threads and return them in order."""
    parts = over_threads(lambda first, last: [answer(q) for q in range(first, last)], queries, threads)
    return Result.of([one for part in parts for one in part])


@dataclass(frozen=True, eq=False)
class Fora:
    """The index of FORA+: ends of walks in the order in which they were drawn.

    Attributes
    ----------
    params : Params
    limit : int
        r_max in units of 2**-62: a vertex pushes while residue / out-degree is above it.
    worth : int
        Most residue that one walk may represent, in units of 2**-62.
    places : int64 array, shape (n + 1,)
        Start of the walks of each vertex in ``ends``.
    ends : int32 array
    chances : uint64 array, shape (m,), or None
        Thresholds of the edges, if they are weighted.
    """

    params: Params
    limit: int
    worth: int
    places: np.ndarray
    ends: np.ndarray
    chances: np.ndarray | None = None


@njit
def _draw(edges, chances, seed, tag, places, first, last, ends):
    """Draw the walks of the vertices first … last - 1 into ``ends``."""
    for v in range(first, last):
        for j in range(places[v + 1] - places[v]):
            ends[places[v] + j] = any_walk_end(
                edges.indptr, edges.indices, chances, edges.one_minus_alpha, seed, tag, j, v
            )


def fora_settings(graph: Graph, params: Params, delta: int) -> tuple[int, int]:
    """Return r_max of equation (5), for δ in units of 1/n, and the most residue per walk, in units of 2**-62."""
    worth = ONE // walks_needed(graph.n, params, delta)
    # Equation (5): r_max² = ε²·δ/(m·(2ε/3 + 2)·ln(2/p_f)), which is 1/(m · walks).
    return math.isqrt(ONE * worth // max(graph.m, 1)), worth


def fora_index(graph: Graph, params: Params | None = None, *, delta: int = 1, seed: int = 0, threads: int = 1) -> Fora:
    """Draw the walks of FORA+: ⌈d·r_max / worth⌉ from each vertex, r_max of equation (5), p_f = 1/n, δ = delta/n."""
    params = params or Params()
    limit, worth = fora_settings(graph, params, delta)
    places = begins(-(-np.diff(graph.indptr) * limit // worth))
    chances = chances_for(graph, params)
    ends = draw_walks(graph, params, chances, places, seed=seed, threads=threads)
    return Fora(params, limit, worth, places, ends, chances)


def draw_walks(
    graph: Graph, params: Params, chances: np.ndarray | None, places: np.ndarray, *, seed: int, threads: int
) -> np.ndarray:
    """Return the ends of walks (int32); those of vertex v are at ``places[v]`` … ``places[v + 1]`` - 1."""
    ends = np.empty(places[-1], np.int32)
    common = (edges_of(graph, params), chances, np.uint64(seed), stream_tag(Stream.WALK, ROUND))
    cuts = np.searchsorted(places, np.linspace(0, places[-1], 8 * threads + 1))
    cuts[0], cuts[-1] = 0, graph.n
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda i: _draw(*common, places, cuts[i], cuts[i + 1], ends), range(8 * threads)))
    return ends


class _Settings(NamedTuple):
    """The fields of :class:`Fora` for the kernel."""

    limit: int
    worth: int
    places: np.ndarray
    ends: np.ndarray


class _Room(NamedTuple):
    """Working space of a query: int64 and int32 arrays, shape (n,), the latter one longer; the first two are zero."""

    residue: np.ndarray
    reserve: np.ndarray
    taken: np.ndarray
    frontier: np.ndarray
    upcoming: np.ndarray

    @classmethod
    def of(cls, n: int) -> "_Room":
        sums = (np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64))
        return cls(*sums, np.empty(n + 1, np.int32), np.empty(n + 1, np.int32))


@njit
def _push_round(frontier, size, upcoming, edges, chances, limit, room):
    """Push from the ``size`` vertices of a frontier, once; returns how many vertices ``upcoming`` lists."""
    residue, reserve, taken = room.residue, room.reserve, room.taken
    indptr, indices, one_minus_alpha = edges
    for j in range(size):
        taken[j] = residue[frontier[j]]
        residue[frontier[j]] = 0
    following = 0
    for j in range(size):
        v = frontier[j]
        degree = indptr[v + 1] - indptr[v]
        passed = share = before = int64(0)
        if degree > 0:
            passed = int64(passed_on(uint64(taken[j]), one_minus_alpha))
            if chances is None:
                share = passed // degree
                passed = degree * share
        reserve[v] += taken[j] - passed
        if passed == 0:
            continue
        for e in range(indptr[v], indptr[v + 1]):
            if chances is not None:
                reach = passed_up_to(passed, chances, e, indptr[v + 1] - 1)
                share, before = reach - before, reach
            u = indices[e]
            old = residue[u]
            residue[u] = old + share
            bound = limit * (indptr[u + 1] - indptr[u])
            if bound > 0 and old <= bound and old + share > bound:
                upcoming[following] = u
                following += 1
    return following


@njit
def _fora(edges, chances, settings, vertices, mass, room):
    """Push in synchronous rounds, then add the remaining residues to ``reserve`` by stored walks.

    Returns
    -------
    count, found
        The number of vertices with a reserve, and these vertices.
    """
    residue, reserve, indptr = room.residue, room.reserve, edges.indptr
    frontier, upcoming = room.frontier, room.upcoming
    size = len(vertices)
    for i in range(size):
        residue[vertices[i]] = mass[i]
        frontier[i] = vertices[i]
    while size > 0:
        size = _push_round(frontier, size, upcoming, edges, chances, settings.limit, room)
        frontier, upcoming = upcoming, frontier
    for v in range(len(residue)):
        if residue[v] > 0:
            if indptr[v] == indptr[v + 1]:
                reserve[v] += residue[v]
                continue
            walks = (residue[v] + settings.worth - 1) // settings.worth
            value, extra = residue[v] // walks, residue[v] % walks
            for j in range(walks):
                reserve[settings.ends[settings.places[v] + j]] += value + int64(j < extra)
    count = 0
    for v in range(len(reserve)):
        upcoming[count] = v
        count += int64(reserve[v] > 0)
    return count, upcoming


def fora(graph: Graph, index: Fora, sources: Sources, k: int, *, threads: int = 1) -> Result:
    """Answer by FORA+: push to r_max in synchronous rounds, then use as many stored walks as the residue needs.

    The whole distribution is estimated at the index's δ, and its k best are returned. This is the single-source form.
    The authors' top-k form has rounds of growing accuracy, by which it can stop early.

    Parameters and errors are those of :func:`monte_carlo`.
    """
    edges = edges_of(graph, index.params)
    settings = _Settings(index.limit, index.worth, index.places, index.ends)

    def answer(q: int) -> tuple[np.ndarray, np.ndarray]:
        one, room = sources.part(q, q + 1), _Room.of(graph.n)
        count, met = _fora(edges, index.chances, settings, one.vertices, one.mass.view(np.int64), room)
        return best_of(met, room.reserve, count, k)

    return collected(answer, len(sources), threads)
