"""Exact reach level by level from the sinks, as in the paper (Algorithm 2: BUTA on the CPU). An ablation.

The rule is that of ``reach.py``, and ``reach_cpu.py`` is faster; the order of the work is that of the GPU
(``reach_cuda.py``), with the three switches of the paper's section 4. None of them changes the result:

- K, *combine*: adjacent levels with at most ``BAND`` components in total (a *band*) are processed together, each
  component by a search of the band. T sums the components reached without crossing a join, and the T of components
  below the band; J is the set of joins reached.
- R, *reorder*: the components of a level are ordered by falling number of children.
- U, *unroll*: this many children are read before any of them is examined.

``sum_gains`` and ``keep`` replace those of ``count_cpu.py``: ``CpuWorlds(…, counting=levels_cpu)``.
"""

from typing import NamedTuple

import numpy as np
from numba import int64

from gpukit.device.compiled import njit
from gpukit.imgpu.condense_cpu import condense
from gpukit.imgpu.count_cpu import add_gains
from gpukit.imgpu.fixed_cpu import append, make_store
from gpukit.imgpu.reach import INLINE, JOIN, NONE, SEARCH
from gpukit.imgpu.world_cpu import forget_slots, open_world
from gpukit.papers.imgpu.switches import BAND


class Dag(NamedTuple):
    """A condensed world by level.

    Attributes
    ----------
    nodes : int32 array
        The representative slots of components, pure sinks included, by level.
    starts : int64 array, shape (levels + 1,)
        Start of each level in ``nodes``.
    level : int32 array, shape (slots,)
        Longest distance to a sink; -1 for slots that represent no component.
    row, child : int64 and int32 arrays
        Distinct children of slot s: ``child[row[s]:row[s + 1]]``.
    parent : int32 array, shape (slots,)
        The only parent, or ``NONE`` or ``JOIN``.
    """

    nodes: np.ndarray
    starts: np.ndarray
    level: np.ndarray
    row: np.ndarray
    child: np.ndarray
    parent: np.ndarray


@njit
def condensed(world, tails, slots, components):
    """Return the condensed world as a DAG by level (:class:`Dag`)."""
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
        for i in range(count[s]):
            packed[row[s] + i] = child[begin[s] + i]
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
    return Dag(by_level, starts, level, row, packed, parent)


@njit
def _put(found, listed, join, mark, stamp):
    """Add a join to a list unless it is there; return the new length, ``INLINE`` + 1 if it has no room."""
    if mark[join] == stamp or listed > INLINE:
        return listed
    mark[join] = stamp
    if listed < INLINE:
        found[listed] = join
    return listed + 1


class _Labels(NamedTuple):
    """Working space for the labels of a world by level; a size is -1 (``SEARCH``) if the label is not kept.

    ``total`` is T; the label of c is ``pool[start[c]:][:size[c]]``; ``mark`` has the last search that visited each
    slot.
    """

    total: np.ndarray
    size: np.ndarray
    start: np.ndarray
    pool: np.ndarray
    mark: np.ndarray
    todo: np.ndarray
    found: np.ndarray
    ahead: np.ndarray


@njit
def _search(weight, row, child, mark, stamp, todo, c):
    """Return the reach of a node, counted by a search."""
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


@njit
def _label_band(weight, dag, labels, unroll, low, high, used, stamp):
    """Find T and the label of each node of the levels ``low`` … ``high`` - 1 (line 10); return (used, stamp).

    ``used`` is the number of used places in the pool, ``stamp`` the last mark of a search.
    """
    nodes, starts, level, row, child, parent = dag
    total, size, start, pool, mark, todo, found, ahead = labels
    for i in range(starts[low], starts[high]):
        c = nodes[i]
        total[c] = weight[c]
        listed = 0
        # Search the band twice: first without crossing joins, then for every join; once is enough for a single level.
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
        size[c] = SEARCH
        if listed <= INLINE:
            size[c] = listed
            start[c] = used
            for k in range(listed):
                pool[used] = found[k]
                used += 1
    return used, stamp


