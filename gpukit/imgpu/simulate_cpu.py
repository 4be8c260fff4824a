"""From world ids to sums over worlds, one world at a time (CPU)."""

import numba

from gpukit.imgpu.levels_cpu import reach_by_level
from gpukit.imgpu.reach_cpu import reach_all
from gpukit.imgpu.world_cpu import condense, draw, forget, join_pairs, kill, localise


@numba.njit(nogil=True, cache=True)
def simulate(arcs, paired, seed, id_, seeds, world, labels, how):
    """Draw a world and find what each slot reaches beyond the seeds' reach.

    Returns (tails, slots, reached): the reach of slot s is ``labels.reach[world.comp[s]]`` where it is not ``gone``;
    ``how`` is (split, by level, K, R, U); ``reached`` is how many vertices the seeds reach. ``forget`` must follow.
    """
    count = draw(arcs, seed, id_, world.live)
    if paired:
        tails, slots = join_pairs(arcs, world, count)
        reached = kill(world, slots, tails, seeds)
        for s in range(slots):
            labels.reach[s] = world.weight[s]
        return tails, slots, reached
    tails, slots = localise(arcs, world, count)
    reached = kill(world, slots, tails, seeds)
    components = condense(world, tails, slots)
    split, by_level, combine, reorder, unroll = how
    if by_level:
        reach_by_level(world, tails, slots, components, labels.reach, combine, reorder, unroll)
    else:
        reach_all(world, tails, slots, components, labels, split)
    return tails, slots, reached


@numba.njit(nogil=True, cache=True)
def add_gains(world, labels, tails, slots, gains):
    """Add what each vertex of a world reaches, itself left out, to ``gains``; a vertex that is gone counts -1."""
    for s in range(tails):
        if world.gone[s] == 0:
            gains[world.vertex[s]] += labels.reach[world.comp[s]] - 1
    for s in range(slots):
        gains[world.vertex[s]] -= world.gone[s]


@numba.njit(nogil=True, cache=True)
def sum_gains(arcs, paired, seed, first, count, seeds, gains, world, labels, how):
    """Add the marginal reach of every vertex over worlds first … first + count - 1, less one a world, to ``gains``."""
    for id_ in range(first, first + count):
        tails, slots, _ = simulate(arcs, paired, seed, id_, seeds, world, labels, how)
        add_gains(world, labels, tails, slots, gains)
        forget(world, slots)


@numba.njit(nogil=True, cache=True)
def count_reached(arcs, paired, seed, first, seeds, values, world):
    """Write how many vertices the seeds reach in worlds first … to ``values``."""
    for i in range(len(values)):
        count = draw(arcs, seed, first + i, world.live)
        tails, slots = join_pairs(arcs, world, count) if paired else localise(arcs, world, count)
        values[i] = kill(world, slots, tails, seeds)
        forget(world, slots)
