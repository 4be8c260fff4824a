"""The levels of worlds: the longest distance of each component to a sink."""

from typing import NamedTuple

import numpy as np

from gpukit.device.compiled import njit
from gpukit.graph.csr import Graph
from gpukit.imgpu.condense_cpu import condense
from gpukit.imgpu.reach import JOIN, NONE
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cpu import forget_slots, make_world, open_world
from gpukit.worlds.blocks import prepare_blocks


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
def _add_levels(arcs, seed, first, count, world, totals):
    """Add the number of components at each level of worlds first … first + count - 1 to ``totals``."""
    seeds = np.empty(0, np.int64)
    for id_ in range(first, first + count):
        tails, slots, _ = open_world(arcs, seed, id_, seeds, world)
        starts = condensed(world, tails, slots, condense(world, tails, slots)).starts
        for depth in range(len(starts) - 1):
            totals[depth] += starts[depth + 1] - starts[depth]
        forget_slots(world, slots)


def nodes_per_level(graph: Graph, seed: int, first: int, count: int) -> np.ndarray:
    """Return the average number of components of a world at each level, level 0 first (the paper's Fig. 4).

    Vertices without live arcs are excluded. Here undirected edges have one coin per direction; otherwise there would be
    no levels.

    Parameters
    ----------
    graph : Graph
        With edge probabilities.
    seed, first, count : int
        The user's seed, and the range of world ids.

    Returns
    -------
    float64 array
    """
    ready = prepare_blocks(graph, pairs=False)
    world = make_world(ready)
    totals = np.zeros(len(world.vertex), np.int64)
    _add_levels(Arcs.of(ready), np.uint64(seed), first, count, world, totals)
    return np.trim_zeros(totals, "b") / count
