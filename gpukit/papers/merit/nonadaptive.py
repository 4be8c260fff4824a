"""Seeds that are all chosen in advance and reach η with probability 0.99, to measure the advantage of adaptivity.

This replaces SCORE, which needs too much memory on larger graphs. Greedy selection maximises Σ min(reached, η) per cost
on fixed live-edge graphs, until η is reached in nearly all of them. Then an exact one-sided test on fresh graphs
decides. If it fails, greedy selection continues on those fresh graphs in which the seeds did not reach η; the seeds so
far are kept.
"""

import heapq
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
from numba import int64

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream, draw4
from gpukit.errors import DeviceError
from gpukit.graph.csr import Graph
from gpukit.merit.problem import Costs, Params, check
from gpukit.merit.rule import edges_of
from gpukit.worlds.reverse import Reverse, prepare
from gpukit.worlds.rule import CALLS_PER_ROW, live_edges, lt_choice
from gpukit.worlds.tables import MAX_LIVE

TARGET = (99, 100)
"""Probability with which η must be reached, as a fraction."""

GRAPHS, JUDGES = 800, 2000
"""Numbers of graphs to choose seeds on, and of fresh graphs to judge them. Fewer graphs are faster, but the seeds cost
more: on a random graph of 3,171 vertices with η = 40 they cost 0.85–0.92 with 200 graphs, 0.79–0.82 with 800, and
0.78–0.80 with 1,600."""

ALPHA = (1, 100)
"""Probability that any of the judgements is wrong; judgement t gets the share 2^-t of it."""

ATTEMPTS = 10
"""Most judgements; after each failed one, half as many graphs may miss η."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Seeds that reach η with probability 0.99.

    Attributes
    ----------
    seeds : int32 array
        Internal ids in order of choice.
    cost : int
        Cost of the seeds, in units.
    reached : int
        Number of the ``judges`` graphs in which they reached η.
    judges, attempts : int
        Number of graphs of the last judgement, and number of judgements.
    """

    seeds: np.ndarray
    cost: int
    reached: int
    judges: int
    attempts: int


@njit
def draw_live_graph(edges, n, seed, tag, sample, indptr, heads, tails):
    """Draw the live edges of a sample as out-edges in CSR; return their number, or -1 if there is no room for them."""
    rows, lt_kind = edges.rows, edges.lt_kind
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
                chosen = lt_choice(
                    lt_kind, int64(length), start, edges.lt_constant, edges.lt_prefix, seed, tag, sample, v, 0
                )
                if chosen >= 0:
                    live[0] = chosen
                    found = 1
            elif length > 0:
                words = draw4(seed, tag, sample, v, draw)
                found = live_edges(
                    length, rows[row, 2], start, draw, edges.accept, edges.thresholds,
                    seed, tag, sample, v, words, live,
                )  # fmt: skip
            if size + found > len(heads):
                return int64(-1)
            for j in range(found):
                u = edges.indices[start + int64(live[j])]
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


@njit
def spread_on(v, indptr, heads, offset, reached, stamp, queue, limit):
    """Return the number of unreached vertices that v reaches in a graph, at most ``limit``.

    Mark them with ``stamp``.
    """
    if reached[v] == 255 or limit <= 0:
        return int64(0)
    queue[0] = v
    reached[v] = stamp
    head, tail = 0, 1
    while head < tail and tail < limit:
        u = queue[head]
        head += 1
        for e in range(indptr[u], indptr[u + 1]):
            w = heads[offset + e]
            if reached[w] != 255 and reached[w] != stamp:
                reached[w] = stamp
                queue[tail] = w
                tail += 1
    return min(int64(tail), limit)


@njit
def gain(v, indptrs, heads, offsets, reached, counts, eta, stamps, queue):
    """Return the increase of Σ min(reached, η) over all graphs by v."""
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


@njit
def gains(indptrs, heads, offsets, reached, counts, eta, stamps, queue, found):
    """Write :func:`gain` of every vertex to ``found``."""
    for v in range(len(found)):
        found[v] = gain(v, indptrs, heads, offsets, reached, counts, eta, stamps, queue)


@njit
def take(v, indptrs, heads, offsets, reached, counts, queue):
    """Make v a seed: mark and count the vertices that it reaches in every graph."""
    for w in range(len(counts)):
        counts[w] += spread_on(v, indptrs[w], heads, offsets[w], reached[w], 255, queue, int64(reached.shape[1]))


