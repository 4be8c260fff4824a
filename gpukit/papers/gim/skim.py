"""SKIM: seeds by bottom-k sketches of reachability, without a guarantee. Host code on one CPU thread.

Source: Cohen, Delling, Pajor, Werneck, "Sketch-based influence maximization and computation: scaling up with
guarantees", CIKM 2014, algorithm 2. Pairs (vertex, instance) have random ranks. In the order of ranks each pair is
added to the sketches of all vertices that reach it in its instance. The first vertex with ``sketch`` pairs is the next
seed, because a vertex that reaches more pairs has them sooner. The pairs that a seed reaches are covered, and removed
from all sketches.
"""

from collections import namedtuple
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numba import int64

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream, draw4, join64, stream_tag
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph
from gpukit.worlds.reverse import prepare
from gpukit.worlds.rule import CALLS_PER_ROW, live_edges
from gpukit.worlds.tables import MAX_LIVE

INSTANCES = 64
"""Number of live-edge instances (ℓ of the authors)."""

SKETCH = 64
"""Pairs in a full sketch (k of the authors); the relative error of a vertex's reach is about one over its square
root."""

BATCH, BATCHES = 1 << 15, 64
"""Approximate number of pairs that are sorted by rank at a time, and most batches. Few pairs are ever visited."""

COINS, RANKS = stream_tag(Stream.IC, 255), stream_tag(Stream.BASELINE, 1)
"""Separate random streams: RR sets use at most 255 rounds, random seeds use round 0."""

UNSEEN, COVERED = -1, -2
"""Values of ``slot`` for a pair that was not visited yet, and for one that a seed reaches; otherwise it is the pair's
place in the order."""


class Instances(namedtuple("Instances", "in_begin tails out_begin heads offsets")):
    """The live edges of all instances, in both directions.

    Attributes
    ----------
    in_begin, out_begin : int32 arrays, shape (instances, n + 1)
        Row starts, counted from the instance's own first edge.
    tails, heads : int32 arrays
        Tails of the in-edges and heads of the out-edges, instance after instance.
    offsets : int64 array, shape (instances + 1,)
        First edge of each instance.
    """


class Sketches(namedtuple("Sketches", "sizes slot stamps queue")):
    """State of the pairs visited so far, and working space.

    Attributes
    ----------
    sizes : int32 array, shape (n,)
        Number of pairs in the sketch of each vertex.
    slot : int32 array, shape (instances, n)
    stamps, queue : int32 arrays, shape (n,)
    """


@njit
def _draw(tables, seed, sample, begin, tails):
    """Draw the live in-edges of one instance; return their number, or -1 if there is no room for them."""
    rows, live = tables.rows, np.empty(MAX_LIVE, np.uint32)
    size = int64(0)
    for v in range(tables.n):
        begin[v] = size
        row, draw = int64(v), 0
        while True:
            start, length = int64(rows[row, 0]), rows[row, 1]
            if length > 0:
                words = draw4(seed, COINS, sample, v, draw)
                found = live_edges(
                    length, rows[row, 2], start, draw, tables.accept, tables.thresholds, seed, COINS, sample, v, words,
                    live,
                )  # fmt: skip
                if size + found > len(tails):
                    return int64(-1)
                for c in range(found):
                    tails[size + c] = tables.indices[start + int64(live[c])]
                size += found
            row = int64(rows[row, 3])
            if row == 0:
                break
            draw += CALLS_PER_ROW
    begin[tables.n] = size
    return size


@njit
def _turned(begin, tails, out_begin, heads):
    """Write the edges of one instance by their tails."""
    n = len(begin) - 1
    out_begin[:] = 0
    for e in range(begin[n]):
        out_begin[tails[e] + 1] += 1
    for v in range(n):
        out_begin[v + 1] += out_begin[v]
    fill = out_begin[:-1].copy()
    for v in range(n):
        for e in range(begin[v], begin[v + 1]):
            heads[fill[tails[e]]] = v
            fill[tails[e]] += 1


def draw_instances(
    graph: Graph, seed: int, count: int = INSTANCES, tables: dict[str, np.ndarray] | None = None
) -> Instances:
    """Draw live-edge instances under independent cascade; ``tables`` are those of :func:`prepare`, if available.

    Raises
    ------
    InputError
        If the graph has no edge probabilities.
    """
    rows = prepare(graph, "ic", tables=tables).tables
    in_begin, out_begin = np.empty((2, count, graph.n + 1), np.int32)
    room = np.empty(graph.n + 1024, np.int32)
    tails, heads = [], []
    for i in range(count):
        while (size := _draw(rows, np.uint64(seed), i, in_begin[i], room)) < 0:
            room = np.empty(2 * len(room), np.int32)
        tails.append(room[:size].copy())
        heads.append(np.empty(size, np.int32))
        _turned(in_begin[i], tails[i], out_begin[i], heads[i])
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum([len(one) for one in tails], out=offsets[1:])
    return Instances(in_begin, np.concatenate(tails), out_begin, np.concatenate(heads), offsets)


@njit
def _ranks(instances, n, seed):
    """Return the random rank of each pair, uint64, instance after instance."""
    ranks = np.empty(instances * n, np.uint64)
    for i in range(instances):
        for v in range(n):
            words = draw4(seed, RANKS, i, v, 0)
            ranks[i * n + v] = join64(words[0], words[1])
    return ranks


