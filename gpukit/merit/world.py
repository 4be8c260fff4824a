"""The hidden world: it decides which vertices seeds activate. The policy sees only the vertices that it reports."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream, draw4
from gpukit.errors import InputError
from gpukit.evaluate.rule import lt_quota, lt_weights
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import head_probabilities
from gpukit.worlds.rule import word_of


class World(Protocol):
    """Decides which vertices a batch activates, given all earlier activations."""

    def diffuse(self, seeds: np.ndarray) -> np.ndarray:
        """Return the newly activated vertices (int32, ascending), seeds included."""


@njit
def _cascade(indptr, indices, of_edges, of_heads, seed, tag, world, active, queue, tail):
    """Let ``queue[:tail]`` activate other vertices under IC; return the new tail. Coins are keyed by the source vertex.

    Probabilities are in fixed point, times 2**32 and minus one: per edge, or per head if ``of_edges`` is empty.
    """
    head = 0
    while head < tail:
        u = queue[head]
        head += 1
        words = draw4(seed, tag, world, u, 0)
        for e in range(indptr[u], indptr[u + 1]):
            place = e - indptr[u]
            if (place & 3) == 0 and place > 0:
                words = draw4(seed, tag, world, u, place >> 2)
            v = indices[e]
            threshold = of_edges[e] if len(of_edges) > 0 else of_heads[v]
            if word_of(words, place & 3) <= threshold and not active[v]:
                active[v] = True
                queue[tail] = v
                tail += 1
    return tail


@njit
def _thresholds(indptr, indices, weights, scales, seed, tag, world, active, reached, queue, tail):
    """Let ``queue[:tail]`` activate other vertices under LT; return the new tail. Thresholds are keyed by vertex."""
    head = 0
    while head < tail:
        u = queue[head]
        head += 1
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if active[v]:
                continue
            reached[v] += np.int64(weights[e]) + 1 if len(weights) > 0 else 1
            low, high, _, _ = draw4(seed, tag, world, v, 0)
            if reached[v] >= lt_quota(low, high, scales[v]):
                active[v] = True
                queue[tail] = v
                tail += 1
    return tail


class SimulatedWorld:
    """A world drawn by seed: a function of (graph, model, seed, number).

    Parameters
    ----------
    graph : Graph
        With probabilities.
    model : str
        ``ic`` or ``lt``.
    seed : int
        The user's seed, in [0, 2**64).
    number : int
        Number of the world, in [0, 2**48).

    Notes
    -----
    A world remembers which vertices are active, so each campaign needs a new one.
    """

    def __init__(self, graph: Graph, model: str, seed: int, number: int = 0) -> None:
        self._key = (np.uint64(seed), int(Stream.HIDDEN_WORLD), number)
        self._edges = (graph.indptr, graph.indices)
        self._active, self._queue = np.zeros(graph.n, np.bool_), np.empty(graph.n, np.int32)
        self._model = model
        if model == "ic":
            none = np.zeros(0, np.uint32)
            # Expanding the words to all edges takes 0.1 s for 6 M edges, and a campaign needs few of them.
            listed = graph.probabilities is not None
            self._words = (graph.probabilities, none) if listed else (none, head_probabilities(graph))
        else:
            self._words = lt_weights(graph)
            self._reached = np.zeros(graph.n, np.int64)

    def diffuse(self, seeds: np.ndarray) -> np.ndarray:
        """Return the newly activated vertices (int32, ascending), seeds included.

        Raises
        ------
        InputError
            If a seed is already active, for example because another campaign ran in this world.
        """
        if self._active[seeds].any():
            raise InputError("a seed is active in this world already; make a new world for each campaign")
        self._queue[: len(seeds)] = seeds
        self._active[seeds] = True
        if self._model == "ic":
            tail = _cascade(*self._edges, *self._words, *self._key, self._active, self._queue, len(seeds))
        else:
            tail = _thresholds(
                *self._edges, *self._words, *self._key, self._active, self._reached, self._queue, len(seeds)
            )
        return np.sort(self._queue[:tail])


class ReplayedWorld:
    """The world of an observed campaign: in round i the vertices of the i-th record become active.

    Parameters
    ----------
    records : sequence of int32 arrays
        Activated vertices (internal ids) of each round.
    """

    def __init__(self, records: Sequence[np.ndarray]) -> None:
        self._records = list(records)
        self._next = 0

    def diffuse(self, seeds: np.ndarray) -> np.ndarray:
        """Return the record of the next round.

        Raises
        ------
        InputError
            If the record ends before the campaign does, or was made with other seeds.
        """
        if self._next == len(self._records):
            raise InputError(f"the record ends after {self._next} rounds, before the campaign is done; record more")
        found = np.unique(self._records[self._next]).astype(np.int32)
        self._next += 1
        if not np.isin(seeds, found).all():
            raise InputError(
                f"round {self._next} of the record does not hold the seeds of this campaign; replay it with the "
                "parameters and the seed it was recorded with"
            )
        return found