class LiveGraphs:
    """Fixed live-edge graphs in memory, and the vertices that the seeds so far reach in each.

    Attributes
    ----------
    indptrs : int32 array, shape (graphs, n + 1)
        Row starts of each graph's live out-edges, counted from its first edge.
    heads : int32 array
        Heads of the edges, graph after graph.
    offsets : int64 array, shape (graphs + 1,)
        First live edge of each graph.
    reached : uint8 array, shape (graphs, n)
        255 for vertices that the seeds reach; other marks are from earlier searches.
    counts : int64 array, shape (graphs,)
        Vertices that the seeds reach.
    """

    def __init__(self, indptrs: np.ndarray, heads: list[np.ndarray], reached: np.ndarray, counts: np.ndarray) -> None:
        self.indptrs, self.heads = indptrs, np.concatenate([np.empty(0, np.int32), *heads])
        self.offsets = np.cumsum([0, *map(len, heads)], dtype=np.int64)
        self.reached, self.counts = reached, counts
        self.stamps = np.zeros(len(counts), np.uint8)
        self.reached[self.reached != 255] = 0
        self.queue = np.empty(reached.shape[1] + 1, np.int32)

    @classmethod
    def draw(cls, reverse: Reverse, seed: int, first: int, count: int) -> "LiveGraphs":
        """Draw the graphs first … first + count - 1, without seeds."""
        n, edges = reverse.n, edges_of(reverse)
        indptrs, pieces = np.zeros((count, n + 1), np.int32), []
        room = 2 * n + 1024
        for w in range(count):
            size = -1
            while size < 0:
                heads, tails = np.empty(room, np.int32), np.empty(room, np.int32)
                number, tag = first + w, int(Stream.WORLD)
                size = draw_live_graph(edges, n, np.uint64(seed), tag, number, indptrs[w], heads, tails)
                room = room if size >= 0 else 2 * room
            pieces.append(heads[:size].copy())
        return cls(indptrs, pieces, np.zeros((count, n), np.uint8), np.zeros(count, np.int64))

    def only(self, chosen: np.ndarray) -> "LiveGraphs":
        """Return some of the graphs, by number."""
        pieces = [self.heads[self.offsets[w] : self.offsets[w + 1]] for w in chosen]
        return LiveGraphs(self.indptrs[chosen], pieces, self.reached[chosen], self.counts[chosen])

    @classmethod
    def joined(cls, parts: "list[LiveGraphs]") -> "LiveGraphs":
        """Return the graphs of several objects as one."""
        indptrs, reached, counts = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("indptrs", "reached", "counts")
        )
        pieces = [part.heads[low:high] for part in parts for low, high in pairwise(part.offsets)]
        return cls(indptrs, pieces, reached, counts)

    def gain(self, v: int, eta: int) -> int:
        """Return the increase of Σ min(reached, η) by v."""
        return int(
            gain(v, self.indptrs, self.heads, self.offsets, self.reached, self.counts, eta, self.stamps, self.queue)
        )

    def gains(self, eta: int) -> np.ndarray:
        """Return the gain of every vertex, as int64 (n,)."""
        found = np.empty(self.reached.shape[1], np.int64)
        gains(self.indptrs, self.heads, self.offsets, self.reached, self.counts, eta, self.stamps, self.queue, found)
        return found

    def take(self, v: int) -> None:
        """Make v a seed."""
        take(v, self.indptrs, self.heads, self.offsets, self.reached, self.counts, self.queue)


def choose_once(
    graph: Graph, params: Params, *, tables: dict[str, np.ndarray] | None = None, graphs: int = GRAPHS
) -> Chosen:
    """Choose seeds of small cost that reach η with probability at least 0.99.

    Parameters
    ----------
    graph : Graph
        With its transpose and edge probabilities.
    params : Params
        Only ``eta``, ``model``, ``costs`` and ``seed`` are used.
    tables : dict of arrays, optional
        Sampling tables of the graph, if available.
    graphs : int
        Number of graphs for the first choice, and number drawn at a time, >= 1.

    Raises
    ------
    DeviceError
        If no attempt passes its judgement.
    """
    costs = check(graph, params)
    reverse = prepare(graph, params.model, tables=tables)
    seeds: list[int] = []
    lost_graphs, first, share = LiveGraphs.draw(reverse, params.seed, 0, graphs), graphs, 1 - TARGET[0] / TARGET[1]
    drawn = graphs
    for attempt in range(1, ATTEMPTS + 1):
        share /= 2
        _choose(lost_graphs, costs, params.eta, int(share * drawn), seeds)
        reached, parts, drawn = 0, [], JUDGES
        for low in range(0, JUDGES, graphs):
            judge = LiveGraphs.draw(reverse, params.seed, first, min(graphs, JUDGES - low))
            first += len(judge.counts)
            for v in seeds:
                judge.take(v)
            lost = np.flatnonzero(judge.counts < params.eta)
            reached += len(judge.counts) - len(lost)
            parts.append(judge.only(lost))
        if passes(reached, JUDGES, ALPHA[0], ALPHA[1] << attempt):
            chosen = np.array(seeds, np.int32)
            return Chosen(chosen, costs.of(chosen), reached, JUDGES, attempt)
        lost_graphs = LiveGraphs.joined(parts)
    raise DeviceError(f"after {ATTEMPTS} attempts no seeds reached eta often enough; choose on more worlds")


def passes(reached: int, runs: int, numerator: int, denominator: int) -> bool:
    """Return whether ``reached`` of ``runs`` proves a probability of 0.99, with at most a given error probability.

    This is Clopper and Pearson's lower bound (1934) compared with 0.99, in exact integers:
    Pr[Bin(runs, 0.99) >= reached] must not exceed the chance.
    """
    hit, whole = TARGET
    tail = sum(comb(runs, j) * hit**j * (whole - hit) ** (runs - j) for j in range(reached, runs + 1))
    return tail * denominator <= numerator * whole**runs


def _choose(graphs: LiveGraphs, costs: Costs, eta: int, losses: int, seeds: list[int]) -> None:
    """Append seeds by gain per cost, with lazy evaluation, until all but ``losses`` graphs reach η."""
    values = costs.values.tolist()
    start = len(seeds)
    heap = [(-found / values[v], v, start) for v, found in enumerate(graphs.gains(eta).tolist())]
    heapq.heapify(heap)
    while np.count_nonzero(graphs.counts < eta) > losses:
        _, v, known = heapq.heappop(heap)
        if known < len(seeds):
            heapq.heappush(heap, (-graphs.gain(v, eta) / values[v], v, len(seeds)))
            continue
        graphs.take(v)
        seeds.append(v)
