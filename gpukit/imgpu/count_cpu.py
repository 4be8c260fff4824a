"""Sums over a range of worlds, one world at a time (CPU)."""

import numpy as np

from gpukit.device.compiled import njit
from gpukit.imgpu.condense_cpu import condense
from gpukit.imgpu.fixed_cpu import append, make_store
from gpukit.imgpu.reach_cpu import reach_all
from gpukit.imgpu.world_cpu import forget_slots, open_world


@njit
def _reach_in(arcs, seed, id_, seeds, split, world, labels):
    """Draw a world and compute the reach of each slot, without the seeds' reach (Algorithm 2, lines 5 to 10).

    Returns (tails, slots). The reach of slot s is ``labels.reach[world.comp[s]]`` if s is not ``gone``.
    """
    tails, slots, _ = open_world(arcs, seed, id_, seeds, world)
    if arcs.paired:
        for slot in range(slots):
            labels.reach[slot] = world.weight[slot]
    else:
        reach_all(world, tails, slots, condense(world, tails, slots), labels, split)
    return tails, slots


@njit
def add_gains(world, labels, tails, slots, gains):
    """Add the reach of each vertex of a world, itself excluded, to ``gains``; a vertex that is gone counts -1."""
    for s in range(tails):
        if world.gone[s] == 0:
            gains[world.vertex[s]] += labels.reach[world.comp[s]] - 1
    for s in range(slots):
        gains[world.vertex[s]] -= world.gone[s]


@njit
def sum_gains(arcs, seed, first, count, seeds, split, world, labels, gains):
    """Add the marginal reach of every vertex over worlds first … first + count - 1, minus ``count``, to ``gains``."""
    for id_ in range(first, first + count):
        tails, slots = _reach_in(arcs, seed, id_, seeds, split, world, labels)
        add_gains(world, labels, tails, slots, gains)
        forget_slots(world, slots)


@njit
def keep(arcs, seed, first, count, split, world, labels, means, gains):
    """Draw worlds, add the gains of all vertices, and return the worlds as a store (:func:`fixed_cpu.make_store`).

    ``means``: expected slots and arcs of a world.
    """
    store = make_store(count, means)
    seeds = np.empty(0, np.int64)
    for id_ in range(first, first + count):
        tails, slots = _reach_in(arcs, seed, id_, seeds, split, world, labels)
        add_gains(world, labels, tails, slots, gains)
        store = append(store, world, slots)
        forget_slots(world, slots)
    return store


@njit
def count_reached(arcs, seed, first, seeds, world, values):
    """Write the number of vertices that the seeds reach in each of the worlds from ``first`` on to ``values``."""
    for i in range(len(values)):
        _, slots, values[i] = open_world(arcs, seed, first + i, seeds, world)
        forget_slots(world, slots)
