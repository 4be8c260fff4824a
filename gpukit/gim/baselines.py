"""Seed sets by simple rules, without a guarantee: degree, degree discount, random. Host code, equal everywhere."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numba
import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream, draw4, join64, stream_tag
from gpukit.errors import UsageError
from gpukit.gim.problem import Problem
from gpukit.graph.build import transpose
from gpukit.graph.csr import Graph
from gpukit.graph.kernels import in_parts, rows_by_edges
from gpukit.graph.probabilities import ONE, head_probabilities, threshold
from gpukit.worlds.highest import highest, limit_of

TAKEN = np.iinfo(np.int64).min
"""The key of a vertex that is excluded or already chosen."""

NOTHING = np.zeros(0, np.uint32)

NO_COUNTS = np.zeros(0, np.int64)
"""An empty array of weights: each vertex counts for 1."""

FEW, PER_SEED = 4096, 16
"""Initial size of the pool in which seeds are searched, and its vertices per seed. Few neighbours of hubs become
seeds."""

MANY = 1 << 20
"""Least number of edges for which threads pay off."""

MASS_BITS = 31
"""Bits of the total weight of all vertices in the keys; a probability takes 32 more."""


def simple_rules(problem: Problem) -> list[tuple[str, np.ndarray]]:
    """Return seeds by simple rules, with which a run compares its own choice at little cost.

    Parameters
    ----------
    problem : Problem
        With k, for one round.

    Returns
    -------
    list of (str, int32 array of shape (k,))
        ``degree`` and ``degree-discount`` (:func:`degree`, :func:`degree_discount`), and their seeds in order: forced
        ones first, then vertices that are not excluded. Empty for several rounds and for a budget, which these rules do
        not support.
    """
    if problem.costs is not None or problem.params.rounds > 1:
        return []
    n, graph = problem.graph.n, problem.graph
    barred = np.zeros(n, np.bool_) if problem.blocked is None else problem.blocked[:n]
    k, weights, forced = problem.k_max, problem.weights, problem.forced
    rules = {
        "degree": degree(graph, k, weights=weights, forced=forced, barred=barred),
        "degree-discount": degree_discount(
            graph, k, problem.params.model, weights=weights, forced=forced, barred=barred
        ),
    }
    return [(name, seeds.astype(np.int32)) for name, seeds in rules.items()]


def degree(
    graph: Graph,
    k: int,
    *,
    weights: np.ndarray | None = None,
    forced: Sequence[int] | np.ndarray = (),
    barred: np.ndarray | None = None,
) -> np.ndarray:
    """Return the k vertices with most out-edges; ties go to the lower id.

    Parameters
    ----------
    graph : Graph
    k : int
        In [1, n].
    weights : int64 array, shape (n,), optional
        Weight of each vertex, >= 0: an edge then counts for the weight of its head.
    forced : sequence of int
        Vertices that come first, in this order; at most k, without repeats.
    barred : bool array, shape (n,), optional
        Vertices that are not chosen; at least k vertices must be left, including the forced ones.

    Returns
    -------
    int64 array, shape (k,)
        Internal ids in order of choice.

    Raises
    ------
    UsageError
        If k is out of range.
    """
    _check(graph, k)
    if weights is None:
        counts = np.diff(graph.indptr)
    else:
        counts = _sums(_Edges(graph.indptr, graph.indices, NOTHING, NOTHING), _in_bits(weights))
    first = np.asarray(forced, np.int64)
    counts = counts.copy() if barred is None else np.where(barred, -1, counts)
    counts[first] = -1
    return np.concatenate([first, highest(counts, k - len(first))])


def degree_discount(
    graph: Graph,
    k: int,
    model: str = "ic",
    *,
    weights: np.ndarray | None = None,
    forced: Sequence[int] | np.ndarray = (),
    barred: np.ndarray | None = None,
) -> np.ndarray:
    """Choose k vertices by degree, discounted for neighbours that are seeds already.

    Source: Chen, Wang, Yang, "Efficient influence maximization in social networks", KDD 2009, algorithm 4.

    - Undirected graphs with one probability p under IC, no weights: as printed, ``d - 2t - (d - t)·t·p`` for a vertex
      with d neighbours, t of which are seeds.
    - Otherwise the quantity that this expression approximates, with the edges' own probabilities and directions:
      ``A(v) · (W(v) + Σ p(v, w)·W(w))``. A(v) is the probability that no seed activates v directly:
      ``∏ (1 - p(s, v))`` under IC, ``1 - Σ p(s, v)`` under LT, over the seeds s before v. The second factor counts v
      and its out-neighbours w that are no seeds.

    Keys are integers (32-bit fixed point for probabilities); ties go to the lower id. No discount raises a key above
    its initial value. So seeds are searched among the vertices with the highest keys, and among more if these do not
    suffice. Costs O(n + m), and for each seed its edges, each with O(log n) at worst.

    Parameters
    ----------
    graph : Graph
        With probabilities. In-edges are made if they are needed and missing.
    k : int
        In [1, n].
    model : str
        ``ic`` or ``lt``.
    weights : int64 array, shape (n,), optional
        Weight W of each vertex, >= 0; 1 each if not given. Scaled to a sum of 31 bits.
    forced, barred
        As for :func:`degree`; forced vertices discount their neighbours.

    Returns
    -------
    int64 array, shape (k,)
        Internal ids in order of choice.

    Raises
    ------
    UsageError
        If k is out of range.
    InputError
        If the graph has no probabilities.
    """
    _check(graph, k)
    first = np.asarray(forced, np.int64)
    p = graph.weights.p if graph.probabilities is None else None
    if graph.undirected and p is not None and weights is None and model == "ic":
        degrees = np.diff(graph.indptr)
        longest = int(degrees.max(initial=0))
        spare = max(0, (longest * min(k, longest)).bit_length() + 33 - 63)
        word, bits = threshold(p) >> spare, 32 - spare
        for pool in _pools(degrees << bits, k, barred):
            chosen = _by_printed(graph.indptr, graph.indices, word, bits, pool, first, k)
            if len(chosen) == k:
                break
        return chosen
    counts = NO_COUNTS if weights is None else _in_bits(weights)
    out_edges, in_edges = _with_probabilities(graph)
    gains = _sums(out_edges, counts) + ((1 if weights is None else counts) << np.int64(32))
    for pool in _pools(gains, k, barred):
        chosen = by_discount(out_edges, in_edges, counts, gains[pool.vertices], pool, first, k, model == "lt")
        if len(chosen) == k:
            break
    return chosen


def degree_by_probability(graph: Graph, k: int, barred: np.ndarray) -> np.ndarray:
    """Return the k vertices with the largest expected number of live out-edges; ties go to the lower id.

    Parameters
    ----------
    graph : Graph
        With probabilities.
    k : int
    barred : bool array, shape (n,)
        Vertices that are left out; at least k vertices must be left.

    Returns
    -------
    int64 array, shape (k,)
        Vertices by the sum of the probabilities of their out-edges, largest first.
    """
    p = graph.weights.p if graph.probabilities is None else None
    if p is not None:
        sums = np.diff(graph.indptr) * threshold(p)
    else:
        sums = _sums(_with_probabilities(graph)[0], NO_COUNTS)
    sums[barred] = -1
    return highest(sums, k)


def random(graph: Graph, k: int, seed: int = 0) -> np.ndarray:
    """Return k distinct vertices drawn uniformly; those for a smaller k come first.

    Parameters
    ----------
    graph : Graph
    k : int
        In [1, n].
    seed : int
        In [0, 2**64). The vertices with the k smallest of their keyed 64-bit words are taken.

    Returns
    -------
    int64 array, shape (k,)
        Internal ids in order of choice.

    Raises
    ------
    UsageError
        If k is out of range.
    """
    _check(graph, k)
    return np.argsort(_words(graph.n, np.uint64(seed), stream_tag(Stream.BASELINE)), kind="stable")[:k]


def _check(graph: Graph, k: int) -> None:
    if not 1 <= k <= graph.n:
        raise UsageError(f"k = {k} is not in [1, {graph.n}], the number of vertices of the graph")


@njit
def _words(n, seed, tag):
    """Return the keyed 64-bit word of each vertex (uint64)."""
    words = np.empty(n, np.uint64)
    for v in range(n):
        low, high, _, _ = draw4(seed, tag, 0, v, 0)
        words[v] = join64(low, high)
    return words


def _with_probabilities(graph: Graph) -> tuple["_Edges", "_Edges"]:
    """Return the out-edges and in-edges of a graph with their probabilities."""
    graph = transpose(graph)
    assert graph.in_indptr is not None and graph.in_indices is not None
    heads = NOTHING if graph.probabilities is not None else head_probabilities(graph)
    out_words, in_words = (NOTHING if one is None else one for one in (graph.probabilities, graph.in_probabilities))
    out_edges = _Edges(graph.indptr, graph.indices, out_words, heads)
    return out_edges, _Edges(graph.in_indptr, graph.in_indices, in_words, heads)


def _in_bits(weights: np.ndarray) -> np.ndarray:
    """Return weights with a sum below 2**31; low bits are dropped if the sum is larger."""
    return weights.astype(np.int64) >> max(0, int(weights.sum()).bit_length() - MASS_BITS)


class _Pool(NamedTuple):
    """Vertices among which seeds are searched, and their keys; the lower id wins ties.

    Attributes
    ----------
    vertices : int64 array, shape (c,)
        Ascending.
    place : int32 array, shape (n,)
        Position of a vertex among them; -1: it is not, and its key was below the limit from the start.
    limit : int
        A key of at least this value is certain to be the highest of all vertices, if it is the highest here.
    keys : int64 array, shape (c,)
        Keys of the vertices; ``TAKEN`` of those that were chosen.
    """

    vertices: np.ndarray
    place: np.ndarray
    limit: int
    keys: np.ndarray


def _pools(keys: np.ndarray, k: int, barred: np.ndarray | None) -> Iterator[_Pool]:
    """Yield the vertices with the highest keys (>= 0), except barred ones: more each time, and finally all."""
    open_ = keys if barred is None else np.where(barred, -1, keys)
    count, limit = max(FEW, PER_SEED * k), 1
    while limit > 0:
        limit = limit_of(open_, count)
        vertices = np.flatnonzero(open_ >= limit)
        place = np.full(len(keys), -1, np.int32)
        place[vertices] = np.arange(len(vertices), dtype=np.int32)
        yield _Pool(vertices, place, limit if limit > 0 else TAKEN + 1, keys[vertices].astype(np.int64))
        count *= 8


class _Edges(NamedTuple):
    """Rows of edges with the words of their probabilities: one per edge, one per head, or none."""

    indptr: np.ndarray
    indices: np.ndarray
    words: np.ndarray
    heads: np.ndarray


@njit
def _change(pool, slot, key):
    """Change the key of a vertex, unless it is taken."""
    if pool.keys[slot] != TAKEN:
        pool.keys[slot] = key


@njit
def _take(pool, forced, i):
    """Choose the i-th vertex, forced ones first, then the best, each once; -1: the best may be outside the pool."""
    if i < len(forced):
        v = forced[i]
        slot = int64(pool.place[v])
    else:
        keys, slot = pool.keys, 0
        highest_key = keys[0]
        for key in keys:
            highest_key = max(highest_key, key)
        if highest_key < pool.limit:
            return int64(-1)
        while keys[slot] != highest_key:
            slot += 1
        v = pool.vertices[slot]
    if slot >= 0:
        pool.keys[slot] = TAKEN
    return v


@njit
def _product(key, word):
    """Return ⌊key · word / 2**32⌋ for a key in [0, 2**63) and a word in [0, 2**32]."""
    high, low = uint64(key) >> uint64(32), uint64(key) & uint64(0xFFFFFFFF)
    return int64(high * uint64(word) + (low * uint64(word) >> uint64(32)))


@njit
def _times(edges, e, head):
    """Return the probability of an edge in units of 2**-32."""
    return int64(edges.words[e] if len(edges.words) > 0 else edges.heads[head]) + 1


def _sums(edges: _Edges, counts: np.ndarray) -> np.ndarray:
    """Return for each row the sum of the weights of its heads, times the probabilities of its edges if there are any.

    With probabilities the unit is 2**-32. The sum does not overflow, because a row has no head twice. Without
    ``counts`` each weight is 1.
    """
    sums = np.zeros(len(edges.indptr) - 1, np.int64)
    parts = rows_by_edges(edges.indptr, numba.get_num_threads() if len(edges.indices) >= MANY else 1)
    in_parts(_sum_rows, parts, *edges, counts, sums)
    return sums


@njit
def _sum_rows(indptr, indices, words, heads, counts, sums, low, end):
    """Write the sums of rows low … end - 1."""
    for u in range(low, end):
        total = int64(0)
        if len(words) > 0:
            if len(counts) == 0:
                for e in range(indptr[u], indptr[u + 1]):
                    total += int64(words[e]) + 1
            else:
                for e in range(indptr[u], indptr[u + 1]):
                    total += (int64(words[e]) + 1) * counts[indices[e]]
        elif len(heads) > 0:
            if len(counts) == 0:
                for e in range(indptr[u], indptr[u + 1]):
                    total += int64(heads[indices[e]]) + 1
            else:
                for e in range(indptr[u], indptr[u + 1]):
                    total += (int64(heads[indices[e]]) + 1) * counts[indices[e]]
        else:
            for e in range(indptr[u], indptr[u + 1]):
                total += counts[indices[e]]
        sums[u] = total


@njit
def _by_printed(indptr, indices, p, unit_bits, pool, forced, k):
    """Choose by d - 2t - (d - t)·t·p; p and the keys are in units of 2**-unit_bits, few enough for 64 bits.

    Returns fewer than k vertices if the pool does not suffice.
    """
    seeded = np.zeros(len(pool.vertices), np.int64)
    chosen = np.empty(k, np.int64)
    for i in range(k):
        u = _take(pool, forced, i)
        if u < 0:
            return chosen[:i]
        chosen[i] = u
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            slot = pool.place[v]
            if slot >= 0:
                seeded[slot] += 1
                d, t = indptr[v + 1] - indptr[v], seeded[slot]
                _change(pool, slot, ((d - 2 * t) << unit_bits) - (d - t) * t * p)
    return chosen


@njit
def by_discount(out_edges, in_edges, counts, gains, pool, forced, k, linear):
    """Choose by A(v) · gain(v); both A(v) and ``gains``, W(v) + Σ p(v, w)·W(w), are in units of 2**-32.

    ``gains`` has one entry per vertex of the pool. Returns fewer than k vertices if the pool does not suffice.
    """
    alone = np.full(len(gains), ONE, np.int64)
    chosen = np.empty(k, np.int64)
    for i in range(k):
        u = _take(pool, forced, i)
        if u < 0:
            return chosen[:i]
        chosen[i] = u
        for e in range(out_edges.indptr[u], out_edges.indptr[u + 1]):
            v = out_edges.indices[e]
            slot = pool.place[v]
            if slot >= 0:
                word = _times(out_edges, e, v)
                alone[slot] = max(alone[slot] - word, 0) if linear else _product(alone[slot], ONE - word)
                _change(pool, slot, _product(gains[slot], alone[slot]))
        for e in range(in_edges.indptr[u], in_edges.indptr[u + 1]):
            slot = pool.place[in_edges.indices[e]]
            if slot >= 0:
                gains[slot] -= _times(in_edges, e, u) * (counts[u] if len(counts) else 1)
                _change(pool, slot, _product(gains[slot], alone[slot]))
    return chosen
