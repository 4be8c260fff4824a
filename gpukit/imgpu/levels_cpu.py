"""Exact reach level by level from the sinks, as the paper has it (Algorithm 2: BUTA on the CPU). An ablation.

The rule is that of ``reach_cpu.py``, which is faster; the order of the work is that of the GPU (``reach_cuda.py``),
with the three switches of the paper's section 4. None of them changes what comes out:

- K, *combine*: adjacent levels with at most ``BAND`` components together are done at once, each component by a search
  of the band: T counts what is met without crossing a join, and T of what lies below; J is every join met.
- R, *reorder*: the components of a level lie by falling number of children.
- U, *unroll*: children are read this many at a time before any is looked at.
"""

import numba
import numpy as np
from numba import int64

from gpukit.graph.csr import Graph
from gpukit.imgpu.reach_cpu import INLINE, JOIN, NONE, SEARCH
from gpukit.imgpu.world_cpu import Arcs, condense, draw, forget, kill, localise, make_world
from gpukit.worlds.blocks import prepare_blocks

BAND = 256
"""Components of a band at most (equation 2 of the paper)."""


@numba.njit(nogil=True, cache=True)
def condensed(world, tails, slots, components):
    """Return the condensed world as a DAG by level.

    Returns
    -------
    nodes : int32 array
        The slots that stand for components, pure sinks included, by level.
    starts : int64 array, shape (levels + 1,)
        Start of each level in ``nodes``.
    level : int32 array, shape (slots,)
        Longest distance to a sink; -1 for slots that stand for nothing.
    row, child : int64 and int32 arrays
        Distinct children of slot s: ``child[row[s]:row[s + 1]]``.
    parent : int32 array, shape (slots,)
        The one parent, or ``NONE`` or ``JOIN``.
    """
    comp, members, order = world.comp, world.members, world.order
    level = np.full(slots, -1, np.int32)
    parent = np.full(slots, NONE, np.int32)
    mark = np.full(slots, -1, np.int32)
    count = np.zeros(slots + 1, np.int64)
    child = np.empty(world.row[slots], np.int32)
    begin = np.zeros(slots, np.int64)
    used = nodes = top = 0
    for s in range(tails, slots):
        if world.gone[s] == 0:
            level[s] = 0
            nodes += 1
    for i in range(components):
        c = members[order[i + 1] - 1]
        level[c] = 0
        nodes += 1
        begin[c] = used
        for j in range(order[i], order[i + 1]):
            u = members[j]
            for e in range(world.row[u], world.row[u + 1]):
                v = comp[world.heads[e]]
                if v == c or world.gone[v] or mark[v] == c:
                    continue
                mark[v] = c
                child[used] = v
                used += 1
                level[c] = max(level[c], level[v] + 1)
                parent[v] = c if parent[v] == NONE else JOIN
        count[c] = used - begin[c]
        top = max(top, level[c])
    row = np.zeros(slots + 1, np.int64)
    packed = np.empty(used, np.int32)
    starts = np.zeros(top + 2, np.int64)
    for s in range(slots):
        row[s + 1] = row[s] + count[s]
        packed[row[s] : row[s + 1]] = child[begin[s] : begin[s] + count[s]]
        if level[s] >= 0:
            starts[level[s] + 1] += 1
    for depth in range(top + 1):
        starts[depth + 1] += starts[depth]
    fill = starts.copy()
    by_level = np.empty(nodes, np.int32)
    for s in range(slots):
        if level[s] >= 0:
            by_level[fill[level[s]]] = s
            fill[level[s]] += 1
    return by_level, starts, level, row, packed, parent


@numba.njit(nogil=True, cache=True)
def _add_levels(arcs, seed, first, count, world, totals):
    seeds = np.empty(0, np.int64)
    for id_ in range(first, first + count):
        tails, slots = localise(arcs, world, draw(arcs, seed, id_, world.live))
        kill(world, slots, tails, seeds)
        _, starts, _, _, _, _ = condensed(world, tails, slots, condense(world, tails, slots))
        for depth in range(len(starts) - 1):
            totals[depth] += starts[depth + 1] - starts[depth]
        forget(world, slots)


def nodes_per_level(graph: Graph, seed: int, first: int, count: int) -> np.ndarray:
    """Return how many components of worlds lie at each level, on average (the paper's Fig. 4), level 0 first.

    Vertices without live arcs are left out. Undirected edges have a coin for each direction here, or there would be no
    levels.

    Parameters
    ----------
    graph : Graph
        With edge probabilities.
    seed, first, count : int
        The worlds.

    Returns
    -------
    float64 array
    """
    ready = prepare_blocks(graph, pairs=False)
    world = make_world(ready)
    totals = np.zeros(len(world.vertex), np.int64)
    _add_levels(Arcs.of(ready), np.uint64(seed), first, count, world, totals)
    return np.trim_zeros(totals, "b") / count


