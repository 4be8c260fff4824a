"""Seed sets without a guarantee, to compare with: degree, degree discount, random. Host code, the same everywhere."""

import heapq

import numpy as np

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream, draw4, join64, stream_tag
from gpukit.errors import UsageError
from gpukit.graph.build import transpose
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import ONE, in_probabilities, out_probabilities, threshold


def degree(graph: Graph, k: int) -> np.ndarray:
    """Return the k vertices with most out-edges, the lower id first among equals.

    Parameters
    ----------
    graph : Graph
    k : int
        In [1, n].

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
    return np.argsort(-np.diff(graph.indptr), kind="stable")[:k]


def degree_discount(graph: Graph, k: int) -> np.ndarray:
    """Choose k vertices by degree, discounted for neighbours that are seeds already.

    Source: Chen, Wang, Yang, "Efficient influence maximization in social networks", KDD 2009, algorithm 4.

    - Undirected graphs with one probability p, as printed: ``d - 2t - (d - t)·t·p`` for a vertex with d neighbours, t
      of them seeds.
    - Otherwise what that expression approximates, with the edges' own probabilities and directions: v still counts if
      no seed activates it directly, and then brings itself and its out-neighbours that are no seeds:
      ``∏ (1 - p(s, v)) · (1 + Σ p(v, w))`` over the seeds s before v and the others w after v.

    Exact integers (fixed point for the products), the lower id first among equals.

    Parameters
    ----------
    graph : Graph
        With probabilities. In-edges are made where they are needed and not there.
    k : int
        In [1, n].

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
    p = graph.weights.p
    if graph.undirected and p is not None and graph.probabilities is None:
        return _printed_discount(graph, k, threshold(p))
    return _general_discount(graph, k)


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
    words = np.empty(n, np.uint64)
    for v in range(n):
        low, high, _, _ = draw4(seed, tag, 0, v, 0)
        words[v] = join64(low, high)
    return words


class _Queue:
    """A max-heap of vertices by integer keys that change; the lower id first among equals."""

    def __init__(self, keys: list[int]) -> None:
        self.keys = keys
        self.heap = [(-key, v) for v, key in enumerate(keys)]
        heapq.heapify(self.heap)
        self.taken = bytearray(len(keys))

    def pop(self) -> int:
        """Remove the best vertex and return it."""
        while True:
            key, v = heapq.heappop(self.heap)
            if not self.taken[v] and key == -self.keys[v]:
                self.taken[v] = 1
                return v

    def change(self, v: int, key: int) -> None:
        """Give a vertex another key; entries with old keys stay in the heap and are passed over."""
        if not self.taken[v] and key != self.keys[v]:
            self.keys[v] = key
            heapq.heappush(self.heap, (-key, v))


def _printed_discount(graph: Graph, k: int, p: int) -> np.ndarray:
    degrees = np.diff(graph.indptr).tolist()
    queue = _Queue([d * ONE for d in degrees])
    seeded = [0] * graph.n
    chosen = []
    for _ in range(k):
        u = queue.pop()
        chosen.append(u)
        for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist():
            seeded[v] += 1
            d, t = degrees[v], seeded[v]
            queue.change(v, (d - 2 * t) * ONE - (d - t) * t * p)
    return np.array(chosen, np.int64)


def _general_discount(graph: Graph, k: int) -> np.ndarray:
    out_words = out_probabilities(graph)
    graph = transpose(graph)
    in_words = in_probabilities(graph)
    assert graph.in_indptr is not None and graph.in_indices is not None
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(out_words.astype(np.int64) + 1)])
    gains = (sums[graph.indptr[1:]] - sums[graph.indptr[:-1]] + ONE).tolist()
    alone = [ONE] * graph.n
    queue = _Queue([gain * ONE for gain in gains])
    chosen = []
    for _ in range(k):
        u = queue.pop()
        chosen.append(u)
        row = slice(graph.indptr[u], graph.indptr[u + 1])
        for v, word in zip(graph.indices[row].tolist(), out_words[row].tolist(), strict=True):
            alone[v] = alone[v] * (ONE - word - 1) // ONE
            queue.change(v, alone[v] * gains[v])
        row = slice(graph.in_indptr[u], graph.in_indptr[u + 1])
        for v, word in zip(graph.in_indices[row].tolist(), in_words[row].tolist(), strict=True):
            gains[v] -= word + 1
            queue.change(v, alone[v] * gains[v])
    return np.array(chosen, np.int64)
