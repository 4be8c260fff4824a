"""Kept worlds, for a greedy choice over the same worlds (CPU): one large graph of (world, vertex) slots.

All worlds of a shard are packed end to end in one CSR; an index maps a vertex to its slots. The gain of a vertex is
found by a search from each of its slots that skips slots reached by seeds.
"""

from dataclasses import dataclass

import numpy as np

from gpukit.device.compiled import njit

ALIVE, GONE, SEEN = 0, 1, 2
"""States of a slot; SEEN during a search only."""


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of the kept worlds.

    Attributes
    ----------
    worlds : int
        Number of worlds.
    starts : int64 array, shape (n + 1,)
        Start of each vertex in ``index``.
    index : int32 array, shape (slots,)
        The slots of each vertex. In a world without a slot the vertex reaches only itself.
    row : int64 array, shape (slots + 1,)
        Start of the out-arcs of each slot.
    heads : int32 array, shape (arcs,)
        Heads of the live arcs, as slots.
    state : uint8 array, shape (slots,)
        ``GONE`` if seeds reach the slot.
    queue : int32 array
        Working space of searches.
    """

    worlds: int
    starts: np.ndarray
    index: np.ndarray
    row: np.ndarray
    heads: np.ndarray
    state: np.ndarray
    queue: np.ndarray

    @classmethod
    def of(cls, n: int, worlds: int, store: tuple) -> "Shard":
        """Index the worlds of a store (:func:`make_store`)."""
        vertex, row, heads, slots, arcs, widest = store
        starts, index = _index(n, vertex[:slots])
        state, queue = np.zeros(slots, np.uint8), np.empty(widest + 1, np.int32)
        return cls(worlds, starts, index, row[: slots + 1], heads[:arcs], state, queue)

    @property
    def arrays(self) -> tuple:
        """The arguments of the searches."""
        return self.worlds, self.starts, self.index, self.row, self.heads, self.state, self.queue


def bytes_of(slots: float, arcs: float, n: int, worlds: int, shards: int) -> float:
    """Return the bytes of kept worlds with these average numbers of slots and arcs, all vertices of slots included."""
    return worlds * (17 * slots + 4 * arcs) + 8 * n * shards


@njit
def _index(n, vertex):
    """Return the start of each vertex in the index, and the index: the slots of each vertex, ascending."""
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


@njit
def _grown(array, used, needed):
    """Return an array of at least ``needed`` elements, the first ``used`` kept; the same array if possible."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, len(array) + (len(array) >> 2)), array.dtype)
    for i in range(used):
        larger[i] = array[i]
    return larger


@njit
def make_store(count, means):
    """Return an empty store with room for ``count`` worlds; ``means`` are the expected slots and arcs of a world.

    A store is a tuple: the vertex of each slot, the start of its out-arcs, heads as slots; the slots and arcs so far,
    and the most slots of a world.
    """
    vertex = np.empty(int(1.05 * means[0] * count) + 1024, np.int32)
    heads = np.empty(int(1.05 * means[1] * count) + 1024, np.int32)
    row = np.zeros(len(vertex) + 1, np.int64)
    return vertex, row, heads, 0, 0, 0


@njit
def append(store, world, slots):
    """Append a world to a store and return the store; full arrays are replaced by longer ones."""
    vertex, row, heads, used, placed, widest = store
    live = world.row[slots]
    vertex = _grown(vertex, used, used + slots)
    row = _grown(row, used + 1, used + slots + 1)
    heads = _grown(heads, placed, placed + live)
    for s in range(slots):
        vertex[used + s] = world.vertex[s]
        row[used + s] = placed + world.row[s]
    for e in range(live):
        heads[placed + e] = used + world.heads[e]
    row[used + slots] = placed + live
    return vertex, row, heads, used + slots, placed + live, max(widest, slots)


@njit
def _reach(row, heads, state, queue, s, mark):
    """Mark the unmarked slots that s reaches, put them into the queue, and return their number."""
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


@njit
def gain_of(worlds, starts, index, row, heads, state, queue, v):
    """Return the gain of vertex v, which must be no seed."""
    total = worlds - (starts[v + 1] - starts[v])
    for i in range(starts[v], starts[v + 1]):
        if state[index[i]] == ALIVE:
            tail = _reach(row, heads, state, queue, index[i], SEEN)
            for j in range(tail):
                state[queue[j]] = ALIVE
            total += tail
    return total


@njit
def choose(worlds, starts, index, row, heads, state, queue, v):
    """Make vertex v a seed: mark all slots that it reaches as gone."""
    for i in range(starts[v], starts[v + 1]):
        if state[index[i]] == ALIVE:
            _reach(row, heads, state, queue, index[i], GONE)