@numba.njit(nogil=True, cache=True)
def _put(found, listed, join, mark, stamp):
    """Add a join to a list unless it is there; return the new length, ``INLINE`` + 1 if it has no room."""
    if mark[join] == stamp or listed > INLINE:
        return listed
    mark[join] = stamp
    if listed < INLINE:
        found[listed] = join
    return listed + 1


@numba.njit(nogil=True, cache=True)
def _search(weight, row, child, mark, stamp, todo, c):
    """Return what a node reaches, by a search."""
    mark[c] = stamp
    todo[0] = c
    top, found = 1, int64(0)
    while top > 0:
        top -= 1
        u = todo[top]
        found += weight[u]
        for e in range(row[u], row[u + 1]):
            if mark[child[e]] != stamp:
                mark[child[e]] = stamp
                todo[top] = child[e]
                top += 1
    return found


@numba.njit(nogil=True, cache=True)
def reach_by_level(world, tails, slots, components, reach, combine, reorder, unroll):
    """Fill ``reach`` of every component that is not gone, at the slot that stands for it.

    Parameters
    ----------
    world, tails, slots, components
        A condensed world (:func:`gpukit.imgpu.world_cpu.condense`).
    reach : int64 array, shape (>= slots,)
        The result.
    combine, reorder, unroll
        K, R and U; ``unroll`` in [1, 128].
    """
    nodes, starts, level, row, child, parent = condensed(world, tails, slots, components)
    weight = world.weight
    total = np.zeros(slots, np.int64)
    size, start = np.zeros(slots, np.int32), np.zeros(slots, np.int64)
    pool = np.empty(INLINE * len(nodes) + INLINE, np.int32)
    mark, todo = np.full(slots, -1, np.int64), np.empty(slots + 1, np.int32)
    found, ahead = np.empty(INLINE, np.int32), np.empty(128, np.int32)
    used, stamp = 0, int64(0)
    if reorder:
        for depth in range(len(starts) - 1):
            part = nodes[starts[depth] : starts[depth + 1]].copy()
            degrees = np.array([row[c] - row[c + 1] for c in part])
            nodes[starts[depth] : starts[depth + 1]] = part[np.argsort(degrees, kind="mergesort")]
    low = 0
    while low < len(starts) - 1:
        high = low + 1
        while combine and high < len(starts) - 1 and starts[high + 1] - starts[low] <= BAND:
            high += 1
        for i in range(starts[low], starts[high]):
            c = nodes[i]
            total[c] = weight[c]
            listed = 0
            # Twice through the band: what is met without crossing a join, then every join; once if it is one level.
            for joins in range(2):
                stamp += 1
                todo[0] = c
                top = 1
                while top > 0:
                    top -= 1
                    u = todo[top]
                    for base in range(row[u], row[u + 1], unroll):
                        many = min(unroll, row[u + 1] - base)
                        for k in range(many):
                            ahead[k] = child[base + k]
                        for k in range(many):
                            v = ahead[k]
                            if joins == 0:
                                if parent[v] == JOIN:
                                    continue
                                if level[v] >= low:
                                    total[c] += weight[v]
                                    todo[top] = v
                                    top += 1
                                else:
                                    total[c] += total[v]
                                continue
                            new = mark[v] != stamp
                            if parent[v] == JOIN:
                                listed = _put(found, listed, v, mark, stamp)
                            if level[v] >= low:
                                if new:
                                    mark[v] = stamp
                                    todo[top] = v
                                    top += 1
                            elif size[v] == SEARCH:
                                listed = INLINE + 1
                            else:
                                for place in range(start[v], start[v] + size[v]):
                                    listed = _put(found, listed, pool[place], mark, stamp)
            reach[c] = -1
            size[c] = SEARCH
            if listed <= INLINE:
                size[c] = listed
                start[c] = used
                for k in range(listed):
                    pool[used] = found[k]
                    used += 1
        for i in range(starts[low], starts[high]):
            c = nodes[i]
            if size[c] == SEARCH:
                stamp += 1
                reach[c] = _search(weight, row, child, mark, stamp, todo, c)
            else:
                reach[c] = total[c]
                for place in range(start[c], start[c] + size[c]):
                    reach[c] += total[pool[place]]
        low = high
