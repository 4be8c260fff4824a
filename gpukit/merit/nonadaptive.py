"""Seeds chosen once, before anything is seen, that reach η with probability 0.99: what adaptivity saves.

In the place of SCORE, which needs more memory than there is on larger graphs. Greedy on fixed worlds by the gain of
Σ min(reached, η) per cost until nearly all of them reach η; then fresh worlds decide, by an exact one-sided test.
"""

import heapq
from dataclasses import dataclass
from math import comb

import numba
import numpy as np
from numba import int64

from gpukit.device.philox import Stream, draw4
from gpukit.errors import DeviceError
from gpukit.graph.csr import Graph
from gpukit.merit.problem import Costs, Params, check
from gpukit.worlds.reverse import Reverse, prepare
from gpukit.worlds.rule import CALLS_PER_ROW, live_edges, lt_choice
from gpukit.worlds.tables import MAX_LIVE

TARGET = (99, 100)
"""Probability with which η must be reached, as a fraction."""

WORLDS, JUDGES = 200, 2000
"""Worlds that seeds are chosen on, and fresh ones that judge them."""

ALPHA = (1, 100)
"""Chance that all judgements together are wrong; judgement t gets a share of 2^-t."""

ATTEMPTS = 6
"""Judgements at most; after each that fails there are twice as many worlds to choose on, and more must reach η."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Seeds that reach η with probability 0.99.

    Attributes
    ----------
    seeds : int32 array
        Internal ids in order of choice.
    cost : int
        What they cost, in units.
    reached : int
        Judging worlds, of ``judges``, in which they reached η.
    judges, attempts : int
        Worlds of the last judgement, and judgements in all.
    """

    seeds: np.ndarray
    cost: int
    reached: int
    judges: int
    attempts: int


@numba.njit(nogil=True, cache=True)
def draw_world(
    rows, indices, accept, thresholds, lt_kind, lt_constant, lt_prefix, n, seed, tag, world, indptr, heads, tails
):  # fmt: skip
    """Draw the live edges of a world as out-edges in CSR; return their number, or -1 if there is no room for them."""
    live = np.empty(MAX_LIVE, np.uint32)
    sources, size = tails, int64(0)
    indptr[:] = 0
    into = np.empty(len(heads), np.int32)
    for v in range(n):
        row, draw = int64(v), 0
        while True:
            start, length = int64(rows[row, 0]), rows[row, 1]
            found = 0
            if lt_kind >= 0:
                chosen = lt_choice(lt_kind, int64(length), start, lt_constant, lt_prefix, seed, tag, world, v, 0)
                if chosen >= 0:
                    live[0] = chosen
                    found = 1
            elif length > 0:
                words = draw4(seed, tag, world, v, draw)
                found = live_edges(
                    length, rows[row, 2], start, draw, accept, thresholds, seed, tag, world, v, words, live
                )
            if size + found > len(heads):
                return int64(-1)
            for j in range(found):
                u = indices[start + int64(live[j])]
                sources[size] = u
                into[size] = v
                indptr[u + 1] += 1
                size += 1
            row = int64(rows[row, 3])
            if row == 0 or lt_kind >= 0:
                break
            draw += CALLS_PER_ROW
    for u in range(n):
        indptr[u + 1] += indptr[u]
    fill = indptr[:-1].copy()
    for i in range(size):
        heads[fill[sources[i]]] = into[i]
        fill[sources[i]] += 1
    return size


@numba.njit(nogil=True, cache=True)
def spread_on(v, indptr, heads, offset, reached, stamp, queue, most):
    """Return how many unreached vertices v reaches in a world, ``most`` at most; marks them ``stamp``."""
    if reached[v] == 255 or most <= 0:
        return int64(0)
    queue[0] = v
    reached[v] = stamp
    head, tail = 0, 1
    while head < tail and tail < most:
        u = queue[head]
        head += 1
        for e in range(indptr[u], indptr[u + 1]):
            w = heads[offset + e]
            if reached[w] != 255 and reached[w] != stamp:
                reached[w] = stamp
                queue[tail] = w
                tail += 1
    return min(int64(tail), most)


@numba.njit(nogil=True, cache=True)
def gain(v, indptrs, heads, offsets, reached, counts, eta, stamps, queue):
    """Return by how much v raises Σ min(reached, η) over all worlds."""
    total = int64(0)
    for w in range(len(counts)):
        if stamps[w] == 254:
            for u in range(reached.shape[1]):
                if reached[w, u] != 255:
                    reached[w, u] = 0
            stamps[w] = 0
        stamps[w] += 1
        total += spread_on(v, indptrs[w], heads, offsets[w], reached[w], stamps[w], queue, eta - counts[w])
    return total


