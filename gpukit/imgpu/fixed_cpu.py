"""Worlds that are kept, for a greedy choice over the same worlds (CPU): one large graph of (world, vertex) slots.

All worlds of a shard lie end to end in one CSR; an index leads from a vertex to its slots. What a vertex adds to the
seeds is found by a search from each of its slots, past what the seeds reach.
"""

from dataclasses import dataclass

import numba
import numpy as np

from gpukit.imgpu.simulate_cpu import add_gains, simulate
from gpukit.imgpu.world_cpu import forget

ALIVE, GONE, SEEN = 0, 1, 2
"""States of a slot; SEEN during a search only."""


@dataclass(frozen=True, eq=False)
class Shard:
    """Some of the worlds, kept.

    Attributes
    ----------
    worlds : int
        How many.
    starts : int64 array, shape (n + 1,)
        Start of each vertex in ``index``.
    index : int32 array, shape (slots,)
        The slots of each vertex; in a world where it has none it reaches itself alone.
    row : int64 array, shape (slots + 1,)
        Start of the out-arcs of each slot.
    heads : int32 array, shape (arcs,)
        Heads of the live arcs, as slots.
    state : uint8 array, shape (slots,)
        ``GONE`` where seeds reach the slot.
    queue : int32 array
        For searches.
    """

    worlds: int
    starts: np.ndarray
    index: np.ndarray
    row: np.ndarray
    heads: np.ndarray
    state: np.ndarray
    queue: np.ndarray

    @classmethod
    def of(cls, n: int, worlds: int, vertex: np.ndarray, row: np.ndarray, heads: np.ndarray, most: int) -> "Shard":
        """Index worlds that were laid end to end; no world has more than ``most`` slots."""
        starts, index = _index(n, vertex)
        return cls(worlds, starts, index, row, heads, np.zeros(len(vertex), np.uint8), np.empty(most + 1, np.int32))

    @property
    def arrays(self) -> tuple:
        """What the searches take."""
        return self.worlds, self.starts, self.index, self.row, self.heads, self.state, self.queue


def bytes_of(slots: float, arcs: float, n: int, worlds: int, shards: int) -> float:
    """Return what kept worlds of this many slots and arcs on average take, the vertices of all slots included."""
    return worlds * (17 * slots + 4 * arcs) + 8 * n * shards


@numba.njit(nogil=True, cache=True)
def _index(n, vertex):
    starts = np.zeros(n + 1, np.int64)
    for v in vertex:
        starts[v + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    fill = starts[:-1].copy()
    index = np.empty(len(vertex), np.int32)
    for s in range(len(vertex)):
        index[fill[vertex[s]]] = s
        fill[vertex[s]] += 1
    return starts, index


@numba.njit(nogil=True, cache=True)
def _grown(array, used, needed):
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, len(array) + (len(array) >> 2)), array.dtype)
    larger[:used] = array[:used]
    return larger


@numba.njit(nogil=True, cache=True)
def keep(arcs, paired, seed, first, count, world, labels, how, mean_slots, mean_arcs, gains):
    """Draw worlds, add the gains of all vertices, and return the worlds end to end.

    Returns
    -------
    vertex : int32 array, row : int64 array, heads : int32 array, most : int
        As in :class:`Shard`; the most slots of a world.
    """
    vertex = np.empty(int(1.05 * mean_slots * count) + 1024, np.int32)
    row = np.empty(len(vertex) + 1, np.int64)
    heads = np.empty(int(1.05 * mean_arcs * count) + 1024, np.int32)
    seeds = np.empty(0, np.int64)
    used = placed = most = 0
    for id_ in range(first, first + count):
        tails, slots, _ = simulate(arcs, paired, seed, id_, seeds, world, labels, how)
        add_gains(world, labels, tails, slots, gains)
        live = world.row[slots]
        vertex = _grown(vertex, used, used + slots)
        row = _grown(row, used, used + slots + 1)
        heads = _grown(heads, placed, placed + live)
        for s in range(slots):
            vertex[used + s] = world.vertex[s]
            row[used + s] = placed + world.row[s]
        for e in range(live):
            heads[placed + e] = used + world.heads[e]
        used += slots
        placed += live
        most = max(most, slots)
        forget(world, slots)
    row[used] = placed
    return vertex[:used], row[: used + 1], heads[:placed], most


@numba.njit(nogil=True, cache=True)
def _reach(row, heads, state, queue, s, mark):
    """Mark the slots that s reaches past what is marked, put them into the queue, and return how many they are."""
    queue[0] = s
    state[s] = mark
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for e in range(row[u], row[u + 1]):
            w = heads[e]
            if state[w] == ALIVE:
                state[w] = mark
                queue[tail] = w
                tail += 1
    return tail


@numba.njit(nogil=True, cache=True)
def gain_of(worlds, starts, index, row, heads, state, queue, v):
    """Return what vertex v, no seed, adds to what the seeds reach."""
    total = worlds - (starts[v + 1] - starts[v])
    for i in range(starts[v], starts[v + 1]):
        if state[index[i]] == ALIVE:
            tail = _reach(row, heads, state, queue, index[i], SEEN)
            for j in range(tail):
                state[queue[j]] = ALIVE
            total += tail
    return total


@numba.njit(nogil=True, cache=True)
def choose(worlds, starts, index, row, heads, state, queue, v):
    """Make vertex v a seed: what it reaches is gone."""
    for i in range(starts[v], starts[v + 1]):
        if state[index[i]] == ALIVE:
            _reach(row, heads, state, queue, index[i], GONE)
