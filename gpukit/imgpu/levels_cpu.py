"""The levels of worlds: the longest distance of each component to a sink."""

import numpy as np

from gpukit.device.compiled import njit
from gpukit.graph.csr import Graph
from gpukit.imgpu.condense_cpu import condense
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cpu import forget_slots, make_world, open_world
from gpukit.worlds.blocks import prepare_blocks


@njit
def _add_levels(arcs, seed, first, count, world, totals):
    """Add the number of components at each level of worlds first … first + count - 1 to ``totals``."""
    seeds, level = np.empty(0, np.int64), world.low
    for id_ in range(first, first + count):
        tails, slots, _ = open_world(arcs, seed, id_, seeds, world)
        components = condense(world, tails, slots)
        for s in range(tails, slots):
            level[s] = 0
        totals[0] += slots - tails
        for i in range(components):
            c, height = world.members[world.order[i + 1] - 1], 0
            for j in range(world.order[i], world.order[i + 1]):
                u = world.members[j]
                for e in range(world.row[u], world.row[u + 1]):
                    v = world.comp[world.heads[e]]
                    if v != c:
                        height = max(height, level[v] + 1)
            level[c] = height
            totals[height] += 1
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