@njit
def _extend(world, state, pairs, first, ends, entries, sketch):
    """Visit pairs in order, from the place ``first`` on, until a vertex has a full sketch.

    Parameters
    ----------
    pairs : int64 array
        Pairs in order, instance · n + vertex.
    first : int
        Place of the first pair, which is also the number of visited pairs.
    ends : int64 array, one longer than ``pairs``
        Start and end of the entries of each visited pair.
    entries : int32 array
        The vertices that reach each visited pair, pair after pair.

    Returns
    -------
    place, vertex
        The next place, and the vertex with a full sketch; -1 if no pairs or no room for entries are left.
    """
    n = len(state.sizes)
    for place in range(first, len(pairs)):
        used = ends[place]
        instance, target = pairs[place] // n, pairs[place] % n
        if used + n > len(entries):
            return place, int64(-1)
        if state.slot[instance, target] == COVERED:
            ends[place + 1] = used
            continue
        state.slot[instance, target] = place
        begin, offset = world.in_begin[instance], world.offsets[instance]
        entries[used] = target
        state.stamps[target] = place
        head, tail = used, used + 1
        while head < tail:
            v = entries[head]
            head += 1
            state.sizes[v] += 1
            if state.sizes[v] == sketch:
                ends[place + 1] = head
                return place + 1, int64(v)
            for e in range(begin[v], begin[v + 1]):
                u = world.tails[offset + e]
                if state.stamps[u] != place:
                    state.stamps[u] = place
                    entries[tail] = u
                    tail += 1
        ends[place + 1] = tail
    return int64(len(pairs)), int64(-1)


@njit
def _take(state, instance, v, ends, entries):
    """Cover a pair, and remove it from the sketches that contain it."""
    place = state.slot[instance, v]
    state.slot[instance, v] = COVERED
    if place >= 0:
        for j in range(ends[place], ends[place + 1]):
            state.sizes[entries[j]] -= 1


@njit
def _cover(world, state, vertex, ends, entries):
    """Cover all pairs that a vertex reaches; return their number."""
    gained = int64(0)
    for i in range(len(world.in_begin)):
        if state.slot[i, vertex] == COVERED:
            continue
        begin, offset = world.out_begin[i], world.offsets[i]
        _take(state, i, vertex, ends, entries)
        state.queue[0] = vertex
        head, tail = 0, 1
        while head < tail:
            v = state.queue[head]
            head += 1
            for e in range(begin[v], begin[v + 1]):
                w = world.heads[offset + e]
                if state.slot[i, w] != COVERED:
                    _take(state, i, w, ends, entries)
                    state.queue[tail] = w
                    tail += 1
        gained += tail
    return gained


def _in_order(ranks: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the pairs by rising rank (ties: the lower pair), a batch at a time."""
    parts = max(1, min(BATCHES, len(ranks) // BATCH))
    limits = [(1 << 64) * part // parts for part in range(parts)]
    for low, high in pairwise([*limits, 1 << 64]):
        inside = np.flatnonzero((ranks >= np.uint64(low)) & (ranks <= np.uint64(high - 1)))
        yield inside[np.argsort(ranks[inside], kind="stable")]


def skim(world: Instances, k: int, *, seed: int = 0, sketch: int = SKETCH) -> tuple[np.ndarray, np.ndarray]:
    """Choose k seeds for live-edge instances (:func:`draw_instances`).

    After all pairs were visited, sketches are exact, and the vertex with the largest is chosen (ties: the lower id).

    Parameters
    ----------
    world : Instances
        Of fewer than 2**31 pairs.
    k : int
        In [1, n].
    seed : int
        In [0, 2**64).
    sketch : int
        At least 1.

    Returns
    -------
    seeds : int64 array, shape (k,)
        Internal ids in order of choice.
    gains : int64 array, shape (k,)
        Number of pairs that each seed covered. Divided by the number of instances it estimates the added spread (too
        high).

    Raises
    ------
    UsageError
        If k or the number of pairs is out of range.
    """
    instances, n = len(world.in_begin), world.in_begin.shape[1] - 1
    if not 1 <= k <= n:
        raise UsageError(f"k = {k} is not in [1, {n}], the number of vertices of the graph")
    if n * instances >= 1 << 31:
        raise UsageError(f"{n:,} vertices in {instances} instances are 2^31 pairs or more; SKIM numbers fewer")
    batches = _in_order(_ranks(instances, n, np.uint64(seed)))
    sizes, stamps = np.zeros(n, np.int32), np.full(n, -1, np.int32)
    state = Sketches(sizes, np.full((instances, n), UNSEEN, np.int32), stamps, np.empty(n, np.int32))
    pairs, ends, entries = np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(4 * n + 1024, np.int32)
    seeds: list[int] = []
    gains: list[int] = []
    place = 0
    while len(seeds) < k:
        place, vertex = _extend(world, state, pairs, place, ends, entries, sketch)
        if vertex < 0 and place < len(pairs):
            entries = np.concatenate([entries, np.empty_like(entries)])
            continue
        if vertex < 0 and (batch := next(batches, None)) is not None:
            pairs = np.concatenate([pairs, batch])
            ends = np.concatenate([ends, np.empty(len(batch), np.int64)])
            continue
        if vertex < 0:
            open_sizes = sizes.copy()
            open_sizes[seeds] = -1
            vertex = int(open_sizes.argmax())
        seeds.append(vertex)
        gains.append(_cover(world, state, vertex, ends, entries))
    return np.array(seeds, np.int64), np.array(gains, np.int64)
