"""What the paper compares with: Monte Carlo, and FORA+ (Wang, Yang, Xiao, Wei, Yang, KDD 2017)."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numba
import numpy as np
from numba import int64, uint64

from gpukit.device.philox import Stream, stream_tag
from gpukit.graph.csr import Graph
from gpukit.kpar.bounds import take_top
from gpukit.kpar.cpu import passed_on, walk_end
from gpukit.kpar.problem import ONE, Params, Result, Sources, check_k

_ROUND = 1
"""Round of the walk stream, so that these walks are not those of an index with the same seed."""


@numba.njit(nogil=True, cache=True)
def _count(indptr, indices, go_on, seed, tag, walks, vertex, units, found, reached, met):
    """Share ``units`` among the ends of walks from a vertex; return how many vertices were reached so far."""
    value, extra = units // walks, units % walks
    for j in range(walks):
        t = walk_end(indptr, indices, go_on, seed, tag, j, vertex)
        if found[t] == 0:
            reached[met] = t
            met += 1
        found[t] += value + int64(j < extra)
    return met


def walks_needed(n: int, params: Params) -> int:
    """Return (2ε/3 + 2)·ln(2/p_f)/(ε²·δ), δ = p_f = 1/n: walks for relative error ε where π > δ (FORA, KDD 2017)."""
    with localcontext() as context:
        context.prec = 40
        e = Decimal(repr(params.epsilon))
        return int((2 * e / 3 + 2) * Decimal(2 * n).ln() * n / (e * e)) + 1


def monte_carlo(
    graph: Graph, sources: Sources, k: int, params: Params | None = None, *, seed: int = 0, threads: int = 1
) -> Result:
    """Answer by counting where walks from the sources end.

    Parameters
    ----------
    graph : Graph
    sources : Sources
        Sources share :func:`walks_needed` in proportion to their mass, rounded up.
    k : int
        Length of an answer, 1 … n.
    params : Params, optional
    seed, threads : int
        The answer does not depend on the threads.

    Returns
    -------
    Result
        Without steps and traces.

    Raises
    ------
    UsageError
        If k is out of range.
    """
    params = params or Params()
    check_k(k, graph.n)
    total = walks_needed(graph.n, params)
    common = (graph.indptr, graph.indices, np.uint64(params.go_on), np.uint64(seed), stream_tag(Stream.WALK, _ROUND))

    def answer(q: int) -> tuple[np.ndarray, np.ndarray]:
        found, reached = np.zeros(graph.n, np.int64), np.empty(graph.n, np.int32)
        met = 0
        for i in range(sources.offsets[q], sources.offsets[q + 1]):
            units = int(sources.mass[i])
            walks = -(-units * total // ONE)
            met = _count(*common, walks, sources.vertices[i], units, found, reached, met)
        return _best(reached, found, met, k)

    return _collected(answer, len(sources), threads)


def _best(reached: np.ndarray, found: np.ndarray, met: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best of the first ``met`` vertices, and their scores."""
    length = min(k, met)
    keys, ids = np.empty(met, np.int64), np.empty(met, np.int32)
    take_top(reached, found[reached[:met]], met, length, keys, ids, np.empty_like(keys), np.empty_like(ids))
    return ids[:length], keys[:length]


def _collected(answer: Callable[[int], tuple[np.ndarray, np.ndarray]], queries: int, threads: int) -> Result:
    """Answer queries in threads and return them in order."""
    with ThreadPoolExecutor(threads) as pool:
        answers = list(pool.map(answer, range(queries)))
    offsets = np.concatenate([[0], np.cumsum([len(nodes) for nodes, _ in answers])]).astype(np.int64)
    nodes = np.concatenate([nodes for nodes, _ in answers])
    scores = np.concatenate([scores for _, scores in answers]).view(np.uint64)
    return Result(offsets, nodes, scores, np.zeros(queries, np.int32), [], [])


@dataclass(frozen=True, eq=False)
class Fora:
    """The index of FORA+: ends of walks in the order they were drawn.

    Attributes
    ----------
    params : Params
    limit : int
        r_max in units of 2**-62: a vertex pushes while residue / out-degree is above it.
    worth : int
        Residue one walk may stand for, in units of 2**-62.
    places : int64 array, shape (n + 1,)
        Where the walks of each vertex start in ``ends``.
    ends : int32 array
    """

    params: Params
    limit: int
    worth: int
    places: np.ndarray
    ends: np.ndarray


