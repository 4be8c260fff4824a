"""Arc blocks, for drawing a whole live-edge world at a cost proportional to its number of live arcs.

The arcs of the graph are ordered so that arcs that are sampled alike are contiguous. They are cut into blocks,
regardless of their vertices. A block has about 8 expected live arcs, and never more than 64. Each block has its own
draws, keyed by (stream, world, block), so worlds can be drawn in any order and by different threads.

- Equal probabilities: the order of the graph.
- Weighted cascade: arcs into vertices of the same in-degree are contiguous.
- Other probabilities: classes ``2**-b >= p > 2**-(b+1)``. A class is sampled at ``2**-b``, and an arc is accepted with
  probability ``p * 2**b``.

Source of the skipping: Nobari, Lu, Karras, Bressan, "Fast random graph generation" (PPreZER), EDBT 2011, which IMGPU
(section 3.2.2) uses. Here a table gives the number of live arcs of a block, instead of a logarithm per arc, so the
number is the same on every device.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from gpukit.device.compiled import njit
from gpukit.graph.csr import Graph
from gpukit.graph.kernels import in_parts, rows_by_edges
from gpukit.graph.probabilities import in_degrees, no_probabilities, out_probabilities, scheme_stored, threshold
from gpukit.worlds.reverse import NO_ACCEPT
from gpukit.worlds.tables import (
    DIRECT_EDGES,
    MAX_LIVE,
    OWN,
    TableStore,
    probability_class,
    scale_rows,
)

ARCS_PER_WORKER = 1 << 16
"""Fewest arcs for which a thread is started."""

_TWO32 = 1 << 32


@dataclass(frozen=True, eq=False)
class ArcBlocks:
    """A graph prepared for drawing whole worlds; see :func:`prepare_blocks`.

    Attributes
    ----------
    n : int
        Number of vertices.
    tails, heads : int32 arrays, shape (arcs,)
        The arcs in block order.
    blocks : uint32 array, shape (blocks, 3)
        First arc, number of arcs and ``meta`` of each block (as a row of :func:`gpukit.worlds.tables.build_tables`).
    accept : uint32 array
        Acceptance word of each arc if any block needs one; otherwise a single element.
    thresholds : uint64 array
        The thresholds that ``meta`` refers to.
    mean_live : float
        Expected number of live arcs; buffers are sized by it.
    paired : bool
        Whether one arc, with one coin, represents both directions of an undirected edge. The expected spread is the
        same; a vertex then reaches exactly its connected component.
    """

    n: int
    tails: np.ndarray
    heads: np.ndarray
    blocks: np.ndarray
    accept: np.ndarray
    thresholds: np.ndarray
    paired: bool
    mean_live: float

    @property
    def most_live(self) -> int:
        """The most live arcs that a world can have."""
        kinds = (self.blocks[:, 2] & 255).astype(np.int64)
        return int(np.where((kinds == 0) | (kinds == OWN), self.blocks[:, 1], kinds).sum())


class _Kinds(NamedTuple):
    """The kinds of arcs; arcs of one kind are sampled alike.

    Attributes
    ----------
    values : int64 array, shape (kinds,)
        In-degrees of heads, or classes of probabilities; ascending.
    of_head : int32 array, shape (n,) or (0,)
        Index of the kind of the arcs into each vertex. If it is empty, the kind of an arc is the class of its word, or
        the only kind if there are no words.
    words : uint32 array, shape (m,) or (0,)
        Stored probability of each arc, if it does not follow from the kind.
    """

    values: np.ndarray
    of_head: np.ndarray
    words: np.ndarray


def prepare_blocks(graph: Graph, *, skip: bool = True, pairs: bool = True) -> ArcBlocks:
    """Return the arc blocks of a graph.

    Parameters
    ----------
    graph : Graph
        With edge probabilities.
    skip : bool
        False: one draw per arc, and no arc is skipped. The worlds are different then, with the same distribution.
    pairs : bool
        Whether one coin decides both directions of an undirected edge if their probabilities are equal.

    Raises
    ------
    InputError
        If the graph has no probabilities, or too many distinct ones for the tables.
    """
    if graph.weights.scheme == "none":
        raise no_probabilities()
    paired = pairs and _symmetric(graph)
    kinds = (
        _kinds(graph) if skip else _Kinds(np.zeros(1, np.int64), np.zeros(graph.n, np.int32), out_probabilities(graph))
    )
    tails, heads, accept, sizes, thresholds = _order(graph, kinds, paired)
    store = TableStore()
    parts, start = [np.empty((0, 3), np.uint32)], 0
    for kind, size in zip(kinds.values.tolist(), sizes.tolist(), strict=True):
        rows_of = _rows_of(graph, store, kind) if skip else (MAX_LIVE, lambda _: OWN)
        parts.append(_cut(start, start + size, *rows_of))
        start += size
    blocks = np.concatenate(parts)
    if skip and len(accept):
        classes = np.repeat(kinds.values.astype(np.uint8), [len(part) for part in parts[1:]])
        bounds = np.arange(_workers(len(tails)) + 1) * len(blocks) // _workers(len(tails))
        in_parts(scale_rows, bounds, blocks, classes, accept)
    if not len(accept):
        words = scheme_stored(graph.weights, kinds.values).astype(np.uint64)
        thresholds, accept = int(sizes.astype(np.uint64) @ (words + np.uint64(1))), NO_ACCEPT
    return ArcBlocks(graph.n, tails, heads, blocks, accept, store.array(), paired, thresholds / _TWO32)


def _kinds(graph: Graph) -> _Kinds:
    """Return how the arcs of a graph are sampled."""
    no_heads, no_words = np.empty(0, np.int32), np.empty(0, np.uint32)
    if graph.probabilities is not None:
        return _Kinds(np.arange(33), no_heads, graph.probabilities)
    if graph.weights.scheme == "const":
        return _Kinds(np.zeros(1, np.int64), no_heads, no_words)
    degrees = in_degrees(graph)
    exists = np.bincount(degrees) > 0
    return _Kinds(np.flatnonzero(exists), (np.cumsum(exists, dtype=np.int32) - 1)[degrees], no_words)


def _symmetric(graph: Graph) -> bool:
    """Return whether every edge exists in both directions, with equal probabilities."""
    if not graph.undirected or graph.weights.scheme not in ("const", "file"):
        return False
    if graph.probabilities is None:
        return True
    return graph.in_probabilities is not None and bool(np.array_equal(graph.probabilities, graph.in_probabilities))


def _workers(arcs: int) -> int:
    return max(1, min(numba.get_num_threads(), arcs // ARCS_PER_WORKER))


def _order(graph: Graph, kinds: _Kinds, paired: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Return tails, heads and words of the arcs by kind, the number of arcs of each kind, and the sum of thresholds.

    This is a counting sort in two passes. Arcs of a kind stay in the order of the graph. If ``paired``, only arcs to a
    vertex with a higher id are kept.
    """
    workers = _workers(graph.m)
    first_rows, each = rows_by_edges(graph.indptr, workers), np.arange(workers + 1)
    counts, sums = np.zeros((workers, len(kinds.values)), np.int64), np.zeros(workers, np.uint64)
    arcs = (graph.indptr, graph.indices, kinds.of_head, kinds.words, paired, first_rows)
    in_parts(_count, each, *arcs, counts, sums)
    by_kind = counts.T.ravel()
    places = (np.cumsum(by_kind) - by_kind).reshape(counts.T.shape).T.copy()
    sizes = counts.sum(axis=0)
    tails, heads = np.empty((2, int(sizes.sum())), np.int32)
    words = np.empty(len(tails) if len(kinds.words) else 0, np.uint32)
    in_parts(_place, each, *arcs, places, tails, heads, words)
    return tails, heads, words, sizes, int(sums.sum())