@numba.njit(nogil=True, cache=True)
def take(v, indptrs, heads, offsets, reached, counts, queue):
    """Make v a seed: mark all it reaches in every world, and count them."""
    for w in range(len(counts)):
        counts[w] += spread_on(v, indptrs[w], heads, offsets[w], reached[w], 255, queue, int64(reached.shape[1]))


class _Worlds:
    """Fixed worlds in memory, and what the seeds so far reach in each."""

    def __init__(self, reverse: Reverse, seed: int, first: int, count: int) -> None:
        n = reverse.n
        self.indptrs = np.zeros((count, n + 1), np.int64)
        pieces, offsets = [], [0]
        room = 2 * n + 1024
        for w in range(count):
            size = -1
            while size < 0:
                heads, tails = np.empty(room, np.int32), np.empty(room, np.int32)
                size = draw_world(
                    reverse.rows, reverse.indices, reverse.accept, reverse.thresholds, reverse.lt_kind,
                    np.uint64(reverse.lt_constant), reverse.lt_prefix, n, np.uint64(seed), int(Stream.WORLD), first + w,
                    self.indptrs[w], heads, tails,
                )  # fmt: skip
                room = room if size >= 0 else 2 * room
            pieces.append(heads[:size].copy())
            offsets.append(offsets[-1] + size)
        self.heads, self.offsets = np.concatenate(pieces), np.array(offsets, np.int64)
        self.reached, self.counts = np.zeros((count, n), np.uint8), np.zeros(count, np.int64)
        self.stamps, self.queue = np.zeros(count, np.uint8), np.empty(n + 1, np.int32)

    def gain(self, v: int, eta: int) -> int:
        return int(
            gain(v, self.indptrs, self.heads, self.offsets, self.reached, self.counts, eta, self.stamps, self.queue)
        )

    def take(self, v: int) -> None:
        take(v, self.indptrs, self.heads, self.offsets, self.reached, self.counts, self.queue)


def choose_once(
    graph: Graph, params: Params, *, tables: dict[str, np.ndarray] | None = None, worlds: int = WORLDS
) -> Chosen:
    """Choose seeds of small cost that reach η with probability at least 0.99.

    Parameters
    ----------
    graph : Graph
        With its transpose and edge probabilities.
    params : Params
        ``eta``, ``model``, ``costs`` and ``seed`` count.
    tables : dict of arrays, optional
        Sampling tables of the graph, if at hand.
    worlds : int
        Worlds that seeds are chosen on at first, >= 1.

    Raises
    ------
    DeviceError
        If no attempt passes its judgement.
    """
    costs = check(graph, params)
    reverse = prepare(graph, params.model, tables=tables)
    share, first = TARGET[0] / TARGET[1], 0
    for attempt in range(1, ATTEMPTS + 1):
        share += (1 - share) / 2
        seeds = _greedy(_Worlds(reverse, params.seed, first, worlds), costs, params.eta, share)
        first += worlds
        reached = 0
        for low in range(0, JUDGES, worlds):
            judge = _Worlds(reverse, params.seed, first, min(worlds, JUDGES - low))
            first += len(judge.counts)
            for v in seeds:
                judge.take(int(v))
            reached += int(np.count_nonzero(judge.counts >= params.eta))
        if passes(reached, JUDGES, ALPHA[0], ALPHA[1] << attempt):
            return Chosen(seeds, costs.of(seeds), reached, JUDGES, attempt)
        worlds *= 2
    raise DeviceError(f"after {ATTEMPTS} attempts no seeds reached eta often enough; choose on more worlds")


def passes(reached: int, runs: int, numerator: int, denominator: int) -> bool:
    """Return whether ``reached`` of ``runs`` proves a probability of 0.99 with an error of at most a given chance.

    This is Clopper and Pearson's lower bound (1934) compared with 0.99, in exact integers:
    Pr[Bin(runs, 0.99) >= reached] must not exceed the chance.
    """
    hit, whole = TARGET
    tail = sum(comb(runs, j) * hit**j * (whole - hit) ** (runs - j) for j in range(reached, runs + 1))
    return tail * denominator <= numerator * whole**runs


def _greedy(worlds: _Worlds, costs: Costs, eta: int, share: float) -> np.ndarray:
    """Return seeds by gain per cost, with lazy evaluation, until a share of the worlds reaches η."""
    values = costs.values.tolist()
    heap = [(-worlds.gain(v, eta) / values[v], v, 0) for v in range(len(values))]
    heapq.heapify(heap)
    seeds: list[int] = []
    while np.count_nonzero(worlds.counts >= eta) < share * len(worlds.counts):
        _, v, known = heapq.heappop(heap)
        if known < len(seeds):
            heapq.heappush(heap, (-worlds.gain(v, eta) / values[v], v, len(seeds)))
            continue
        worlds.take(v)
        seeds.append(v)
    return np.array(seeds, np.int32)