@numba.njit(nogil=True, cache=True)
def _draw(indptr, indices, go_on, seed, tag, places, ends):
    """Draw the walks of all vertices into ``ends``."""
    for v in range(len(places) - 1):
        for j in range(places[v + 1] - places[v]):
            ends[places[v] + j] = walk_end(indptr, indices, go_on, seed, tag, j, v)


def fora_index(graph: Graph, params: Params | None = None, *, seed: int = 0) -> Fora:
    """Draw the walks of FORA+: ⌈d·r_max / worth⌉ from each vertex, r_max of equation (5) with δ = p_f = 1/n."""
    params = params or Params()
    worth = ONE // walks_needed(graph.n, params)
    # Equation (5): r_max² = ε²·δ/(m·(2ε/3 + 2)·ln(2/p_f)), which is 1/(m · walks).
    limit = math.isqrt(ONE * worth // max(graph.m, 1))
    places = np.zeros(graph.n + 1, np.int64)
    np.cumsum(-(-np.diff(graph.indptr) * limit // worth), out=places[1:])
    ends = np.empty(places[-1], np.int32)
    tag = stream_tag(Stream.WALK, _ROUND)
    _draw(graph.indptr, graph.indices, np.uint64(params.go_on), np.uint64(seed), tag, places, ends)
    return Fora(params, limit, worth, places, ends)


@numba.njit(nogil=True, cache=True)
def _fora(indptr, indices, go_on, limit, worth, places, ends, vertices, mass, residue, reserve, queue, waiting, met):
    """Push from a queue (a ring of n + 1), then let stored walks carry the rest into ``reserve``."""
    head = tail = 0
    ring = len(queue)
    for i in range(len(vertices)):
        residue[vertices[i]] = mass[i]
        queue[tail] = vertices[i]
        waiting[vertices[i]] = 1
        tail += 1
    while head != tail:
        v = queue[head]
        head = head + 1 if head + 1 < ring else 0
        waiting[v] = 0
        amount, degree = residue[v], indptr[v + 1] - indptr[v]
        residue[v] = 0
        share = int64(0)
        if degree > 0:
            share = int64(passed_on(uint64(amount), go_on)) // degree
        reserve[v] += amount - degree * share
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            residue[u] += share
            if waiting[u] == 0 and residue[u] > limit * (indptr[u + 1] - indptr[u]):
                waiting[u] = 1
                queue[tail] = u
                tail = tail + 1 if tail + 1 < ring else 0
    for v in range(len(residue)):
        if residue[v] > 0:
            walks = (residue[v] + worth - 1) // worth
            value, extra = residue[v] // walks, residue[v] % walks
            for j in range(walks):
                reserve[ends[places[v] + j]] += value + int64(j < extra)
    count = 0
    for v in range(len(reserve)):
        met[count] = v
        count += int64(reserve[v] > 0)
    return count


def fora(graph: Graph, index: Fora, sources: Sources, k: int, *, threads: int = 1) -> Result:
    """Answer by FORA+: push from a queue to r_max, then as many stored walks as the residue needs.

    The whole distribution is estimated at δ = 1/n and its k best are returned: the single-source form, without the
    rounds of growing accuracy that the authors' top-k form stops early by.

    Parameters and errors are those of :func:`monte_carlo`.
    """
    check_k(k, graph.n)
    n = graph.n
    fixed = (graph.indptr, graph.indices, np.uint64(index.params.go_on), index.limit, index.worth)

    def answer(q: int) -> tuple[np.ndarray, np.ndarray]:
        part = slice(sources.offsets[q], sources.offsets[q + 1])
        starts = (sources.vertices[part], sources.mass[part].view(np.int64))
        reserve, met = np.zeros(n, np.int64), np.empty(n + 1, np.int32)
        spare = (np.zeros(n, np.int64), reserve, np.empty(n + 1, np.int32), np.zeros(n, np.uint8), met)
        count = _fora(*fixed, index.places, index.ends, *starts, *spare)
        return _best(met, reserve, count, k)

    return _collected(answer, len(sources), threads)