@njit
def _kind(of_head, words, arc, head):
    """Return the index of an arc's kind."""
    if len(of_head):
        return np.int64(of_head[head])
    return probability_class(words[arc]) if len(words) else np.int64(0)


@njit
def _count(indptr, indices, of_head, words, paired, first_rows, counts, sums, low, end):
    """Count the arcs of workers low … end - 1 by kind, and sum their thresholds; worker i owns row i of ``counts``."""
    for worker in range(low, end):
        own, total = np.zeros(counts.shape[1], np.int64), np.uint64(0)  # other workers' counters share cache lines
        for u in range(first_rows[worker], first_rows[worker + 1]):
            for arc in range(indptr[u], indptr[u + 1]):
                if not paired or u < indices[arc]:
                    own[_kind(of_head, words, arc, indices[arc])] += 1
                    if len(words):
                        total += np.uint64(words[arc]) + np.uint64(1)
        for kind in range(len(own)):
            counts[worker, kind] = own[kind]
        sums[worker] = total


@njit
def _place(indptr, indices, of_head, words, paired, first_rows, places, tails, heads, moved, low, end):
    """Write the arcs of workers low … end - 1; ``places[i]`` has the first position of each kind for worker i."""
    for worker in range(low, end):
        own = places[worker].copy()
        for u in range(first_rows[worker], first_rows[worker + 1]):
            for arc in range(indptr[u], indptr[u + 1]):
                if not paired or u < indices[arc]:
                    kind = _kind(of_head, words, arc, indices[arc])
                    place = own[kind]
                    own[kind] = place + 1
                    tails[place], heads[place] = u, indices[arc]
                    if len(words):
                        moved[place] = words[arc]


def _rows_of(graph: Graph, store: TableStore, kind: int) -> tuple[int, Callable[[int], int]]:
    """Return the most arcs of a block of a kind, and a function from the size of a block to its meta word."""
    if graph.probabilities is not None:
        if kind <= 1:
            return MAX_LIVE, lambda _: OWN
        return 8 << kind, lambda size: OWN if size <= DIRECT_EDGES else store.binomial(size, 1, 1 << kind)
    if graph.weights.scheme == "wc":
        numerator, denominator = 1, max(kind, 1)
    else:
        assert graph.weights.p is not None
        numerator, denominator = threshold(graph.weights.p), _TWO32
    if 4 * numerator >= denominator:
        return MAX_LIVE, lambda _: store.equal((2 * _TWO32 * numerator + denominator) // (2 * denominator))
    return 8 * denominator // numerator, lambda size: store.binomial(size, numerator, denominator)


def _cut(start: int, end: int, limit: int, meta_of: Callable[[int], int]) -> np.ndarray:
    """Return the blocks of arcs start … end - 1; all but the last have ``limit`` arcs."""
    lows = np.arange(start, end, limit)
    rows = np.empty((len(lows), 3), np.uint32)
    rows[:, 0], rows[:, 1] = lows, np.minimum(limit, end - lows)
    for part in (rows[:-1], rows[-1:]):
        if len(part):
            part[:, 2] = meta_of(int(part[0, 1]))
    return rows
