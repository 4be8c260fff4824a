"""The competitors in the paper: greedy choice by simulation, and PMIA. Host code around CPU kernels."""

import heapq
import math
from collections.abc import Callable, Sequence

import numpy as np

from gpukit.device.compiled import njit
from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.evaluate import forward_spread
from gpukit.graph.build import transpose
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import ONE, in_probabilities
from gpukit.imgpu.problem import Progress, check
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cpu import forget_slots, make_world, open_world
from gpukit.worlds.blocks import prepare_blocks

PMIA_THRESHOLD = 1 / 320
"""Probability below which PMIA ignores a path; the value of its authors."""


def _tell(chosen: int, k: int, timer: PhaseTimer | None, progress: Progress | None) -> None:
    """Record that a seed was chosen."""
    if timer is not None:
        timer.lap()
    if progress is not None:
        progress(chosen, k)


def celf(
    graph: Graph,
    k: int,
    runs: int,
    seed: int = 0,
    *,
    gains: np.ndarray | None = None,
    device: Device | None = None,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Choose seeds greedily by simulation, with lazy evaluation.

    Source: Leskovec et al., "Cost-effective outbreak detection in networks", KDD 2007. A spread is the mean over
    ``runs`` forward cascades (:func:`gpukit.evaluate.forward_spread`), the same coins for every seed set.

    Parameters
    ----------
    graph : Graph
        With edge probabilities.
    k : int
        In [1, n].
    runs : int
        Cascades of each estimate, at least 2.
    seed : int
        In [0, 2**64).
    gains : int64 array, shape (n,), optional
        Estimated spread of each vertex, times ``runs``, if already known.
    device : Device, optional
        The device for the cascades.
    timer : PhaseTimer, optional
        Records each choice as a lap.

    Returns
    -------
    int32 array, shape (k,)
        Internal ids in order of choice.

    Raises
    ------
    UsageError, InputError
        If k is out of range or the graph has no edges or no probabilities.
    """
    check(graph, k)

    def total(seeds: Sequence[int]) -> int:
        return forward_spread(graph, seeds, runs=runs, seed=seed, device=device).total

    return _lazily(graph.n, k, total, gains, timer, progress)


def esmce(
    graph: Graph,
    k: int,
    runs: int,
    seed: int = 0,
    *,
    error: float = 0.05,
    device: Device | None = None,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Choose seeds greedily by simulation that stops when an estimate is accurate enough.

    Source: Liu et al., SNS 2012 (the paper's reference 17), According to the paper, this method samples until the error
    of an estimate is below a threshold. The details are ours: cascades are doubled from 64 until 1.96 standard errors
    are at most ``error`` times the spread, or ``runs`` are done.

    Parameters
    ----------
    error : float
        Relative error of an estimate.
    graph, k, runs, seed, device, timer, progress
        As for :func:`celf`; ``runs`` is the most cascades of one estimate.
    """
    check(graph, k)

    def total(seeds: Sequence[int]) -> float:
        done = min(64, runs)
        while True:
            found = forward_spread(graph, seeds, runs=done, seed=seed, device=device)
            if done == runs or 1.96 * found.stderr <= error * found.spread:
                return found.spread
            done = min(2 * done, runs)

    return _lazily(graph.n, k, total, None, timer, progress)


def _lazily(
    n: int,
    k: int,
    total: Callable[[Sequence[int]], float],
    gains: np.ndarray | None,
    timer: PhaseTimer | None,
    progress: Progress | None,
) -> np.ndarray:
    """Choose k vertices greedily by marginal gains of ``total``; old gains are used as upper bounds (CELF)."""
    seeds: list[int] = []
    heap: list[tuple[float, int, int]] = []
    for v in range(n):
        heap.append((-(total([v]) if gains is None else float(gains[v])), v, 0))
        if progress is not None and gains is None and v % 256 == 0:
            progress(v, n)
    heapq.heapify(heap)
    reached = 0.0
    while len(seeds) < k:
        bound, v, when = heapq.heappop(heap)
        if when < len(seeds):
            heapq.heappush(heap, (reached - total([*seeds, v]), v, len(seeds)))
            continue
        seeds.append(v)
        reached = total(seeds)
        _tell(len(seeds), k, timer, progress)
    return np.array(seeds, np.int32)


@njit
def _sum_searched(arcs, seed, first, count, seeds, gains, world, stamps):
    """Add to ``gains`` the number of other vertices that each vertex reaches beyond the seeds, by searches."""
    for id_ in range(first, first + count):
        tails, slots, _ = open_world(arcs, seed, id_, seeds, world)
        stamps[:slots] = -1
        queue = world.frames
        for s in range(slots):
            if world.gone[s]:
                gains[world.vertex[s]] -= 1
                continue
            queue[0] = s
            stamps[s] = s
            head, tail = 0, 1
            while head < tail:
                u = queue[head]
                head += 1
                if u < tails:
                    for e in range(world.row[u], world.row[u + 1]):
                        v = world.heads[e]
                        if stamps[v] != s and world.gone[v] == 0:
                            stamps[v] = s
                            queue[tail] = v
                            tail += 1
            gains[world.vertex[s]] += tail - 1
        forget_slots(world, slots)


def new_greedy(
    graph: Graph,
    k: int,
    runs: int,
    seed: int = 0,
    *,
    skip: bool = False,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Choose seeds greedily, each by the gains of all vertices in ``runs`` new worlds; one thread.

    Source: Chen, Wang, Yang, "Efficient influence maximization in social networks", KDD 2009, algorithm NewGreedyIC. A
    search from every vertex replaces Cohen's size estimates, and is exact.

    Parameters
    ----------
    skip : bool
        Whether dead arcs are skipped; by default each arc of each world has its own draw, as printed.
    graph, k, runs, seed, timer, progress
        As for :func:`celf`.
    """
    seeds: list[int] = []
    check(graph, k)
    for i in range(k):
        gains = _searched(graph, i * runs, runs, seeds, seed, skip)
        gains[seeds] = -1
        seeds.append(int(gains.argmax()))
        _tell(i + 1, k, timer, progress)
    return np.array(seeds, np.int32)


def mix_greedy(
    graph: Graph,
    k: int,
    runs: int,
    seed: int = 0,
    *,
    skip: bool = False,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Choose the first seed like :func:`new_greedy` and the others like :func:`celf`; one thread.

    Source: Chen, Wang, Yang, KDD 2009, algorithm MixGreedyIC: the gains of the first round are the bounds of the next.
    """
    check(graph, k)
    gains = _searched(graph, 0, runs, [], seed, skip)
    return celf(graph, k, runs, seed, gains=gains, timer=timer, progress=progress)


def _searched(graph: Graph, first: int, runs: int, seeds: list[int], seed: int, skip: bool) -> np.ndarray:
    ready = prepare_blocks(graph, skip=skip)
    gains, world = np.full(graph.n, runs, np.int64), make_world(ready)
    stamps = np.empty(len(world.vertex), np.int32)
    chosen = np.array(seeds, np.int64)
    _sum_searched(Arcs.of(ready), np.uint64(seed), first, runs, chosen, gains, world, stamps)
    return gains


def pmia(
    graph: Graph,
    k: int,
    *,
    threshold: float = PMIA_THRESHOLD,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Choose seeds by maximum-influence in-arborescences, in which no path leads through a seed.

    Source: Chen, Wang, Wang, "Scalable influence maximization for prevalent viral marketing in large-scale social
    networks", KDD 2010. The arborescence of v has the most probable path of each vertex to v, if its probability is at
    least ``threshold`` and no seed is on the path. Vertices influence v only along these paths. Among equal paths the
    first one found is taken, among equal gains the lower id.

    Parameters
    ----------
    threshold : float
        Probability below which a path is ignored, in (0, 1].
    graph, k, timer, progress
        As for :func:`celf`.
    """
    check(graph, k)
    graph = transpose(graph)
    assert graph.in_indptr is not None and graph.in_indices is not None
    starts = graph.in_indptr.tolist()
    tails, words = graph.in_indices.tolist(), in_probabilities(graph).astype(np.int64).tolist()
    into = [[(tails[e], (words[e] + 1) / ONE) for e in range(starts[v], starts[v + 1])] for v in range(graph.n)]
    is_seed = bytearray(graph.n)
    gains = [0.0] * graph.n
    touches: list[set[int]] = [set() for _ in range(graph.n)]
    for v in range(graph.n):
        for u, gain in _influence(into, is_seed, v, threshold).items():
            gains[u] += gain
            touches[u].add(v)
    heap = [(-gain, v) for v, gain in enumerate(gains)]
    heapq.heapify(heap)
    seeds: list[int] = []
    while len(seeds) < k:
        bound, s = heapq.heappop(heap)
        if is_seed[s] or -bound != gains[s]:
            continue
        before = {v: _influence(into, is_seed, v, threshold) for v in touches[s] if not is_seed[v]}
        is_seed[s] = 1
        seeds.append(s)
        changed = set()
        for v, old in before.items():
            new = {} if v == s else _influence(into, is_seed, v, threshold)
            for u, gain in old.items():
                gains[u] -= gain - new.get(u, 0.0)
                changed.add(u)
        for u in changed:
            if not is_seed[u]:
                heapq.heappush(heap, (-gains[u], u))
        _tell(len(seeds), k, timer, progress)
    return np.array(seeds, np.int32)


def _influence(into: list, is_seed: bytearray, v: int, threshold: float) -> dict[int, float]:
    """Return the increase of the probability that v is active by each non-seed, from v's arborescence."""
    following: dict[int, tuple[int, float]] = {}
    order: list[int] = []
    done: set[int] = set()
    heap = [(0.0, v, -1, 1.0)]
    limit = -math.log(threshold) + 1e-12
    while heap:
        cost, u, w, p = heapq.heappop(heap)
        if u in done:
            continue
        done.add(u)
        order.append(u)
        following[u] = (w, p)
        if is_seed[u]:
            continue
        for x, q in into[u]:
            if x not in done and cost - math.log(q) <= limit:
                heapq.heappush(heap, (cost - math.log(q), x, u, q))
    chance = {u: 1.0 if is_seed[u] else 0.0 for u in order}
    miss = dict.fromkeys(order, 1.0)
    zeros = dict.fromkeys(order, 0)
    for u in reversed(order):
        if not is_seed[u]:
            chance[u] = 1.0 if zeros[u] else 1.0 - miss[u]
        w, p = following[u]
        if w >= 0:
            factor = 1.0 - chance[u] * p
            if factor == 0.0:
                zeros[w] += 1
            else:
                miss[w] *= factor
    slope = {v: 1.0}
    gains = {}
    for u in order:
        if u != v:
            w, p = following[u]
            factor = 1.0 - chance[u] * p
            others = 0.0 if zeros[w] - (factor == 0.0) else miss[w] / (factor or 1.0)
            slope[u] = slope[w] * p * others
        if not is_seed[u]:
            gains[u] = slope[u] * (1.0 - chance[u])
    return gains