@njit
def _reach_band(weight, dag, labels, low, high, reach, stamp):
    """Fill ``reach`` of the nodes of a band (line 9), after T of every join in it is known; return the stamp."""
    nodes, starts, _, row, child, _ = dag
    total, size, start, pool, mark, todo, _, _ = labels
    for i in range(starts[low], starts[high]):
        c = nodes[i]
        if size[c] == SEARCH:
            stamp += 1
            reach[c] = _search(weight, row, child, mark, stamp, todo, c)
        else:
            reach[c] = total[c]
            for place in range(start[c], start[c] + size[c]):
                reach[c] += total[pool[place]]
    return stamp


@njit
def _reorder(dag):
    """R: sort each level by falling number of children: first sort all nodes by children, then by level.

    Both are stable counting sorts, because ``np.argsort`` would take 1.5 seconds to compile.
    """
    nodes, starts, level, row, _, _ = dag
    largest = int64(0)
    for c in nodes:
        largest = max(largest, row[c + 1] - row[c])
    fill = np.zeros(largest + 2, np.int64)
    for c in nodes:
        fill[largest - (row[c + 1] - row[c]) + 1] += 1
    for i in range(largest + 1):
        fill[i + 1] += fill[i]
    by_children = np.empty(len(nodes), np.int32)
    for c in nodes:
        place = largest - (row[c + 1] - row[c])
        by_children[fill[place]] = c
        fill[place] += 1
    fill = starts.copy()
    for c in by_children:
        nodes[fill[level[c]]] = c
        fill[level[c]] += 1


@njit
def reach_by_level(world, tails, slots, components, reach, how):
    """Fill ``reach`` of every component that is not gone, at its representative slot (Algorithm 2, lines 7 to 13).

    Parameters
    ----------
    world, tails, slots, components
        A condensed world (:func:`gpukit.imgpu.condense_cpu.condense`).
    reach : int64 array, shape (>= slots,)
        The result.
    how : Switches
        K, R and U.
    """
    dag, weight = condensed(world, tails, slots, components), world.weight
    nodes, starts = dag.nodes, dag.starts
    labels = _Labels(
        np.zeros(slots, np.int64), np.zeros(slots, np.int32), np.zeros(slots, np.int64),
        np.empty(INLINE * len(nodes) + INLINE, np.int32), np.full(slots, -1, np.int64),
        np.empty(slots + 1, np.int32), np.empty(INLINE, np.int32), np.empty(128, np.int32),
    )  # fmt: skip
    used, stamp = 0, int64(0)
    if how.reorder:
        _reorder(dag)
    low = 0
    while low < len(starts) - 1:
        high = low + 1
        while how.combine and high < len(starts) - 1 and starts[high + 1] - starts[low] <= BAND:
            high += 1
        used, stamp = _label_band(weight, dag, labels, how.unroll, low, high, used, stamp)
        stamp = _reach_band(weight, dag, labels, low, high, reach, stamp)
        low = high


@njit
def _reach_in(arcs, seed, id_, seeds, how, world, labels):
    """As :func:`gpukit.imgpu.count_cpu._reach_in`, level by level."""
    tails, slots, _ = open_world(arcs, seed, id_, seeds, world)
    if arcs.paired:
        for slot in range(slots):
            labels.reach[slot] = world.weight[slot]
    else:
        reach_by_level(world, tails, slots, condense(world, tails, slots), labels.reach, how)
    return tails, slots


@njit
def sum_gains(arcs, seed, first, count, seeds, how, world, labels, gains):
    """As :func:`gpukit.imgpu.count_cpu.sum_gains`."""
    for id_ in range(first, first + count):
        tails, slots = _reach_in(arcs, seed, id_, seeds, how, world, labels)
        add_gains(world, labels, tails, slots, gains)
        forget_slots(world, slots)


@njit
def keep(arcs, seed, first, count, how, world, labels, means, gains):
    """As :func:`gpukit.imgpu.count_cpu.keep`."""
    store = make_store(count, means)
    for id_ in range(first, first + count):
        tails, slots = _reach_in(arcs, seed, id_, np.empty(0, np.int64), how, world, labels)
        add_gains(world, labels, tails, slots, gains)
        store = append(store, world, slots)
        forget_slots(world, slots)
    return store
